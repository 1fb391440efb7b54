import { expect, test } from 'vitest'
import { CompactIds } from './compact-ids.js'

const HOUR_MS = 3_600_000

/** This many an hour, evenly. */
function addFor(ids: CompactIds, fromHour: number, toHour: number, perHour: number): void {
  for (let i = 0; i < (toHour - fromHour) * perHour; i++) {
    const hash = ids.hashOf(`id-${fromHour}-${i}`)
    ids.add(hash, (fromHour + i / perHour) * HOUR_MS)
  }
}

test('it remembers for the window, stays below the requested error rate, and follows the load', () => {
  const ids = new CompactIds({ falsePositiveRateMax: 0.001 }, 24 * HOUR_MS)
  addFor(ids, 0, 30, 1000)
  const small = ids.sizeBytes()
  addFor(ids, 30, 54, 20_000)
  expect(ids.estimatedRate()).toBeLessThan(0.001)
  expect(ids.sizeBytes()).toBeGreaterThan(2 * small)
  for (let i = 0; i < 10_000; i++) expect(ids.has(ids.hashOf(`id-30-${40 * i}`), 54 * HOUR_MS - 1)).toBe(true)
  let wrong = 0
  for (let i = 0; i < 50_000; i++) if (ids.has(ids.hashOf(`other-${i}`), 54 * HOUR_MS)) wrong++
  expect(wrong / 50_000).toBeLessThan(0.002)
  addFor(ids, 54, 140, 100)
  expect(ids.sizeBytes()).toBeLessThan(2 * small)
  expect(ids.has(ids.hashOf('id-30-0'), 140 * HOUR_MS)).toBe(false)
})

test('it becomes full at its memory limit, and is no longer full when the load is over', () => {
  const ids = new CompactIds({ memoryBytesMax: 512 * 1024 }, 24 * HOUR_MS)
  addFor(ids, 0, 1, 100_000)
  expect(ids.isFull()).toBe(false)
  addFor(ids, 1, 2, 300_000)
  expect(ids.isFull()).toBe(true)
  expect(ids.sizeBytes()).toBeLessThanOrEqual(512 * 1024)
  addFor(ids, 2, 80, 10)
  expect(ids.isFull()).toBe(false)
})

test('the hash of an id never changes', () => {
  expect([...new CompactIds({}, 1000).hashOf('order-1')]).toEqual([0x52, 0xd1, 0xbe, 0x96, 0x0a, 0xad, 0x8b, 0xc2])
})
