import type { Commit, Position, Store } from '../store.js'
import { type ConformanceOptions, put, type StoreUnderTest, testWith, write } from './kit.js'

export function testConcurrency(options: ConformanceOptions): void {
  testRaces(options)
  testSnapshots(options)
}

function testRaces(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'of many commits that read the same version, one succeeds', async under => {
    const ways = waysIn(under)
    const version = await write(under.store, put('a/b/c', 0))
    const attempt = (i: number): Commit => ({ reads: [{ key: 'a/b/c', version }], writes: [put('a/b/c', i)] })
    const results = await Promise.all(Array.from({ length: 40 }, (_, i) => ways(i).commit(attempt(i))))
    const winners = results.filter(result => result.committed)
    expect(winners.length).toBe(1)
    const position = winners[0]?.committed ? winners[0].position : 0
    for (const result of results) {
      if (!result.committed) expect(result.conflicts).toEqual([{ key: 'a/b/c', version: position }])
    }
    expect((await under.store.get('a/b/c'))?.version).toBe(position)
  })

  testWith(options, 'a conflict does not affect other commits', async under => {
    const ways = waysIn(under)
    const start = await under.store.position()
    const commits = Array.from({ length: 60 }, (_, i): Commit => {
      const version = i % 3 === 0 ? 99 : 0
      return { reads: [{ key: `a/b/${i}`, version }], writes: [put(`a/b/${i}`, i)] }
    })
    const results = await Promise.all(commits.map((commit, i) => ways(i).commit(commit)))
    expect(results.map(result => result.committed)).toEqual(commits.map((_, i) => i % 3 !== 0))
    const { entries } = await under.store.scan('a/b')
    expect(entries.length).toBe(40)
    expect((await under.store.changes(start)).length).toBe(40)
  })

  testWith(options, 'counters that retry on conflict lose no step, and each step has its own position', async under => {
    const ways = waysIn(under)
    const positions: Position[] = []
    const count = async (i: number) => {
      for (let step = 0; step < 10; step++) positions.push(await increment(ways(i + step), 'a/b/counter'))
    }
    await Promise.all(Array.from({ length: 8 }, (_, i) => count(i)))
    expect((await under.store.get('a/b/counter'))?.body[0]).toBe(80)
    expect(new Set(positions).size).toBe(80)
    const log = await under.store.changes(await under.store.trimmedTo())
    expect(log.map(({ position }) => position)).toEqual([...positions].sort((a, b) => a - b))
  })
}

function testSnapshots(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'an acknowledged commit is visible at once, through every access path', async under => {
    const ways = waysIn(under)
    for (let i = 0; i < 200; i++) {
      const position = await write(ways(i), put('a/b/c', i))
      const other = ways(i + 1)
      expect(await other.position()).toBeGreaterThanOrEqual(position)
      expect((await other.get('a/b/c'))?.version).toBe(position)
      expect((await other.changes(position - 1)).at(0)?.position).toBe(position)
    }
  })

  testWith(options, 'a state shows a commit whole or not at all, and has its true position', async under => {
    const ways = waysIn(under)
    const keys = ['a/b/1', 'a/b/2', 'c/d/3']
    let isOver = false
    const writing = async () => {
      for (let i = 0; i < 300; i++) await write(ways(i), ...keys.map(key => put(key, i)))
      isOver = true
    }
    const reading = async (store: Store) => {
      let last = 0
      while (!isOver) {
        await options.kit.nextTurn()
        const { value, position } = await store.getMany(keys)
        const versions = new Set(value.map(found => found?.version ?? 0))
        expect(versions.size).toBe(1)
        expect(position).toBeGreaterThanOrEqual([...versions][0]!)
        expect(position).toBeGreaterThanOrEqual(last)
        last = position
        const page = await store.scan('a/b')
        expect(new Set(page.entries.map(({ version }) => version)).size <= 1).toBe(true)
        expect(page.version).toBe(page.entries[0]?.version ?? 0)
        expect(page.position).toBeGreaterThanOrEqual(last)
      }
    }
    await Promise.all([writing(), reading(under.store), reading(under.peer ?? under.store)])
  })
}

async function increment(store: Store, key: string): Promise<Position> {
  for (;;) {
    const found = await store.get(key)
    const reads = [{ key, version: found?.version ?? 0 }]
    const result = await store.commit({ reads, writes: [put(key, (found?.body[0] ?? 0) + 1)] })
    if (result.committed) return result.position
  }
}

/** The access paths in turn. */
function waysIn({ store, peer }: StoreUnderTest): (turn: number) => Store {
  return turn => (peer && turn % 2 === 1 ? peer : store)
}
