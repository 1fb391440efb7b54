import { describe, expect, it } from 'vitest'
import { chiSquared, criticalValue, fiveNumbers, pValue, rejectionsMax } from './chi-squared.js'

describe('the chi-squared test', () => {
  it('has the statistic of a worked example', () => {
    // A die thrown 60 times: squares of the differences from 10 are 25, 4, 1, 4, 0, 100.
    expect(chiSquared(Uint32Array.of(5, 8, 9, 8, 10, 20), 60)).toBeCloseTo(13.4)
  })

  it('has the critical values of the tables', () => {
    expect(criticalValue(2)).toBeCloseTo(3.841, 3)
    expect(criticalValue(11)).toBeCloseTo(18.307, 3)
    expect(criticalValue(101)).toBeCloseTo(124.342, 3)
  })

  it('has a p-value of 5% at the critical value, for few places and for many', () => {
    for (const places of [6, 100, 1000, 10_000, 1_000_000]) {
      expect(pValue(criticalValue(places), places)).toBeCloseTo(0.05, 6)
    }
  })

  it('accepts up to 12 rejections by chance in 100 tests', () => {
    expect(rejectionsMax(100)).toBe(12)
  })
})

it('summarises a sample in five numbers', () => {
  expect(fiveNumbers([5, 1, 2, 4, 3])).toEqual([1, 2, 3, 4, 5])
  expect(fiveNumbers([1, 2])).toEqual([1, 1.25, 1.5, 1.75, 2])
})
