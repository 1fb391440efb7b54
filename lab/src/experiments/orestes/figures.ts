/** Sums, means and standard deviations, as in the thesis's tables and plots. */
import type { FiveNumbers } from '../../harness/chart.js'

export function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

export function meanOf(values: readonly number[]): number {
  return sumOf(values) / values.length
}

export function deviationOf(values: readonly number[]): number {
  const mean = meanOf(values)
  return Math.sqrt(meanOf(values.map(value => (value - mean) ** 2)))
}

export function fiveNumbersOf(values: readonly number[]): FiveNumbers {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!
  return [at(0), at(0.25), at(0.5), at(0.75), at(1)]
}

export function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}
