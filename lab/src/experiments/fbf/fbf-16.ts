/**
 * A counter guarded by a forgetful filter (3 filters of 500 bits) and one guarded by a recyclable filter (one of 1500
 * bits), k = 3, while a growing share of the increments is retried.
 *
 * The recyclable filter forgets everything each time it is emptied, and every retry that comes after that is counted
 * again: its error grows with the retries. The forgetful one only errs by false positives, which retries do not
 * cause. The paper gives neither rates nor target: ours are such that the small filters err about 1% of the time
 * (20 operations per refresh period), which is also the target at which the recyclable one is emptied.
 */
import { createForgetfulBloom, createRecyclableBloom } from '@freshet/bloom'
import type { LinesChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { countWithRetries, type Miscount, type RetryFilter } from './retried-counter.js'

const HASHES = 3
const FORGETFUL_BITS = 500
const RECYCLABLE_BITS = 3 * FORGETFUL_BITS
const REFRESH_MS = 5000
/** (N + 1) t with N = 1. */
const WINDOW_MS = 2 * REFRESH_MS
const PER_SECOND = 4
const TARGET_RATE = 0.01
const RETRY_SHARES = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]

interface Point {
  readonly retryShare: number
  readonly forgetful: Miscount
  readonly recyclable: Miscount
}

export const fbf16: Experiment = {
  name: 'fbf-16',
  title: 'Counters with retries: a forgetful filter against a recyclable one of the same size',
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 16',
  run: async context => toResult(measureAll(context)),
}

function measureAll({ quick, random, progress }: ExperimentContext): Point[] {
  return RETRY_SHARES.map((retryShare, i) => {
    progress(i, RETRY_SHARES.length, `${formatPercent(retryShare)} retried`)
    const load = { operations: quick ? 50_000 : 1_000_000, perSecond: PER_SECOND, retryShare, windowMs: WINDOW_MS }
    // Both counters get the same operations and retries.
    const retries = `retries ${retryShare}`
    return {
      retryShare,
      forgetful: countWithRetries(forgetfulFilter(BigInt(random.uint32())), load, random.fork(retries)),
      recyclable: countWithRetries(recyclableFilter(BigInt(random.uint32())), load, random.fork(retries)),
    }
  })
}

function forgetfulFilter(seed: bigint): RetryFilter {
  return createForgetfulBloom({ bits: FORGETFUL_BITS, hashes: HASHES, pastFilters: 1, refreshMs: REFRESH_MS, seed })
}

function recyclableFilter(seed: bigint): RetryFilter {
  return createRecyclableBloom({ bits: RECYCLABLE_BITS, hashes: HASHES, falsePositiveRateMax: TARGET_RATE, seed })
}

/** The counter's error as a share of what it should be. Over- and under-counts cancel, as they do in a real counter. */
function errorShare({ operations, overCount, underCount }: Miscount): number {
  return Math.abs(overCount - underCount) / operations
}

function toResult(points: readonly Point[]): ExperimentResult {
  const last = points.at(-1)!
  return {
    summary: {
      retryShareMax: last.retryShare,
      forgetfulError: errorShare(last.forgetful),
      recyclableError: errorShare(last.recyclable),
    },
    points,
    tables: [errorsTable(points)],
    plots: [{ name: 'error-by-retries', chart: toChart(points) }],
    verdicts: [recyclableGrows(points), forgetfulSteady(points), neverCountsTwice(points)],
  }
}

function errorsTable(points: readonly Point[]): Table {
  const share = (count: number, { operations }: Miscount) => formatPercent(count / operations)
  const rows = points.map(({ retryShare, forgetful, recyclable }) => [
    formatPercent(retryShare),
    formatPercent(errorShare(forgetful)),
    share(forgetful.overCount, forgetful),
    share(forgetful.underCount, forgetful),
    formatPercent(errorShare(recyclable)),
    share(recyclable.overCount, recyclable),
    share(recyclable.underCount, recyclable),
  ])
  return {
    title: "Error of the counter, and what it consists of (the paper: RBF's grows exponentially, FBF's is steady)",
    columns: ['retried', 'forgetful', 'twice', 'never', 'recyclable', 'twice', 'never'],
    rows,
  }
}

function toChart(points: readonly Point[]): LinesChart {
  const drawn = points.filter(point => point.retryShare > 0)
  return {
    kind: 'lines',
    title: 'Error of a counter by share of retries',
    subtitle: 'forgetful filter of 3 x 500 bits against a recyclable one of 1500 bits, k = 3',
    x: { name: 'increments retried', percent: true, min: 0 },
    y: { name: 'error of the counter', scale: 'log', percent: true },
    series: [
      {
        name: 'forgetful',
        style: 'marked',
        points: drawn.map(point => [point.retryShare, errorShare(point.forgetful)]),
      },
      { name: 'recyclable', style: 'marked', points: drawn.map(p => [p.retryShare, errorShare(p.recyclable)]) },
    ],
  }
}

function recyclableGrows(points: readonly Point[]): Verdict {
  const errors = points.slice(1).map(point => errorShare(point.recyclable))
  const last = points.at(-1)!
  return {
    claim: "the recyclable filter's error grows with the retries and passes the forgetful one's",
    holds:
      errors.every((error, i) => i === 0 || error > errors[i - 1]!) && errors.at(-1)! > 3 * errorShare(last.forgetful),
    detail: `from ${formatPercent(errors[0]!)} at 5% retried to ${formatPercent(errors.at(-1)!)} at 60%`,
  }
}

/** It even falls a little: a retry gives an increment that was wrongly dismissed a second chance. */
function forgetfulSteady(points: readonly Point[]): Verdict {
  const errors = points.map(point => errorShare(point.forgetful))
  const [least, most] = [Math.min(...errors), Math.max(...errors)]
  return {
    claim: "the forgetful filter's error stays low and does not grow",
    holds: most <= 1.2 * errors[0]! && most < 2.5 * least,
    detail: `${formatPercent(errors[0]!)} without retries, between ${formatPercent(least)} and ${formatPercent(most)} with them`,
  }
}

function neverCountsTwice(points: readonly Point[]): Verdict {
  const twice = points.reduce((sum, point) => sum + point.forgetful.overCount, 0)
  return {
    claim: 'behind the forgetful filter no retry is ever counted again',
    holds: twice === 0,
    detail: `${twice} of ${points.reduce((sum, point) => sum + point.forgetful.operations, 0)} operations counted twice`,
  }
}
