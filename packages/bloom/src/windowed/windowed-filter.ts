/**
 * A set that forgets: every key is remembered for at least `windowMs`, then forgotten without an explicit removal.
 *
 * All kinds keep these promises, and one suite tests them all:
 * - No false negative: `has` is true for every key added less than `windowMs` ago, whatever else happened.
 * - Time only comes in as an argument. It need not be a wall clock; a `nowMs` below one already seen counts as that one,
 *   so that a clock that jumps back forgets nothing early.
 * - Memory is bounded. Where a bound would be broken, `add` throws FILTER_FULL and changes nothing.
 */
import type { Key } from '../hashing/key-hash.js'
import { createRotatingBloom, type RotatingBloomOptions } from './rotating-bloom.js'

export interface WindowedFilter {
  readonly windowMs: number
  /** Remembers `key` until at least `nowMs + windowMs`. */
  add(key: Key, nowMs: number): void
  has(key: Key, nowMs: number): boolean
  /** The current false-positive rate. */
  estimatedRate(): number
  /** Current memory of bits, counters or fingerprints. */
  sizeBytes(): number
}

export type WindowedFilterOptions = Pick<
  RotatingBloomOptions,
  'windowMs' | 'entriesMax' | 'falsePositiveRateMax' | 'seed'
>

/** The kind that did best in the comparison, docs/decisions/0003-windowed-filter.md: the rotating one. */
export function createWindowedFilter(options: WindowedFilterOptions): WindowedFilter {
  return createRotatingBloom(options)
}
