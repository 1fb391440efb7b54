/**
 * The basic forgetful filter (one past filter) of figures 8 to 10, filled as we read the paper. The paper only says that all
 * elements are inserted, and that absent ones are looked up afterwards.
 *
 * We insert n elements evenly over two refresh periods and look up just before the second refresh, so that future and past
 * hold n/2 and present holds n. This reading reproduces the paper's own figure: the optimised check errs 90% less than the
 * simple one at 300 elements. If all elements had come within one period, past would be empty.
 */
import { createForgetfulBloom, expectedRate, type FilterSize, type ForgetfulBloom } from '@freshet/bloom'
import type { Random } from '../../harness/random.js'
import { type MeasuredRate, toMeasuredRate } from './measured-rate.js'
import { ABSENT, INSERTED, numberedKey } from './numbered-key.js'

/** t */
const REFRESH_MS = 5000
/** The number of lookups per filter in the paper. */
const PROBES_PER_FILTER = 200_000
const ASKED_AT_MS = 2 * REFRESH_MS - 1

export interface BasicSettings {
  readonly size: FilterSize
  readonly elements: number
  readonly check: 'simple' | 'optimised'
  /** Filters with different seeds. The rates are averages over them. */
  readonly filters: number
  readonly sharedHashes?: boolean
}

export interface BasicRate {
  readonly elements: number
  readonly bits: number
  readonly measured: MeasuredRate
  /** For the optimised check, the filter's own estimate: equation 2, from the numbers of keys it holds. */
  readonly calculated: number
}

export function measureBasicFilter(settings: BasicSettings, random: Random): BasicRate {
  const { size, elements, check, filters, sharedHashes = false } = settings
  const positives: number[] = []
  let estimated = 0
  for (let i = 0; i < filters; i++) {
    const seed = BigInt(random.uint32())
    const filter = createForgetfulBloom({ ...size, pastFilters: 1, refreshMs: REFRESH_MS, seed, sharedHashes })
    fill(filter, elements)
    positives.push(check === 'simple' ? countSimple(filter) : countOptimised(filter))
    estimated += filter.estimatedRate() / filters
  }
  const calculated = check === 'simple' ? simpleRate(size, elements) : estimated
  return { elements, bits: size.bits, calculated, measured: toMeasuredRate(positives, PROBES_PER_FILTER, calculated) }
}

function fill(filter: ForgetfulBloom, elements: number): void {
  filter.advance(0)
  for (let i = 0; i < elements; i++) filter.insert(numberedKey(INSERTED, i), (i / elements) * 2 * REFRESH_MS)
}

function countSimple(filter: ForgetfulBloom): number {
  let positives = 0
  for (let i = 0; i < PROBES_PER_FILTER; i++) if (filter.hasSimple(numberedKey(ABSENT, i), ASKED_AT_MS)) positives++
  return positives
}

function countOptimised(filter: ForgetfulBloom): number {
  let positives = 0
  for (let i = 0; i < PROBES_PER_FILTER; i++) if (filter.has(numberedKey(ABSENT, i), ASKED_AT_MS)) positives++
  return positives
}

/** The simple check errs when any of the three filters does. */
function simpleRate(size: FilterSize, elements: number): number {
  const half = expectedRate(size, elements / 2)
  return 1 - (1 - half) ** 2 * (1 - expectedRate(size, elements))
}
