import { setImmediate } from 'node:timers/promises'
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
})

test('the clock can be passed in, and does not follow it back', async () => {
  let timeMs = 100
  const store = createMemoryStore({ nowMs: () => timeMs })
  expect(store.nowMs()).toBe(100)
  timeMs = 50
  expect(store.nowMs()).toBe(100)
  timeMs = 150
  expect(store.nowMs()).toBe(150)
  await store.commit({ writes: [{ key: 'a/b/c', delete: true }] })
  expect(store.changes(0)).toMatchObject([{ timeMs: 150 }])
})
