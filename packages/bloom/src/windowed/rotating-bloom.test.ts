import { describe, expect, it } from 'vitest'
import { createRotatingBloom, type RotatingBloomOptions } from './rotating-bloom.js'

const OPTIONS = { windowMs: 1000, entriesMax: 1000, falsePositiveRateMax: 0.01, seed: 7n }

describe('a rotating filter', () => {
  it('knows a key until its window ends and has forgotten it one slice later', () => {
    const filter = createRotatingBloom({ ...OPTIONS, falsePositiveRateMax: 1e-9, slices: 5 })
    filter.add('a', 0)
    expect(filter.has('a', 999)).toBe(true)
    expect(filter.has('a', 1000 + 250)).toBe(false)
  })

  it('has at most its target error rate in the steady state, and needs about 16 bits for each remembered key', () => {
    const filter = createRotatingBloom({ ...OPTIONS, entriesMax: 20_000 })
    for (let i = 0; i < 60_000; i++) filter.add(`key ${i}`, i / 20)
    let wrong = 0
    for (let i = 0; i < 200_000; i++) if (filter.has(`absent ${i}`, 3000)) wrong++
    expect(wrong / 200_000).toBeLessThan(0.0107)
    expect(wrong / 200_000).toBeGreaterThan(0.006)
    expect((filter.sizeBytes() * 8) / 20_000).toBeLessThan(16.2)
    expect(Math.abs(filter.estimatedRate() / (wrong / 200_000) - 1)).toBeLessThan(0.1)
  })

  it('takes more slices in a burst, gives them back, and forgets nothing', () => {
    const filter = createRotatingBloom({ ...OPTIONS, slices: 5 })
    filter.add('first', 0)
    const calm = filter.sizeBytes()
    for (let i = 0; i < 3000; i++) filter.add(`burst ${i}`, 10)
    expect(filter.sizeBytes()).toBeGreaterThan(calm * 3)
    expect(filter.has('first', 999)).toBe(true)
    filter.has('anything', 5000)
    expect(filter.sizeBytes()).toBeLessThanOrEqual(calm)
  })

  it('refuses a key rather than forget another one early, and accepts keys again when time has passed', () => {
    const filter = createRotatingBloom({ ...OPTIONS, slices: 2, slicesMax: 2 })
    for (let i = 0; i < 2000; i++) filter.add(`key ${i}`, 0)
    expect(() => filter.add('one more', 1)).toThrow(
      expect.objectContaining({ code: 'FILTER_FULL', message: expect.stringContaining('entriesMax') }),
    )
    expect(filter.has('one more', 1)).toBe(false)
    expect(filter.has('key 0', 999)).toBe(true)
    filter.add('one more', 1000)
    expect(filter.has('one more', 1000)).toBe(true)
  })

  it.each<[Partial<RotatingBloomOptions>, string]>([
    [{ windowMs: 0 }, 'windowMs'],
    [{ windowMs: Number.POSITIVE_INFINITY }, 'windowMs'],
    [{ slices: 1 }, '2 or more'],
    [{ slices: 4, slicesMax: 3 }, 'slicesMax'],
    [{ entriesMax: -1 }, 'entriesMax'],
    [{ falsePositiveRateMax: 2 }, 'between 0 and 1, such as 0.01 for 1%, not 2.'],
  ])('refuses %o and says what to pass', (options, words) => {
    expect(() => createRotatingBloom({ ...OPTIONS, ...options })).toThrow(
      expect.objectContaining({ code: 'FILTER_OPTIONS_INVALID', message: expect.stringContaining(words) }),
    )
  })
})
