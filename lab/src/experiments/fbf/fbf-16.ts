/**
 * A counter guarded by a forgetful filter (3 filters of 500 bits) and a counter guarded by a recyclable filter (one of 1500
 * bits), with k = 3, while a growing share of the increments is retried.
 *
 * The recyclable filter forgets everything each time it is emptied, and every retry that comes after that is counted
 * again: its error grows with the retries. The forgetful filter errs only by false positives, which retries do not cause.
 * The paper gives neither rates nor target. Ours make the small filters err about 1% of the time (20 operations per refresh
 * period), which is also the target at which the recyclable filter is emptied.
 *
 * Two real servers whose memory of operations is such a filter then get the same load, in real time, twenty times as fast.
 */
import { createForgetfulBloom, createRecyclableBloom } from '@freshet/bloom'
import type { LinesChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { arrivals, countWithRetries, type Miscount, type RetryFilter } from './retried-counter.js'
import { countServed, type ServedCount, startCompactServer } from './served-counter.js'

const HASHES = 3
const FORGETFUL_BITS = 500
const RECYCLABLE_BITS = 3 * FORGETFUL_BITS
const REFRESH_MS = 5000
/** (N + 1) t with N = 1. */
const WINDOW_MS = 2 * REFRESH_MS
const PER_SECOND = 4
const TARGET_RATE = 0.01
const RETRY_SHARES = [0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]

/** For the real servers. */
const SERVED_REFRESH_MS = 250
const SERVED_WINDOW_MS = 2 * SERVED_REFRESH_MS
const SERVED_PER_SECOND = (PER_SECOND * REFRESH_MS) / SERVED_REFRESH_MS
const SERVED = {
  full: { shares: [0, 0.1, 0.2, 0.4, 0.6], operations: 2000 },
  quick: { shares: [0.1, 0.6], operations: 400 },
}

interface ServedPoint {
  readonly retryShare: number
  readonly forgetful: ServedCount
  readonly recyclable: ServedCount
}

interface Point {
  readonly retryShare: number
  readonly forgetful: Miscount
  readonly recyclable: Miscount
}

export const fbf16: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 16',
  run: async context => toResult(measureAll(context), await measureServed(context)),
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

async function measureServed({ quick, random, progress }: ExperimentContext): Promise<ServedPoint[]> {
  const { shares, operations } = SERVED[quick ? 'quick' : 'full']
  // The server must never refuse because of its rate here: the paper's would not.
  const memory = { retentionMs: SERVED_WINDOW_MS, falsePositiveRateMax: 1 }
  const forgetful = { bits: FORGETFUL_BITS, pastFilters: 1, refreshMs: SERVED_REFRESH_MS, hashes: HASHES }
  const recyclable = { bits: RECYCLABLE_BITS, falsePositiveRateMax: TARGET_RATE, hashes: HASHES }
  const servers = [
    await startCompactServer({ ...memory, forgetful }),
    await startCompactServer({ ...memory, recyclable }),
  ] as const
  const points: ServedPoint[] = []
  try {
    for (const [i, retryShare] of shares.entries()) {
      progress(i, shares.length, `${formatPercent(retryShare)} retried, real servers`)
      // Retries come early enough to arrive before the window ends.
      const load = { operations, perSecond: SERVED_PER_SECOND, retryShare, windowMs: 0.7 * SERVED_WINDOW_MS }
      const all = arrivals(load, random.fork(`served ${retryShare}`))
      const name = `c${i}`
      const [ours, theirs] = await Promise.all(servers.map(({ url }) => countServed(url, name, all, SERVED_WINDOW_MS)))
      points.push({ retryShare, forgetful: ours!, recyclable: theirs! })
    }
    return points
  } finally {
    await Promise.all(servers.map(server => server.stop()))
  }
}

/** The counter's error as a share of the correct value. Over- and under-counts cancel, as they do in a real counter. */
function errorShare({ operations, overCount, underCount }: Miscount): number {
  return Math.abs(overCount - underCount) / operations
}

function toResult(points: readonly Point[], served: readonly ServedPoint[]): ExperimentResult {
  const last = points.at(-1)!
  const lastServed = served.at(-1)!
  return {
    summary: {
      retryShareMax: last.retryShare,
      forgetfulError: errorShare(last.forgetful),
      recyclableError: errorShare(last.recyclable),
      servedForgetfulError: errorShare(lastServed.forgetful),
      servedRecyclableError: errorShare(lastServed.recyclable),
    },
    points: [...points, ...served.map(point => ({ ...point, isServed: true }))],
    tables: [
      errorsTable(
        points,
        "Error of the counter, and its parts (the paper: RBF's grows exponentially, FBF's is steady)",
      ),
      errorsTable(served, `The same for real servers with such filters, ${SERVED_PER_SECOND} additions a second`),
    ],
    plots: [{ name: 'error-by-retries', chart: toChart(points) }],
    verdicts: [recyclableGrows(points), forgetfulSteady(points), neverCountsTwice(points), servedAlike(served)],
  }
}

function errorsTable(points: readonly Point[], title: string): Table {
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
    title,
    columns: ['retried', 'forgetful', 'twice', 'never', 'recyclable', 'twice', 'never'],
    rows,
  }
}

function toChart(points: readonly Point[]): LinesChart {
  const drawn = points.filter(point => point.retryShare > 0)
  return {
    kind: 'lines',
    title: 'Error of a counter by share of retries',
    subtitle: 'forgetful filter of 3 x 500 bits and recyclable filter of 1500 bits, k = 3',
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
    claim: "the recyclable filter's error grows with the retries and exceeds the forgetful filter's",
    holds:
      errors.every((error, i) => i === 0 || error > errors[i - 1]!) && errors.at(-1)! > 3 * errorShare(last.forgetful),
    detail: `from ${formatPercent(errors[0]!)} at 5% retried to ${formatPercent(errors.at(-1)!)} at 60%`,
  }
}

/** It even falls a little: a retry gives a wrongly dismissed increment a second chance. */
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
    claim: 'behind the forgetful filter, no retry is ever counted again',
    holds: twice === 0,
    detail: `${twice} of ${points.reduce((sum, point) => sum + point.forgetful.operations, 0)} operations counted twice`,
  }
}

function servedAlike(served: readonly ServedPoint[]): Verdict {
  const last = served.at(-1)!
  const twice = served.reduce((sum, { forgetful }) => sum + forgetful.twiceInTime, 0)
  const isTrue = served.every(point =>
    [point.forgetful, point.recyclable].every(
      ({ operations, overCount, underCount, value }) => value === operations + overCount - underCount,
    ),
  )
  return {
    claim: 'a real server counts no retry again with the forgetful filter, but does with the recyclable filter',
    holds: twice === 0 && isTrue && last.recyclable.overCount > 0,
    detail:
      `${twice} and ${last.recyclable.overCount} of ${last.forgetful.operations} counted twice at ` +
      `${formatPercent(last.retryShare)} retried; errors ${formatPercent(errorShare(last.forgetful))} and ` +
      `${formatPercent(errorShare(last.recyclable))}`,
  }
}
