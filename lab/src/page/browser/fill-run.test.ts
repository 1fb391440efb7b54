import { expectedRate, FilterError, sizeFor } from '@freshet/bloom'
import { describe, expect, test } from 'vitest'
import { checkFill, type FillProgress, fillRun, shareDone, standardErrorOf, typicalSpeed } from './fill-run.js'

const ENTRIES = 2000
const RATE = 0.02

/** A clock that advances by one millisecond per reading. */
function tickingClock(): () => number {
  let nowMs = 0
  return () => nowMs++
}

function stepsOf(seed: number): FillProgress[] {
  return [...fillRun({ entriesMax: ENTRIES, falsePositiveRateMax: RATE, seed, nowMs: tickingClock() })]
}

describe('a fill run', () => {
  const steps = stepsOf(1)
  const last = steps.at(-1)!

  test('adds and checks every key, and denies none', () => {
    expect(last).toMatchObject({ added: ENTRIES, checked: ENTRIES, falseNegatives: 0 })
  })

  test('measures what theory expects, at every load', () => {
    const size = sizeFor(ENTRIES, RATE)
    expect(last.rates).toHaveLength(40)
    for (const [added, rate] of last.rates) {
      const probes = added === ENTRIES ? last.probes : 20_000
      const deviation = Math.abs(rate - expectedRate(size, added)) / standardErrorOf(size, added, probes)
      expect(deviation, `in standard errors, at ${added} keys`).toBeLessThan(5)
    }
  })

  test('only moves forward, from nothing done to everything done', () => {
    const shares = steps.map(step => shareDone(step, ENTRIES, RATE))
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBe(1)
  })

  test('times nothing but `add`', () => {
    // 40 steps of 50 keys, one millisecond each.
    expect(last.speeds).toEqual(Array(40).fill(50_000))
    expect(typicalSpeed(last.speeds)).toBe(50_000)
  })

  test('finds the same with the same seed, and a different result with another', () => {
    expect(stepsOf(1).at(-1)).toEqual(last)
    expect(stepsOf(2).at(-1)!.rates).not.toEqual(last.rates)
  })
})

test('a typical speed is the median, and undefined before the first step', () => {
  expect(typicalSpeed([5, 1000, 6])).toBe(6)
  expect(typicalSpeed([])).toBeUndefined()
})

test('the library refuses bad sizes first, then the page', () => {
  expect(() => checkFill(1000, 2)).toThrow(FilterError)
  expect(() => checkFill(Number.NaN, 0.01)).toThrow(FilterError)
  for (const entries of [999, 1_000_001, 1000.5]) expect(() => checkFill(entries, 0.01)).toThrow(RangeError)
})
