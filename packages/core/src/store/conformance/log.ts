import type { Store } from '../store.js'
import { type ConformanceOptions, codeOf, errorOf, put, remove, testWith, write } from './kit.js'

export function testLog(options: ConformanceOptions): void {
  testEntries(options)
  testTrimming(options)
}

function testEntries(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'every commit has one entry, in order, with the keys it wrote', async under => {
    const { store } = under
    const start = await store.position()
    const first = await write(store, put('a/b/1', 1))
    const second = await write(store, remove('a/b/1'))
    const third = await write(store, put('c/d/ä😀', 1))
    for (const way of [store, under.peer ?? store]) {
      const entries = await way.changes(start)
      expect(entries.map(({ position, keys }) => ({ position, keys }))).toEqual([
        { position: first, keys: ['a/b/1'] },
        { position: second, keys: ['a/b/1'] },
        { position: third, keys: ['c/d/ä😀'] },
      ])
      expect((await way.changes(first)).map(({ position }) => position)).toEqual([second, third])
      expect(await way.changes(third)).toEqual([])
      expect(await way.changes(third + 1000)).toEqual([])
    }
  })

  testWith(options, 'it is read in pieces of the requested size, 1000 by default', async ({ store }) => {
    const start = await store.position()
    const positions = await writeMany(store, 1300)
    expect((await store.changes(start)).length).toBe(1000)
    expect((await store.changes(positions[9]!, 5)).map(({ position }) => position)).toEqual(positions.slice(10, 15))
    expect((await store.changes(positions[1297]!, 5)).length).toBe(2)
    for (const limit of [0, -1, 0.5]) {
      expect((await errorOf(() => store.changes(start, limit))) instanceof TypeError).toBe(true)
    }
    for (const after of [-1, 0.5, Number.NaN]) {
      expect((await errorOf(() => store.changes(after))) instanceof TypeError).toBe(true)
    }
  })

  testWith(
    options,
    'its times never go back, and lie between the clock before and the clock after',
    async ({ store }) => {
      const start = await store.position()
      const before = store.nowMs()
      await writeMany(store, 100)
      const after = store.nowMs()
      const times = (await store.changes(start)).map(({ timeMs }) => timeMs)
      expect(times).toEqual([...times].sort((a, b) => a - b))
      expect(times[0]).toBeGreaterThanOrEqual(before)
      expect(after).toBeGreaterThanOrEqual(times.at(-1)!)
    },
  )

  testWith(options, 'a listener is called for commits through every access path, until it stops', async under => {
    for (const listening of [under.store, under.peer ?? under.store]) {
      const heard: number[] = []
      const stop = listening.onCommit(position => heard.push(position))
      const position = await write(under.store, put('a/b/c', 1))
      await hears(listening, under.store, position)
      expect(heard.at(-1)).toBeGreaterThanOrEqual(position)
      stop()
      const count = heard.length
      await hears(listening, under.store, await write(under.store, put('a/b/c', 2)))
      expect(heard.length).toBe(count)
    }
  })
}

/** Resolves when a listener of its own was called for a position; commits again, in case it was too late for this one. */
async function hears(listening: Store, committing: Store, position: number): Promise<void> {
  const heard = new Promise<void>(resolve => {
    const stop = listening.onCommit(reached => {
      if (reached < position) return
      stop()
      resolve()
    })
  })
  await write(committing, put('a/b/again', 1))
  await heard
}

function testTrimming(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(
    options,
    'the log of a new store begins where the store does; anything before it is unknown',
    async under => {
      for (const store of [under.store, under.peer ?? under.store]) {
        const start = await store.position()
        expect(await store.trimmedTo()).toBe(start)
        expect(await store.changes(start)).toEqual([])
        if (start > 0) expect(await codeOf(() => store.changes(start - 1))).toBe('LOG_TRIMMED')
      }
    },
  )

  testWith(options, 'a trimmed log begins where it was cut; reading from before that is LOG_TRIMMED', async under => {
    const start = await under.store.position()
    const positions = await writeMany(under.store, 20)
    expect(await under.store.trimmedTo()).toBe(start)
    await under.store.trim(positions[9]!)
    for (const store of [under.store, under.peer ?? under.store]) {
      expect(await store.trimmedTo()).toBe(positions[9])
      expect(await codeOf(() => store.changes(start))).toBe('LOG_TRIMMED')
      expect(await codeOf(() => store.changes(positions[8]!))).toBe('LOG_TRIMMED')
      expect((await store.changes(positions[9]!)).map(({ position }) => position)).toEqual(positions.slice(10))
    }
  })

  testWith(options, 'trimming never goes back, never beyond the end, and leaves the data alone', async under => {
    const { store } = under
    const positions = await writeMany(store, 20)
    await store.trim(positions[9]!)
    await (under.peer ?? store).trim(positions[4]!)
    expect(await store.trimmedTo()).toBe(positions[9])
    await store.trim(positions[19]! + 1000)
    expect(await store.trimmedTo()).toBe(positions[19])
    expect(await store.changes(positions[19]!)).toEqual([])
    const next = await write(store, put('a/b/new', 1))
    expect((await store.changes(positions[19]!)).map(({ position }) => position)).toEqual([next])
    expect((await store.scan('a/b')).entries.length).toBe(21)
    expect(await store.position()).toBe(next)
    expect((await store.buckets()).map(({ bucket }) => bucket)).toEqual(['a/b'])
    expect((await errorOf(() => store.trim(-1))) instanceof TypeError).toBe(true)
  })

  testWith(options, 'a long log is trimmed while commits go on', async ({ store }) => {
    const positions = await writeMany(store, 4500)
    const [later] = await Promise.all([
      writeMany(store, 200),
      store.trim(positions[4000]!),
      store.trim(positions[4400]!),
      store.trim(positions[100]!),
    ])
    expect(await store.trimmedTo()).toBe(positions[4400])
    const rest = [...positions.slice(4401), ...later].sort((a, b) => a - b)
    const listed = (await store.changes(positions[4400]!)).map(({ position }) => position)
    // A commit that took long to become visible is listed again, under a position of its own.
    expect(listed.filter(position => rest.includes(position))).toEqual(rest)
  })
}

async function writeMany(store: Store, count: number): Promise<number[]> {
  const positions = await Promise.all(Array.from({ length: count }, (_, i) => write(store, put(`a/b/${i % 20}`, i))))
  return positions.sort((a, b) => a - b)
}
