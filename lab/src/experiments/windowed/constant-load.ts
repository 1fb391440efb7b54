/**
 * Runs a windowed filter at a constant load into its steady state, and measures it in its fullest moment.
 *
 * One key arrives per millisecond (more at overload). The number of milliseconds in the window is divisible by every count of
 * slices, filters and generations. So just before the end of a window all of them are about to turn, and each filter holds the
 * most keys.
 */
import { FilterError, type WindowedFilter } from '@freshet/bloom'
import type { Random } from '../../harness/random.js'
import { type MeasuredRate, toMeasuredRate } from '../fbf/measured-rate.js'
import { ABSENT, INSERTED, numberedKey } from '../fbf/numbered-key.js'
import type { WindowedContender } from './contenders.js'

/** Enough for a steady state. */
const WINDOWS = 4

export interface ConstantLoad {
  readonly contender: WindowedContender
  readonly falsePositiveRateMax: number
  /** Also the number of keys in a window. Divisible by 2, 7, 9, 12, 14, 77 and 126, as explained above. */
  readonly windowMs: number
  /** Keys per millisecond: 1 is the load that the filter was sized for. */
  readonly loadFactor: number
  readonly filters: number
  readonly probesPerFilter: number
}

export interface LoadOutcome {
  readonly rate: MeasuredRate
  /** By the filter's own estimate. */
  readonly estimatedRate: number
  readonly bytesMax: number
  /** The share of keys that `add` refused. */
  readonly refused: number
  /** Keys younger than the window that were denied. */
  readonly denied: number
}

export function runConstantLoad(load: ConstantLoad, random: Random): LoadOutcome {
  const { contender, falsePositiveRateMax, windowMs, filters, probesPerFilter } = load
  // One key more, and the oldest slice or generation would go.
  const endMs = WINDOWS * windowMs - 2
  const positives: number[] = []
  let [estimatedRate, bytesMax, refused, denied] = [0, 0, 0, 0]
  for (let i = 0; i < filters; i++) {
    const seed = BigInt(random.uint32())
    const filter = contender.create({ windowMs, entriesMax: windowMs, falsePositiveRateMax, seed })
    const filled = fill(filter, endMs, load.loadFactor)
    positives.push(countPositives(filter, endMs, probesPerFilter))
    estimatedRate += filter.estimatedRate() / filters
    bytesMax = Math.max(bytesMax, filled.bytesMax)
    refused += filled.refused / filters
    denied += filled.denied
  }
  const rate = toMeasuredRate(positives, probesPerFilter, estimatedRate)
  return { rate, estimatedRate, bytesMax, refused, denied }
}

function fill(
  filter: WindowedFilter,
  endMs: number,
  loadFactor: number,
): { bytesMax: number; refused: number; denied: number } {
  const keys = Math.ceil((endMs + 1) * loadFactor)
  const taken = new Uint8Array(keys)
  let bytesMax = 0
  let refused = 0
  for (let i = 0; i < keys; i++) {
    if (tryAdd(filter, i, Math.floor(i / loadFactor))) taken[i] = 1
    else refused++
    if (i % 64 === 0) bytesMax = Math.max(bytesMax, filter.sizeBytes())
  }
  let denied = 0
  for (let i = Math.ceil((endMs - filter.windowMs + 1) * loadFactor); i < keys; i++) {
    if (taken[i] && !filter.has(numberedKey(INSERTED, i), endMs)) denied++
  }
  return { bytesMax, refused: refused / keys, denied }
}

function tryAdd(filter: WindowedFilter, key: number, nowMs: number): boolean {
  try {
    filter.add(numberedKey(INSERTED, key), nowMs)
    return true
  } catch (error) {
    if (error instanceof FilterError && error.code === 'FILTER_FULL') return false
    throw error
  }
}

function countPositives(filter: WindowedFilter, nowMs: number, probes: number): number {
  let positives = 0
  for (let i = 0; i < probes; i++) if (filter.has(numberedKey(ABSENT, i), nowMs)) positives++
  return positives
}
