/**
 * Lifetimes learnt per key, compared with one fixed lifetime for all keys, from a second to a day.
 *
 * The trade-off of a lifetime: one that ends early causes wasted requests. One that outlasts the next write leaves plain
 * readers (curl, other languages) with an outdated copy, and makes the sketch hold that write for long. A hit counts only
 * if it is current, so the axes are hits and wasted requests.
 *
 * Not claimed: that the sketch gets smaller. It has one window, sized for the longest lifetime that the server may grant, so
 * it is as large as with a fixed lifetime equal to the upper bound. The table shows ("at risk") how few keys it would have
 * to hold if each were kept only as long as its own copies live.
 */
import type { Line, LinesChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { type Policy, type PolicyOutcome, runPolicy } from './run-policy.js'
import { createWorkload, DAY } from './workload.js'

const SECOND = 1000
const FIXED_S = [1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600]
/** Around the defaults, which are in the middle: shares of the interval, or of the age where no interval is known. */
const SHARES = [{ share: 0.02, shareOfAge: 0.05 }, { share: 0.1, shareOfAge: 0.2 }, {}, { share: 0.5, shareOfAge: 1 }]

interface Point {
  readonly name: string
  readonly policy: Policy
  readonly outcome: PolicyOutcome
  /** Shares of all reads. */
  readonly hits: number
  readonly inVain: number
  /** The share among plain reads, and among session reads. */
  readonly stale: number
  readonly sessionHits: number
}

export const lifetimes: Experiment = {
  source: 'Gessert and Bücklers 2012, future work; Quaestor (VLDB 2017) for the idea',
  run: async context => toResult(measureAll(context)),
}

function measureAll({ quick, random, progress }: ExperimentContext): Point[] {
  const workload = createWorkload(
    quick ? { keys: 600, readsPerSecond: 0.6 } : { keys: 2000, readsPerSecond: 2 },
    random,
  )
  const policies = [
    ...FIXED_S.map(lifetimeS => ({ kind: 'fixed', lifetimeMs: lifetimeS * SECOND }) as const),
    ...SHARES.map(shares => ({ kind: 'learnt', minMs: SECOND, maxMs: DAY, ...shares }) as const),
  ]
  return policies.map((policy, i) => {
    progress(i, policies.length, nameOf(policy))
    return toPoint(policy, runPolicy(workload, policy))
  })
}

function toPoint(policy: Policy, outcome: PolicyOutcome): Point {
  const { reads, sessionReads, hits, sessionHits, stale, inVain } = outcome
  return {
    name: nameOf(policy),
    policy,
    outcome,
    hits: hits / reads,
    inVain: inVain / reads,
    stale: stale / (reads - sessionReads),
    sessionHits: sessionHits / sessionReads,
  }
}

function nameOf(policy: Policy): string {
  if (policy.kind === 'fixed') return `fixed ${formatSeconds(policy.lifetimeMs / SECOND)}`
  const { share, shareOfAge } = policy
  return share === undefined ? 'learnt, default' : `learnt, shares ${share} and ${shareOfAge}`
}

function formatSeconds(seconds: number): string {
  if (seconds >= 24 * 3600) return `${seconds / (24 * 3600)} d`
  if (seconds >= 3600) return `${seconds / 3600} h`
  return seconds >= 60 ? `${seconds / 60} min` : `${seconds} s`
}

function toResult(points: readonly Point[]): ExperimentResult {
  const learnt = points.find(isDefault)!
  return {
    summary: { hits: learnt.hits, inVain: learnt.inVain, stale: learnt.stale, sessionHits: learnt.sessionHits },
    points: points.map(({ policy, outcome }) => ({ ...policy, ...outcome })),
    tables: [tableOf(points)],
    plots: CHARTS.map(({ file, place, ...chart }) => {
      return { name: file, chart: { kind: 'lines', ...chart, series: curves(points, place) } }
    }),
    verdicts: verdictsOf(points, learnt),
  }
}

function tableOf(points: readonly Point[]): Table {
  const columns = [
    ...['lifetimes', 'current hits', 'in sessions', 'wasted requests', 'stale (plain)', 'stale (sessions)'],
    ...['sketch changes', 'sketch bytes', 'keys at risk'],
  ]
  const rows = points.map(({ name, hits, sessionHits, inVain, stale, outcome }) => [
    ...[name, ...[hits, sessionHits, inVain, stale].map(formatPercent), outcome.staleForSessions],
    ...[outcome.sketchChanges, outcome.sketchBytes, outcome.keysAtRisk].map(Math.round),
  ])
  return { title: 'Reads on the second day, half of them in sessions', columns, rows }
}

function curves(points: readonly Point[], place: (point: Point) => readonly [number, number]): Line[] {
  return (['fixed', 'learnt'] as const).map(kind => ({
    name: kind === 'fixed' ? 'fixed, 1 s to 1 d' : 'learnt, 1 s to 1 d, four settings',
    style: 'marked',
    points: points.filter(({ policy }) => policy.kind === kind).map(place),
  }))
}

const HITS_AXIS = { name: 'share of reads that are current hits', percent: true, min: 0, max: 1 }
const CHARTS: readonly (Omit<LinesChart, 'kind' | 'series'> & {
  readonly file: string
  readonly place: (point: Point) => readonly [number, number]
})[] = [
  {
    file: 'hits-by-requests-in-vain',
    title: 'Current answers from the cache, by wasted requests',
    subtitle: 'up and to the left is better',
    x: { name: 'share of reads that reach the server for what the cache already has', scale: 'log', percent: true },
    y: HITS_AXIS,
    place: ({ inVain, hits }) => [inVain, hits],
  },
  {
    file: 'stale-by-hits',
    title: 'Outdated answers to readers without a sketch, by hits',
    subtitle: 'down and to the right is better',
    x: HITS_AXIS,
    y: { name: 'share of plain reads that are outdated', percent: true, min: 0 },
    place: ({ hits, stale }) => [hits, stale],
  },
  {
    file: 'hits-by-sketch',
    title: 'Current answers from the cache, by size of the sketch',
    subtitle: 'learnt lifetimes have the sketch of their upper bound',
    x: { name: 'bytes of filters that a new session fetches', scale: 'log' },
    y: HITS_AXIS,
    place: ({ outcome, hits }) => [outcome.sketchBytes, hits],
  },
]

function verdictsOf(points: readonly Point[], learnt: Point): Verdict[] {
  const fixed = points.filter(({ policy }) => policy.kind === 'fixed')
  const equal = hitsAt(fixed, learnt.inVain)
  const best = fixed.reduce((a, b) => (b.hits > a.hits ? b : a))
  const longest = fixed.at(-1)!
  // The longest fixed lifetime with no more outdated copies than the learnt ones.
  const fresh = fixed.filter(({ stale }) => stale <= learnt.stale).at(-1)!
  const bad = points.reduce((sum, { outcome }) => sum + outcome.staleForSessions, 0)
  return [
    {
      claim: 'with equally many wasted requests, learnt lifetimes give more current hits than a fixed lifetime',
      holds: learnt.hits > equal,
      detail: `${formatPercent(learnt.hits)} and ${formatPercent(equal)}, at ${formatPercent(learnt.inVain)} wasted requests`,
    },
    {
      claim: 'learnt lifetimes give at least as many hits as the best fixed one, with far fewer outdated copies',
      holds: learnt.hits >= best.hits && learnt.stale < best.stale / 3,
      detail: `${best.name}: ${formatPercent(best.hits)}, ${formatPercent(best.stale)} of plain reads outdated; learnt: ${formatPercent(learnt.hits)}, ${formatPercent(learnt.stale)}`,
    },
    {
      claim: 'a fixed lifetime with as few outdated copies has far fewer hits',
      holds: fresh.hits < learnt.hits - 0.1,
      detail: `${fresh.name}: ${formatPercent(fresh.hits)}, ${formatPercent(fresh.stale)} outdated`,
    },
    {
      claim: 'sessions lose almost nothing compared with the longest lifetime for all keys',
      holds: learnt.sessionHits > longest.sessionHits - 0.015,
      detail: `${formatPercent(learnt.sessionHits)} of their reads are hits, compared with ${formatPercent(longest.sessionHits)}`,
    },
    {
      claim: 'no session is served an outdated copy, whatever the lifetimes',
      holds: bad === 0,
      detail: `${bad} of ${points.reduce((sum, { outcome }) => sum + outcome.sessionReads, 0)} reads`,
    },
  ]
}

/** Interpolates linearly on the curve of the fixed lifetimes; beyond its ends, returns the nearer end. */
function hitsAt(fixed: readonly Point[], inVain: number): number {
  const sorted = [...fixed].sort((a, b) => a.inVain - b.inVain)
  const after = sorted.findIndex(point => point.inVain >= inVain)
  if (after === 0) return sorted[0]!.hits
  if (after === -1) return sorted.at(-1)!.hits
  const [low, high] = [sorted[after - 1]!, sorted[after]!]
  return low.hits + ((inVain - low.inVain) / (high.inVain - low.inVain)) * (high.hits - low.hits)
}

function isDefault({ policy }: Point): boolean {
  return policy.kind === 'learnt' && policy.share === undefined
}
