import { expect, test } from 'vitest'
import { AcknowledgedWrites } from './acknowledged-writes.js'

const BOUND_MS = 1000

function threeWrites(): AcknowledgedWrites {
  const writes = new AcknowledgedWrites()
  writes.add({ id: 'tea', version: 5, timeMs: 10_000 })
  writes.add({ id: 'tea', version: 9, timeMs: 30_000 })
  writes.add({ id: 'tea', version: 7, timeMs: 20_000 })
  return writes
}

test('a read is stale if it misses a write acknowledged longer ago than the bound', () => {
  const writes = threeWrites()
  expect(writes.isStale('tea', 5, 21_001, BOUND_MS)).toBe(true)
  expect(writes.isStale('tea', 5, 20_999, BOUND_MS)).toBe(false)
  expect(writes.isStale('tea', 9, 90_000, BOUND_MS)).toBe(false)
  expect(writes.isStale('tea', 10, 90_000, BOUND_MS)).toBe(false)
})

test('a read is behind from the first write it misses, in whatever order the writes were added', () => {
  expect(threeWrites().firstMissed('tea', 5)).toMatchObject({ version: 7, timeMs: 20_000 })
  expect(threeWrites().firstMissed('tea', 9)).toBeUndefined()
})

test('a version that is added again does not count as a new write', () => {
  const writes = threeWrites()
  writes.add({ id: 'tea', version: 9, timeMs: 50_000 })
  expect(writes.firstMissed('tea', 8)?.timeMs).toBe(30_000)
})

test('objects are judged separately', () => {
  expect(threeWrites().isStale('mug', 1, 90_000, BOUND_MS)).toBe(false)
})
