/**
 * Lifetimes learnt per key against one fixed lifetime for all, from a second to a day.
 *
 * What a lifetime trades: one that ends early is asked about in vain; one that lasts beyond the next write leaves plain
 * readers (curl, other languages) with an outdated copy, and makes the sketch hold that write for long. A hit counts only
 * if it is current, so the axes are hits against requests in vain.
 *
 * What is not claimed: that the sketch gets smaller. It has one window, made for the longest lifetime that may be handed
 * out, so it is that of a fixed lifetime as long as the upper bound. How few keys it would have to hold, were each kept for
 * as long as its own copies live, is in the table ("at risk").
 */
import type { Line, LinesChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { type Policy, type PolicyOutcome, runPolicy } from './run-policy.js'
import { createWorkload, DAY } from './workload.js'

const SECOND = 1000
const FIXED_S = [1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600]
/** Around the defaults, which come in the middle: shares of the interval, and of the age where there is none. */
const SHARES = [{ share: 0.02, shareOfAge: 0.05 }, { share: 0.1, shareOfAge: 0.2 }, {}, { share: 0.5, shareOfAge: 1 }]

interface Point {
  readonly name: string
  readonly policy: Policy
  readonly outcome: PolicyOutcome
  /** Shares of all reads. */
  readonly hits: number
  readonly inVain: number
  /** Of the plain reads; of those in sessions. */
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
    ...['lifetimes', 'current hits', 'in sessions', 'in vain', 'stale (plain)', 'stale (sessions)'],
    ...['sketch changes', 'sketch bytes', 'keys at risk'],
  ]
  const rows = points.map(({ name, hits, sessionHits, inVain, stale, outcome }) => [
    ...[name, ...[hits, sessionHits, inVain, stale].map(formatPercent), outcome.staleForSessions],
    ...[outcome.sketchChanges, outcome.sketchBytes, outcome.keysAtRisk].map(Math.round),
  ])
  return { title: 'Reads of the second day, half of them in sessions', columns, rows }
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
    title: 'Current answers from the cache, by requests in vain',
    subtitle: 'up and to the left is better',
    x: { name: 'share of reads that reach the server for what the cache has already', scale: 'log', percent: true },
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
    title: 'Current answers from the cache, by the size of the sketch',
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
  // A fixed lifetime with as few outdated copies.
  const fresh = fixed.filter(({ stale }) => stale <= learnt.stale).at(-1)!
  const bad = points.reduce((sum, { outcome }) => sum + outcome.staleForSessions, 0)
  return [
    {
      claim: 'at equal requests in vain, learnt lifetimes give more current hits than a fixed one',
      holds: learnt.hits > equal,
      detail: `${formatPercent(learnt.hits)} against ${formatPercent(equal)}, at ${formatPercent(learnt.inVain)} in vain`,
    },
    {
      claim: 'and at least as many as the best fixed one at any number of them, with far fewer outdated copies',
      holds: learnt.hits >= best.hits && learnt.stale < best.stale / 3,
      detail: `${best.name}: ${formatPercent(best.hits)}, ${formatPercent(best.stale)} of plain reads outdated; learnt: ${formatPercent(learnt.hits)}, ${formatPercent(learnt.stale)}`,
    },
    {
      claim: 'a fixed lifetime with as few outdated copies has far fewer hits',
      holds: fresh.hits < learnt.hits - 0.1,
      detail: `${fresh.name}: ${formatPercent(fresh.hits)}, ${formatPercent(fresh.stale)} outdated`,
    },
    {
      claim: 'sessions lose next to nothing against the longest lifetime for all',
      holds: learnt.sessionHits > longest.sessionHits - 0.015,
      detail: `${formatPercent(learnt.sessionHits)} of their reads are hits, against ${formatPercent(longest.sessionHits)}`,
    },
    {
      claim: 'no session is served an outdated copy, whatever the lifetimes',
      holds: bad === 0,
      detail: `${bad} of ${points.reduce((sum, { outcome }) => sum + outcome.sessionReads, 0)} reads`,
    },
  ]
}

/** On the curve of the fixed lifetimes, straight between two of them; beyond its ends, the nearer end. */
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
