/** What the store itself adds to the memory of operations: that it forgets all that is too old, and knows what was refused. */
import { setTimeout as delay } from 'node:timers/promises'
import { type ClientWindow, SeenIds } from '@freshet/core/counters'
import { expect, test } from 'vitest'
import { DoneOperations, KnownWindows } from './done-operations.js'
import { openEmbeddedStore } from './embedded-store.js'
import { createFakeEngine } from './under-test/fake-engine.js'
import { temporaryFolder } from './under-test/temporary-folder.js'

test('all foreign ids that are too old are forgotten, also where no client of ours was', async () => {
  const folder = await temporaryFolder()
  const store = await openEmbeddedStore({ path: folder.path, durability: 'relaxed', retentionMs: 1 })
  try {
    for (let first = 0; first < 3000; first += 600) {
      const ids = Array.from({ length: 600 }, (_, i) => `id-${first + i}`)
      const operations = ids.map(id => ({ id: { kind: 'foreign', id }, fingerprint: id }) as const)
      const adds = [{ key: 'lab/counters/a', by: 1, decimals: 0 }]
      await Promise.all(operations.map(operation => store.commit({ writes: [], adds, operation })))
    }
    expect(store.operationCounts().foreign).toBe(3000)
    const lastMs = store.nowMs()
    while (store.nowMs() <= lastMs + 2) await delay(1)
    await store.forgetOperations()
    expect(store.operationCounts()).toMatchObject({ foreign: 0, clients: 0 })
  } finally {
    await store.close()
    await folder.remove()
  }
})

test('windows of a transaction that was refused are not known', () => {
  const known = new KnownWindows()
  const window = (settledTo: number): ClientWindow => ({ settledTo, lastMs: 0, done: new Map() })
  known.change(10, 12, new Map([['a', window(1)]]))
  expect(known.at(12, 'a')).toEqual({ ...window(1), isShared: true })
  known.change(12, 15, new Map([['a', window(2)]]))
  // The store is still where it was.
  expect(known.at(12, 'a')).toBeUndefined()
  known.change(12, 15, new Map([['b', window(3)]]))
  expect(known.at(15, 'a')).toBeUndefined()
  expect(known.at(15, 'b')).toMatchObject(window(3))
  known.change(15, 15, new Map([['b', undefined]]))
  expect(known.at(15, 'b')).toBeUndefined()
})

test('an id that was used again after its time is not forgotten with those it was done with first', () => {
  const engine = createFakeEngine()
  const settings = { seen: new SeenIds({ windowMs: 100, seed: 1n }), windows: new KnownWindows(), retentionMs: 100 }
  const at = (timeMs: number, position: number) => new DoneOperations(engine, settings, timeMs, position)
  const does = (operations: DoneOperations, id: string, timeMs: number, position: number) =>
    operations.setForeign(id, { fingerprint: id, position, units: [], note: '', timeMs })
  const first = at(0, 10)
  does(first, 'a', 0, 11)
  does(first, 'b', 0, 12)
  first.apply(1, 12)
  const again = at(1000, 12)
  expect(again.foreign('b')).toBeUndefined()
  does(again, 'b', 1000, 13)
  again.apply(1, 13)
  const later = at(1001, 13)
  later.forget(undefined)
  later.apply(1, 13)
  expect(at(1002, 13).foreign('b')).toMatchObject({ position: 13 })
  expect(engine.operations.get('a')).toBeUndefined()
})
