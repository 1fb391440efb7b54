import type { Store } from '../store.js'
import { bytes, type ConformanceOptions, codeOf, plain, put, remove, testWith, write } from './kit.js'

export function testLifecycle(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'a closed store refuses everything, and may be closed again', async under => {
    for (const store of under.peer ? [under.peer, under.store] : [under.store]) {
      await Promise.all([store.close(), store.close()])
      await store.close()
      for (const [name, call] of Object.entries(everyMethod(store))) {
        expect(await codeOf(call), name).toBe('STORE_CLOSED')
      }
    }
  })

  testWith(options, 'closing waits for operations under way', async ({ store }) => {
    await Promise.all(Array.from({ length: 1600 }, (_, i) => write(store, put(`c/d/${i}`, i))))
    // Long enough to be under way when the store closes.
    const scanning = store.scan('c/d', { limit: 2000 })
    const committing = Array.from({ length: 50 }, (_, i) => write(store, put(`a/b/${i}`, i)))
    const reading = [store.getMany(['a/b/1']), store.scan('a/b'), store.buckets()]
    const remembering = store.remember('a', bytes(1))
    await store.close()
    const positions = await Promise.all(committing)
    expect(new Set(positions).size).toBe(50)
    await Promise.all([...reading, remembering])
    expect((await scanning).entries.length).toBe(1600)
  })

  testWith(options, 'a durable store has everything when it is opened again', async ({ store, peer, reopen }) => {
    if (!reopen) {
      expect(store.supports.durability).toBe('none')
      return
    }
    await write(store, put('a/b/1', 1))
    await write(store, put('a/b/2', 2))
    await write(store, remove('a/b/2'))
    const trimmed = await write(store, put('c/d/ä', 3))
    const last = await write(peer ?? store, put('a/b/3', 4))
    await store.remember('seed', bytes(5))
    await store.trim(trimmed)
    const values = await Promise.all(['a/b/1', 'a/b/2', 'a/b/3', 'c/d/ä'].map(key => store.get(key)))
    const [buckets, entries, timeMs, position] = [
      await store.buckets(),
      await store.changes(trimmed),
      store.nowMs(),
      await store.position(),
    ]

    const again = await reopen()
    expect(again.log).toBe(store.log)
    const found = await Promise.all(['a/b/1', 'a/b/2', 'a/b/3', 'c/d/ä'].map(key => again.get(key)))
    expect(found.map(plain)).toEqual(values.map(plain))
    expect(await again.buckets()).toEqual(buckets)
    expect(await again.changes(trimmed)).toEqual(entries)
    expect(await again.trimmedTo()).toBe(trimmed)
    expect([...((await again.recall('seed')) ?? [])]).toEqual([5])
    expect(again.nowMs()).toBeGreaterThanOrEqual(timeMs)
    expect(await again.position()).toBeGreaterThanOrEqual(position)
    expect(await write(again, put('a/b/1', 6))).toBeGreaterThan(last)
    const times = (await again.changes(trimmed)).map(entry => entry.timeMs)
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })
}

function everyMethod(store: Store): Record<string, () => unknown> {
  return {
    get: () => store.get('a/b/c'),
    getMany: () => store.getMany(['a/b/c']),
    scan: () => store.scan('a/b'),
    query: () => store.query('a/b', {}),
    queryVersion: () => store.queryVersion('a/b', {}),
    indexes: () => store.indexes('a/b'),
    buckets: () => store.buckets(),
    commit: () => store.commit({ writes: [put('a/b/c', 1)] }),
    forgetOperations: () => store.forgetOperations(),
    operationCounts: () => store.operationCounts(),
    position: () => store.position(),
    changes: () => store.changes(0),
    trimmedTo: () => store.trimmedTo(),
    trim: () => store.trim(0),
    nowMs: () => store.nowMs(),
    onCommit: () => store.onCommit(() => {}),
    remember: () => store.remember('a', bytes(1)),
    hold: () => store.hold('a', 'b', 1),
    recall: () => store.recall('a'),
  }
}
