import { setImmediate } from 'node:timers/promises'
import { positionAtTime } from '@freshet/core/store'
import { testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { createMemoryStore } from './memory-store.js'

testStore({
  kit: { describe, test, expect, nextTurn: setImmediate },
  async open() {
    const store = createMemoryStore()
    return { store, dispose: () => store.close() }
  },
  steps: 20_000,
  queryBuckets: 400,
})

test('a clock can be passed in, and if it goes back, the time of the store does not', async () => {
  let timeMs = 100
  const store = createMemoryStore({ nowMs: () => timeMs })
  expect(store.nowMs()).toBe(100)
  timeMs = 50
  expect(store.nowMs()).toBe(100)
  timeMs = 150
  expect(store.nowMs()).toBe(150)
  await store.commit({ writes: [{ key: 'a/b/c', delete: true }] })
  expect(store.changes(await store.trimmedTo())).toMatchObject([{ timeMs: 150 }])
})

test('a store begins at the position of the time of day, or at a given one', async () => {
  const before = positionAtTime(Date.now())
  const store = createMemoryStore()
  const begin = await store.position()
  expect(begin).toBeGreaterThanOrEqual(before)
  expect(begin).toBeLessThanOrEqual(positionAtTime(Date.now()))
  expect(await store.trimmedTo()).toBe(begin)
  const small = createMemoryStore({ positionsAfter: 7 })
  expect(await small.trimmedTo()).toBe(7)
  expect(await small.commit({ writes: [{ key: 'a/b/c', delete: true }] })).toEqual({ committed: true, position: 8 })
})
