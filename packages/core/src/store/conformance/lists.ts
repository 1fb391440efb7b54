/** Commits that rely on lists, and commits that write nothing. */
import { bucketOfKey, compareUtf8, idOfKey, isWithin } from '@freshet/protocol'
import type { Commit, Key, Position, ReadList, Store } from '../store.js'
import { type ConformanceOptions, codeOf, put, remove, testWith, write } from './kit.js'
import { createRandom, type Random } from './random.js'

const BUCKETS = ['a/b', 'a/c'] as const
const IDS = ['a', 'b', 'c', 'd', 'e', '\uffff', '😀'] as const
const STEPS = 600

export function testLists(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'a list holds until something in its range is changed, created or deleted', async ({ store }) => {
    const version = await write(store, put('a/b/b', 1), put('a/b/d', 1))
    const list = { bucket: 'a/b', version, from: 'b', to: 'd' }
    const whole = { bucket: 'a/b', version }
    expect(await holds(store, list)).toBe(true)
    await write(store, put('a/b/a', 1), put('a/b/d', 2), put('a/c/b', 1))
    expect(await holds(store, list)).toBe(true)
    expect(await holds(store, whole)).toBe(false)
    const position = await write(store, put('a/b/c', 1))
    expect(await store.commit({ lists: [list, whole], writes: [put('a/c/x', 1)] })).toEqual({
      committed: false,
      conflicts: [],
      changedLists: [{ key: 'a/b', version: position }],
    })
    expect(await store.get('a/c/x')).toBe(undefined)
    const now = { ...list, version: position }
    expect(await holds(store, now)).toBe(true)
    await write(store, remove('a/b/c'))
    expect(await holds(store, now)).toBe(false)
  })

  testWith(options, 'a list of an absent bucket holds until the bucket exists', async ({ store }) => {
    await write(store, put('a/c/a', 1))
    expect(await holds(store, { bucket: 'a/b', version: 0 })).toBe(true)
    await write(store, put('a/b/a', 1))
    expect(await holds(store, { bucket: 'a/b', version: 0 })).toBe(false)
  })

  testWith(options, 'a commit without writes takes no position, and is not in the log', async ({ store }) => {
    const version = await write(store, put('a/b/a', 1))
    const reads = [{ key: 'a/b/a', version }]
    expect(await store.commit({ reads, writes: [] })).toEqual({ committed: true, position: version })
    expect(await store.position()).toBe(version)
    const stale = { key: 'a/b/a', version: version - 1 }
    expect(await store.commit({ reads: [stale], writes: [] })).toEqual({
      committed: false,
      conflicts: [{ key: 'a/b/a', version }],
    })
    expect(await codeOf(() => store.commit({ writes: [] }))).toBe('TypeError')
  })

  testWith(options, 'a list from before the beginning of a trimmed log counts as changed', async ({ store }) => {
    const version = await write(store, put('a/b/a', 1))
    await write(store, put('a/b/z', 1))
    const list = { bucket: 'a/b', version, to: 'b' }
    expect(await holds(store, list)).toBe(true)
    await store.trim(await store.position())
    expect(await holds(store, list)).toBe(false)
  })

  testWith(options, 'of concurrent commits, no two rely on a list that the other changes', async ({ store }) => {
    const random = createRandom(options.seed ?? 1)
    // Before the first position nothing is known: a list from there would count as changed.
    const first = await write(store, put('a/b/a', 1), put('a/c/a', 1))
    const model = new ListModel(first)
    for (let step = 0; step < STEPS; step += 3) {
      const commits = [1, 2, 3].map(() => drawCommit(random, first, model.position))
      const results = await Promise.all(commits.map(commit => store.commit(commit)))
      const done = commits.flatMap((commit, i) => {
        const result = results[i]!
        return result.committed && commit.writes.length > 0 ? [{ commit, position: result.position }] : []
      })
      for (const { commit, position } of done.sort((a, b) => a.position - b.position)) {
        expect(model.changed(commit.lists ?? []), `step ${step}`).toEqual([])
        model.apply(position, commit)
      }
      commits.forEach((commit, i) => {
        // Refused for a reason: after all of them at the latest, a list that it relied on had changed.
        const result = results[i]!
        if (!result.committed) expect(model.changed(commit.lists ?? []).length, `step ${step}`).toBeGreaterThan(0)
      })
    }
  })
}

async function holds(store: Store, list: ReadList): Promise<boolean> {
  return (await store.commit({ lists: [list], writes: [] })).committed
}

function drawCommit(random: Random, first: Position, position: Position): Commit {
  const key = (): Key => `${random.pick(BUCKETS)}/${random.pick(IDS)}`
  const bound = (name: string) => (random.chance(0.4) ? { [name]: random.pick(IDS) } : {})
  const list = (): ReadList => ({
    bucket: random.pick(BUCKETS),
    version: Math.max(first, position - random.below(3)),
    ...bound('from'),
    ...bound('to'),
    ...bound('after'),
    ...bound('through'),
  })
  const writes = random.chance(0.1) ? [] : [random.chance(0.2) ? remove(key()) : put(key(), 1)]
  return { lists: [list()], writes }
}

/** Every change, in the plainest form. */
class ListModel {
  readonly #changes: { readonly position: Position; readonly key: Key }[] = []
  position: Position

  constructor(position: Position) {
    this.position = position
  }

  apply(position: Position, { writes }: Commit): void {
    this.position = position
    for (const { key } of writes) this.#changes.push({ position, key })
  }

  changed(lists: readonly ReadList[]): readonly ReadList[] {
    return lists.filter(list => this.#changes.some(({ position, key }) => position > list.version && isIn(list, key)))
  }
}

function isIn(list: ReadList, key: Key): boolean {
  const id = idOfKey(key)!
  const isBefore = list.through === undefined || compareUtf8(id, list.through) <= 0
  return bucketOfKey(key) === list.bucket && isWithin(id, list) && isBefore
}
