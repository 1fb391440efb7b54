import { describe, expect, it } from 'vitest'
import { createForgetfulBloom, type ForgetfulBloomOptions } from './forgetful-bloom.js'

const BASIC = { bits: 6250, hashes: 5, pastFilters: 1, refreshMs: 5000, seed: 3n }

describe('a forgetful filter', () => {
  it.each([1, 2, 3, 8])('with N = %i knows a key for (N + 1) t and no longer than (N + 2) t', pastFilters => {
    for (const addedMs of [0, 1, 2500, 4999, 5000, 7777]) {
      const filter = createForgetfulBloom({ ...BASIC, pastFilters })
      filter.advance(0)
      filter.add('a', addedMs)
      expect(filter.has('a', addedMs + (pastFilters + 1) * 5000 - 1)).toBe(true)
      expect(filter.has('a', addedMs + (pastFilters + 2) * 5000)).toBe(false)
    }
  })

  it('inserts a key once, and again after it was forgotten', () => {
    const filter = createForgetfulBloom(BASIC)
    expect(filter.insert('a', 0)).toBe(true)
    expect(filter.insert('a', 9000)).toBe(false)
    expect(filter.insert('a', 15_000)).toBe(true)
  })

  it('errs less often by the optimised check than by the simple one, and as often as the estimate says', () => {
    const filter = createForgetfulBloom(BASIC)
    for (let i = 0; i < 2000; i++) filter.add(`key ${i}`, i * 5)
    let simple = 0
    let optimised = 0
    for (let i = 0; i < 300_000; i++) {
      if (filter.hasSimple(`absent ${i}`, 9999)) simple++
      if (filter.has(`absent ${i}`, 9999)) optimised++
    }
    expect(optimised).toBeLessThan(simple / 2)
    expect(Math.abs(optimised / 300_000 / filter.estimatedRate() - 1)).toBeLessThan(0.1)
  })

  it('errs more often with shared hashes, because neighbours then err together', () => {
    const rates = [true, false].map(sharedHashes => {
      const filter = createForgetfulBloom({ ...BASIC, pastFilters: 8, sharedHashes })
      for (let i = 0; i < 5000; i++) filter.add(`key ${i}`, i * 10)
      let wrong = 0
      for (let i = 0; i < 50_000; i++) if (filter.has(`absent ${i}`, 49_999)) wrong++
      return wrong / 50_000
    })
    expect(rates[0]).toBeGreaterThan(1.2 * rates[1]!)
  })

  it('starts over after a long silence, whatever the clock says', () => {
    const filter = createForgetfulBloom(BASIC)
    filter.add('a', 1000)
    expect(filter.has('a', 1e15)).toBe(false)
    filter.add('b', 1e15)
    expect(filter.has('b', 1e15 + 9999)).toBe(true)
  })
})

describe('adaptation', () => {
  const ADAPTIVE = { ...BASIC, refreshMs: 11_000, adaptation: { falsePositiveRateMax: 0.01, windowMs: 20_000 } }

  it('takes more filters and a shorter t under load, and gives them back afterwards', () => {
    const filter = createForgetfulBloom(ADAPTIVE)
    for (let i = 0; i < 6000; i++) filter.add(`key ${i}`, i * 10)
    expect(filter.filters).toBeGreaterThan(10)
    expect(filter.refreshMs).toBeLessThan(11_000)
    for (let i = 0; i < 600; i++) filter.add(`later ${i}`, 60_000 + i * 1000)
    expect(filter.filters).toBeLessThan(8)
  })

  it('stays below its target through a hundredfold burst', () => {
    const filter = createForgetfulBloom(ADAPTIVE)
    let worst = 0
    let nowMs = 0
    for (let i = 0; i < 20_000; i++) {
      nowMs += i % 4000 < 3000 ? 1 : 100
      filter.add(`key ${i}`, nowMs)
      worst = Math.max(worst, filter.estimatedRate())
    }
    expect(worst).toBeLessThanOrEqual(0.01)
  })

  it('keeps (N + 1) t above the window at every step', () => {
    const filter = createForgetfulBloom(ADAPTIVE)
    for (let i = 0; i < 30_000; i++) {
      filter.add(`key ${i}`, i * (i % 10_000 < 5000 ? 2 : 60))
      expect((filter.pastFilters + 1) * filter.refreshMs).toBeGreaterThan(20_000)
    }
  })

  it('stops at its memory limit: the rate may then exceed the target, but no key is denied', () => {
    const filter = createForgetfulBloom({ ...ADAPTIVE, adaptation: { ...ADAPTIVE.adaptation, filtersMax: 8 } })
    for (let i = 0; i < 20_000; i++) filter.add(`key ${i}`, i)
    expect(filter.filters).toBeLessThanOrEqual(8)
    expect(filter.sizeBytes()).toBeLessThanOrEqual((8 * 6250) / 8 + 8 * 4)
    for (let i = 1; i < 20_000; i++) expect(filter.has(`key ${i}`, 19_999)).toBe(true)
  })
})

describe('bad options', () => {
  it.each<[Partial<ForgetfulBloomOptions>, string]>([
    [{ pastFilters: 0 }, 'pastFilters'],
    [{ refreshMs: 0 }, 'refreshMs'],
    [{ bits: 0 }, 'bits'],
    [{ adaptation: { falsePositiveRateMax: 2, windowMs: 100 } }, 'between 0 and 1'],
    [{ adaptation: { falsePositiveRateMax: 0.01, windowMs: 10_000 } }, 'more than adaptation.windowMs'],
    [{ adaptation: { falsePositiveRateMax: 0.01, windowMs: 100, filtersMax: 2 } }, 'filtersMax'],
  ])('%o are refused, and the error says what to pass', (options, words) => {
    expect(() => createForgetfulBloom({ ...BASIC, ...options })).toThrow(
      expect.objectContaining({ code: 'FILTER_OPTIONS_INVALID', message: expect.stringContaining(words) }),
    )
  })
})
