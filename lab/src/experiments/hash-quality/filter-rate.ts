/** The rate of our filter in normal use, through `createBloom`, compared with the formula. */
import { createBloom, expectedRate } from '@freshet/bloom'
import { productKeys } from '../../harness/keys.js'
import type { Random } from '../../harness/random.js'

export interface RateCheck {
  readonly target: number
  readonly entries: number
  readonly probes: number
  readonly expected: number
  readonly measured: number
  /** The allowed distance from `expected`, as a share of it. */
  readonly toleranceShare: number
}

const TOLERANCE_SHARE = 0.05
const FULL = [
  { target: 0.01, entries: 1_000_000, probes: 2_000_000 },
  { target: 0.001, entries: 1_000_000, probes: 4_000_000 },
]
const QUICK = [
  { target: 0.01, entries: 100_000, probes: 200_000 },
  { target: 0.001, entries: 100_000, probes: 400_000 },
]

export function checkRates(quick: boolean, random: Random): RateCheck[] {
  return (quick ? QUICK : FULL).map(({ target, entries, probes }) => {
    const bloom = createBloom({ entriesMax: entries, falsePositiveRateMax: target })
    const nextKey = productKeys(random.fork(`rate/${target}`))
    for (let i = 0; i < entries; i++) bloom.add(nextKey())
    let positives = 0
    for (let i = 0; i < probes; i++) if (bloom.has(nextKey())) positives++
    const expected = expectedRate(bloom, entries)
    // With few probes, chance alone can exceed the tolerance, so three standard errors are added.
    const chance = quick ? 3 / Math.sqrt(expected * probes) : 0
    return { target, entries, probes, expected, measured: positives / probes, toleranceShare: TOLERANCE_SHARE + chance }
  })
}
