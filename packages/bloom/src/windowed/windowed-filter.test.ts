/** The promises of every windowed filter, checked with random schedules that fast-check can shrink. Each kind is a line here. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAgePartitionedBloom } from './age-partitioned-bloom.js'
import { createAgedCuckoo } from './aged-cuckoo.js'
import { createForgetfulBloom } from './forgetful-bloom.js'
import { createWindowedFilter, type WindowedFilter } from './windowed-filter.js'

const OPTIONS = { windowMs: 1000, falsePositiveRateMax: 0.01, seed: 7n }
const KINDS: Record<string, (entriesMax: number) => WindowedFilter> = {
  'the default': entriesMax => createWindowedFilter({ ...OPTIONS, entriesMax }),
  'an age-partitioned filter': entriesMax => createAgePartitionedBloom({ ...OPTIONS, entriesMax }),
  'an aged cuckoo filter': entriesMax => createAgedCuckoo({ ...OPTIONS, entriesMax }),
  'a forgetful filter': () => createForgetfulBloom({ bits: 4000, hashes: 4, pastFilters: 3, refreshMs: 250, seed: 7n }),
}

describe.each(Object.entries(KINDS))('%s', (_, create) => {
  it('denies no key younger than the window, through bursts, refusals, lulls and a clock that jumps back', () => {
    const step = fc.record({
      waitMs: fc.oneof(fc.integer({ min: -50, max: 40 }), fc.integer({ min: 0, max: 2500 })),
      keys: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 12 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 5, max: 100 }), (steps, entriesMax) => {
        const filter = create(entriesMax)
        const addedMs = new Map<string, number>()
        let nowMs = 0
        let latestMs = Number.NEGATIVE_INFINITY
        for (const { waitMs, keys } of steps) {
          nowMs += waitMs
          latestMs = Math.max(latestMs, nowMs)
          filter.has('a call that shows it the time', nowMs)
          for (const key of keys) if (isAdded(filter, `${key}`, nowMs)) addedMs.set(`${key}`, latestMs)
          const young = [...addedMs].filter(([, atMs]) => latestMs - atMs < filter.windowMs)
          expect(young.filter(([key]) => !filter.has(key, nowMs))).toEqual([])
        }
      }),
      { numRuns: 300 },
    )
  })
})

/** A full filter refuses, and then the key is not in it. */
function isAdded(filter: WindowedFilter, key: string, nowMs: number): boolean {
  try {
    filter.add(key, nowMs)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'FILTER_FULL' })
    return false
  }
}
