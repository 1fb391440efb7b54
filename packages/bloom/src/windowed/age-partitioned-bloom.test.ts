import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type AgePartitionedBloom,
  type AgePartitionedBloomOptions,
  createAgePartitionedBloom,
} from './age-partitioned-bloom.js'

const OPTIONS = { windowMs: 1000, entriesMax: 1000, falsePositiveRateMax: 0.01, seed: 7n }
const PROBES = 400_000

describe('an age-partitioned filter', () => {
  it('denies no key younger than the window, through bursts, lulls and a clock that jumps back', () => {
    const step = fc.record({
      waitMs: fc.oneof(fc.integer({ min: -50, max: 40 }), fc.integer({ min: 0, max: 2500 })),
      keys: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 12 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 5, max: 100 }), (steps, entriesMax) => {
        const filter = createAgePartitionedBloom({ ...OPTIONS, entriesMax })
        const addedMs = new Map<string, number>()
        let nowMs = 0
        let latestMs = Number.NEGATIVE_INFINITY
        for (const { waitMs, keys } of steps) {
          nowMs += waitMs
          latestMs = Math.max(latestMs, nowMs)
          filter.has('a call that shows it the time', nowMs)
          for (const key of keys) {
            if (isAdded(filter, `${key}`, nowMs)) addedMs.set(`${key}`, latestMs)
          }
          const young = [...addedMs].filter(([, atMs]) => latestMs - atMs < OPTIONS.windowMs)
          expect(young.filter(([key]) => !filter.has(key, nowMs))).toEqual([])
        }
      }),
      { numRuns: 300 },
    )
  })

  it('knows a key until its window ends and has forgotten it soon after', () => {
    const filter = createAgePartitionedBloom({ ...OPTIONS, falsePositiveRateMax: 1e-9 })
    for (let i = 0; i < 3000; i++) filter.add(`key ${i}`, i)
    expect(filter.has('key 2001', 3000)).toBe(true)
    for (let i = 0; i < 1900 - 2 * (1000 / filter.generations); i++) expect(filter.has(`key ${i}`, 3000)).toBe(false)
    expect(filter.has('key 2999', 3999)).toBe(false)
  })

  it.each([
    [0.01, 19.9],
    [0.0001, 32],
  ])('errs at %f or less at the load it was made for, with fewer than %f bits for each key', (rate, bitsMax) => {
    const filter = createAgePartitionedBloom({ ...OPTIONS, falsePositiveRateMax: rate, entriesMax: 20_000 })
    for (let i = 0; i < 80_000; i++) filter.add(`key ${i}`, i / 20)
    let wrong = 0
    for (let i = 0; i < PROBES; i++) if (filter.has(`absent ${i}`, 4000)) wrong++
    const standardError = Math.sqrt(rate / PROBES)
    expect(wrong / PROBES).toBeLessThan(1.05 * rate + 3 * standardError)
    expect(wrong / PROBES).toBeGreaterThan(0.8 * rate - 3 * standardError)
    expect(Math.abs(filter.estimatedRate() - wrong / PROBES)).toBeLessThan(0.05 * rate + 3 * standardError)
    expect((filter.sizeBytes() * 8) / 20_000).toBeLessThan(bitsMax)
  })

  it('takes more slices in a burst, gives them back, and refuses only beyond four times its size', () => {
    const filter = createAgePartitionedBloom(OPTIONS)
    filter.add('first', 0)
    const calmBytes = filter.sizeBytes()
    for (let i = 0; i < 3000; i++) filter.add(`burst ${i}`, 10)
    expect(filter.has('first', 999)).toBe(true)
    const refused = () => {
      for (let i = 0; i < 3000; i++) filter.add(`flood ${i}`, 20)
    }
    expect(refused).toThrow(expect.objectContaining({ code: 'FILTER_FULL' }))
    expect(filter.has('burst 0', 1009)).toBe(true)
    filter.add('later', 5000)
    expect(filter.sizeBytes()).toBeLessThanOrEqual(calmBytes)
  })

  it.each<[Partial<AgePartitionedBloomOptions>, string]>([
    [{ windowMs: 0 }, 'windowMs'],
    [{ entriesMax: 0 }, 'entriesMax'],
    [{ entriesMax: 1e12 }, 'fewer entries'],
    [{ falsePositiveRateMax: 1 }, 'between 0 and 1'],
  ])('refuses %o and says what to pass', (options, words) => {
    expect(() => createAgePartitionedBloom({ ...OPTIONS, ...options })).toThrow(
      expect.objectContaining({ code: 'FILTER_OPTIONS_INVALID', message: expect.stringContaining(words) }),
    )
  })
})

/** A filter that is full says so, and then the key is not in it. */
function isAdded(filter: AgePartitionedBloom, key: string, nowMs: number): boolean {
  try {
    filter.add(key, nowMs)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'FILTER_FULL' })
    return false
  }
}
