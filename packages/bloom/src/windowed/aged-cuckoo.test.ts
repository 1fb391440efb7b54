import { describe, expect, it } from 'vitest'
import { FilterError } from '../filter-error.js'
import { type AgedCuckooOptions, createAgedCuckoo } from './aged-cuckoo.js'

const OPTIONS = { windowMs: 1000, entriesMax: 1000, falsePositiveRateMax: 0.01, seed: 7n }
const PROBES = 400_000

/** Adds the key; returns false if the filter is full. */
function tryAdd(filter: ReturnType<typeof createAgedCuckoo>, key: string, nowMs: number): boolean {
  try {
    filter.add(key, nowMs)
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(FilterError)
    expect(error).toMatchObject({ code: 'FILTER_FULL' })
    return false
  }
}

describe('an aged cuckoo filter', () => {
  it('knows a key until its window ends and has forgotten it a generation later, however long it runs', () => {
    const filter = createAgedCuckoo({ ...OPTIONS, falsePositiveRateMax: 1e-6 })
    let remembered = 0
    for (let i = 0; i < 30_000; i++) {
      filter.add(`key ${i}`, i)
      if (i < 2000) continue
      expect(filter.has(`key ${i - 999}`, i)).toBe(true)
      if (filter.has(`key ${i - 1000 - 1000 / 14 - 1}`, i)) remembered++
    }
    expect(remembered).toBe(0)
    expect(filter.has('key 29999', 30_999)).toBe(false)
  })

  it('remembers a key from the last time it was added', () => {
    const filter = createAgedCuckoo({ ...OPTIONS, falsePositiveRateMax: 1e-6 })
    for (let nowMs = 0; nowMs < 5000; nowMs += 50) {
      filter.add('again', nowMs)
      filter.add(`once ${nowMs}`, nowMs)
      expect(filter.has('again', nowMs + 40)).toBe(true)
    }
    expect(filter.has('again', 5949)).toBe(true)
    expect(filter.has('again', 5950)).toBe(false)
  })

  it.each([
    [0.01, 15.9],
    [0.0001, 23.8],
  ])(
    'has an error rate of at most %f at the load it was made for, refuses nothing, and needs under %f bits for each key',
    (rate, bitsMax) => {
      const filter = createAgedCuckoo({ ...OPTIONS, falsePositiveRateMax: rate, entriesMax: 20_000 })
      for (let i = 0; i < 80_000; i++) filter.add(`key ${i}`, i / 20)
      let wrong = 0
      for (let i = 0; i < PROBES; i++) if (filter.has(`absent ${i}`, 4000)) wrong++
      expect(wrong / PROBES).toBeLessThan(rate)
      expect(Math.abs(filter.estimatedRate() - wrong / PROBES)).toBeLessThan(0.05 * rate + 3 * Math.sqrt(rate / PROBES))
      expect((filter.sizeBytes() * 8) / 20_000).toBeLessThan(bitsMax)
    },
  )

  it('refuses a key rather than lose another one, and accepts keys again when time has passed', () => {
    const filter = createAgedCuckoo(OPTIONS)
    const taken: string[] = []
    for (let i = 0; i < 3000; i++) if (tryAdd(filter, `key ${i}`, 0)) taken.push(`key ${i}`)
    expect(taken.length).toBeGreaterThan(1000)
    expect(taken.length).toBeLessThan(1300)
    for (const key of taken) expect(filter.has(key, 999)).toBe(true)
    expect(tryAdd(filter, taken[0]!, 999)).toBe(true)
    for (let i = 0; i < 1000; i++) filter.add(`later ${i}`, 2000)
    expect(filter.has('later 0', 2000)).toBe(true)
  })

  it.each<[Partial<AgedCuckooOptions>, string]>([
    [{ windowMs: Number.NaN }, 'windowMs'],
    [{ entriesMax: 0 }, 'entriesMax'],
    [{ entriesMax: 1e12 }, 'fewer entries'],
    [{ falsePositiveRateMax: 0 }, 'between 0 and 1'],
    [{ falsePositiveRateMax: 1e-9 }, 'higher rate'],
  ])('refuses %o and says what to pass', (options, words) => {
    expect(() => createAgedCuckoo({ ...OPTIONS, ...options })).toThrow(
      expect.objectContaining({ code: 'FILTER_OPTIONS_INVALID', message: expect.stringContaining(words) }),
    )
  })
})
