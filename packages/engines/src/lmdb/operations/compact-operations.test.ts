/** Foreign ids of which only hashes are remembered: all but a few new ones are done, and no id is ever done twice. */
import type { Operation } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { type EmbeddedStoreOptions, openEmbeddedStore } from '../embedded-store.js'
import { temporaryFolder } from '../under-test/temporary-folder.js'

type More = Pick<EmbeddedStoreOptions, 'compact' | 'retentionMs'>

async function withFolder(action: (open: (more?: More) => ReturnType<typeof openEmbeddedStore>) => Promise<void>) {
  const folder = await temporaryFolder()
  try {
    await action(more => openEmbeddedStore({ path: folder.path, durability: 'relaxed', ...more }))
  } finally {
    await folder.remove()
  }
}

function add(id: string) {
  const operation: Operation = { id: { kind: 'foreign', id }, fingerprint: 'print', note: '' }
  return { writes: [], adds: [{ key: 'lab/counters/a', by: 1, decimals: 0 }], operation }
}

const SEEN = { committed: false, conflicts: [], refusedOperation: 'seen' }

test('an operation is never done twice, even after the store was opened again, in either mode', () =>
  withFolder(async open => {
    let store = await open({ compact: {} })
    const ids = Array.from({ length: 2000 }, (_, i) => `id-${i}`)
    const done = (await Promise.all(ids.map(id => store.commit(add(id))))).filter(result => result.committed).length
    expect(done).toBeGreaterThan(1980)
    expect(await store.commit(add('id-7'))).toEqual(SEEN)
    // Nor within one transaction.
    const twice = await Promise.all([store.commit(add('twice')), store.commit(add('twice'))])
    expect(twice.map(({ committed }) => committed)).toEqual([true, false])
    const { mode, foreign, diskBytes, memoryBytes } = await store.operationCounts()
    expect({ mode, foreign }).toEqual({ mode: 'compact', foreign: done + 1 })
    expect(diskBytes).toBeLessThan(40_000)
    expect(memoryBytes).toBeGreaterThan(0)
    for (const [turn, compact] of [{}, undefined, {}].entries()) {
      await store.close()
      store = await open(compact && { compact })
      for (const id of ids.slice(0, 100)) expect(await store.commit(add(id))).toEqual(SEEN)
      expect((await store.commit(add(`turn-${turn}`))).committed).toBe(true)
    }
    const value = await store.get('lab/counters/a')
    expect(Number(new TextDecoder().decode(value!.body))).toBe((await store.operationCounts()).foreign)
    await store.close()
  }))

test('operations remembered exactly stay so when the mode changes', () =>
  withFolder(async open => {
    let store = await open()
    const first = await store.commit(add('a'))
    await store.close()
    store = await open({ compact: {} })
    expect(await store.commit(add('a'))).toEqual({ ...first, replayed: { note: '' } })
    await store.close()
  }))

test('operations are counted, and forgotten when they are too old', () =>
  withFolder(async open => {
    const store = await open({ compact: {}, retentionMs: 1 })
    await Promise.all(Array.from({ length: 50 }, (_, i) => store.commit(add(`id-${i}`))))
    expect((await store.operationCounts()).foreign).toBe(50)
    const lastMs = store.nowMs()
    while (store.nowMs() <= lastMs + 2) await new Promise(resolve => setTimeout(resolve, 1))
    await store.forgetOperations()
    expect((await store.operationCounts()).foreign).toBe(0)
    await store.close()
  }))

test('a filter that would err too often accepts no more', () =>
  withFolder(async open => {
    let rate = 0
    const filter = { add: () => {}, has: () => false, estimatedRate: () => rate, sizeBytes: () => 0 }
    const createFilter = (windowMs: number) => ({ ...filter, windowMs })
    const store = await open({ compact: { createFilter, falsePositiveRateMax: 0.01 } })
    expect((await store.commit(add('a'))).committed).toBe(true)
    rate = 0.021
    expect(await store.commit(add('b'))).toMatchObject({ committed: false, refusedOperation: 'overflowing' })
    rate = 0.019
    expect((await store.commit(add('b'))).committed).toBe(true)
    await store.close()
  }))
