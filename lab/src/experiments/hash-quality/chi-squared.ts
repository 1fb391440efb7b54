/**
 * Pearson's chi-squared test of a uniform distribution (thesis, 3.7.2.6).
 *
 * N values in m places: the statistic is the sum of (count - N/m)^2 / (N/m). If the values are uniform, it follows the
 * chi-squared distribution with m - 1 degrees of freedom, and exceeds the critical value with probability ALPHA. So a good
 * function is rejected in about 5 of 100 tests; a function that is never rejected is as suspicious as one that always is.
 *
 * With N/m = 0.1, as in figure 72, single places hold too few values for the distribution to apply. But the statistic is then
 * equivalent to the number of coinciding pairs, of which there are thousands: its mean and variance are the same.
 */
import jstat from 'jstat'
import type { FiveNumbers } from '../../harness/chart.js'

const { chisquare, binomial } = jstat.jStat

export const ALPHA = 0.05

export function chiSquared(counts: Uint32Array, values: number): number {
  let squares = 0
  for (let i = 0; i < counts.length; i++) squares += counts[i]! * counts[i]!
  return (squares * counts.length) / values - values
}

/** The probability that uniform values look at least this uneven. */
export function pValue(statistic: number, places: number): number {
  return 1 - chisquare.cdf(statistic, places - 1)
}

export function criticalValue(places: number): number {
  return chisquare.inv(1 - ALPHA, places - 1)
}

/** This many of `tests` tests may reject a perfect function; more rejections have a probability below 0.2%. */
export function rejectionsMax(tests: number): number {
  let bound = 0
  while (1 - binomial.cdf(bound, tests, ALPHA) > 0.002) bound++
  return bound
}

export function fiveNumbers(values: readonly number[]): FiveNumbers {
  const sorted = [...values].sort((a, b) => a - b)
  return [0, 0.25, 0.5, 0.75, 1].map(share => quantile(sorted, share)) as unknown as FiveNumbers
}

function quantile(sorted: readonly number[], share: number): number {
  const at = share * (sorted.length - 1)
  const below = sorted[Math.floor(at)]!
  return below + (sorted[Math.ceil(at)]! - below) * (at % 1)
}
