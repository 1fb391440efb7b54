import { describe, expect, it } from 'vitest'
import { type AgePartitionedBloomOptions, createAgePartitionedBloom } from './age-partitioned-bloom.js'

const OPTIONS = { windowMs: 1000, entriesMax: 1000, falsePositiveRateMax: 0.01, seed: 7n }
const PROBES = 400_000

describe('an age-partitioned filter', () => {
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
  ])(
    'has an error rate of at most %f at the load it was made for, with fewer than %f bits for each key',
    (rate, bitsMax) => {
      const filter = createAgePartitionedBloom({ ...OPTIONS, falsePositiveRateMax: rate, entriesMax: 20_000 })
      for (let i = 0; i < 80_000; i++) filter.add(`key ${i}`, i / 20)
      let wrong = 0
      for (let i = 0; i < PROBES; i++) if (filter.has(`absent ${i}`, 4000)) wrong++
      const standardError = Math.sqrt(rate / PROBES)
      expect(wrong / PROBES).toBeLessThan(1.05 * rate + 3 * standardError)
      expect(wrong / PROBES).toBeGreaterThan(0.8 * rate - 3 * standardError)
      expect(Math.abs(filter.estimatedRate() - wrong / PROBES)).toBeLessThan(0.05 * rate + 3 * standardError)
      expect((filter.sizeBytes() * 8) / 20_000).toBeLessThan(bitsMax)
    },
  )

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
