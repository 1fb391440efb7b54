/**
 * The paper's theory and measurement: how many replicas a read fetches (theorem 1: fewer than 1/p_t), how many are current after
 * a while (appendix A: e^(-p_lf t)), and how often an indirect initialisation finds the last timestamp (section 4.2.2:
 * 1 - (1 - p_t)^|H_r|).
 *
 * Items are written once and read later. Replicas on peers that leave are lost, as the appendix assumes. A peer that hands its
 * replicas to a joining peer keeps them, and still has them when that peer is gone. So slightly more replicas are current than in
 * theory, where a replica never comes back.
 */

import { type Algorithm, type ChurnSettings, PAPER, type QueryResult, runChurn } from '../../dht-simulator/churn-run.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'

const REPLICAS = 10
const FUNCTIONS = { quick: [1, 3], full: [1, 2, 3, 5] }
const AGES = 6
/** Bins with fewer queries are too small to use. */
const QUERIES_MIN = 8

interface SharePoint {
  readonly currentShare: number
  readonly queries: number
  readonly replicas: number
  /** The standard error of the mean. */
  readonly standardError: number
  readonly bound: number
  /** Drawing without replacement, which is what reading replicas in turn is: (n + 1) / (k + 1). */
  readonly exact: number
}

interface AgePoint {
  readonly ageMs: number
  readonly queries: number
  readonly measured: number
  readonly theory: number
}

interface SuccessPoint {
  readonly functions: number
  readonly initialised: number
  readonly measured: number
  readonly theory: number
  readonly standardError: number
}

export const ktsExpected: Experiment = {
  source: 'Akbarinia, Pacitti, Valduriez 2007, sections 3.3 and 4.2.2, appendix A',
  run: async context => {
    const fetched = measure(context, REPLICAS, 'direct', 0)
    const successes = functionsOf(context).map((functions, i) => successAt(context, functions, i + 1))
    return toResult(sharesOf(fetched), agesOf(fetched, settingsOf(context)), successes)
  },
}

function settingsOf({ quick, seed }: ExperimentContext): ChurnSettings {
  const size = quick ? { peers: 250, departuresPerSecond: 0.125, items: 300 } : { peers: 2000, items: 1500 }
  return { ...PAPER, ...size, seed, updatesPerHour: 0, handsCopiesOnLeave: false }
}

function measure(
  context: ExperimentContext,
  replicas: number,
  algorithm: Algorithm,
  part: number,
): readonly QueryResult[] {
  const settings = { ...settingsOf(context), replicas, algorithms: [algorithm] }
  return runChurn(settings, share =>
    context.progress(part + share, functionsOf(context).length + 1, `${replicas} replicas`),
  ).queries
}

function functionsOf({ quick }: ExperimentContext): readonly number[] {
  return quick ? FUNCTIONS.quick : FUNCTIONS.full
}

function departuresPerMs({ departuresPerSecond, peers }: ChurnSettings): number {
  return departuresPerSecond / peers / 1000
}

function sharesOf(queries: readonly QueryResult[]): SharePoint[] {
  const points: SharePoint[] = []
  for (let current = 1; current <= REPLICAS; current++) {
    const own = queries.filter(({ currentShare }) => Math.round(currentShare * REPLICAS) === current)
    if (own.length < QUERIES_MIN) continue
    const replicas = mean(own.map(query => query.replicas))
    const variance = mean(own.map(query => (query.replicas - replicas) ** 2))
    points.push({
      ...{ currentShare: current / REPLICAS, queries: own.length, replicas },
      ...{ standardError: Math.sqrt(variance / own.length), bound: Math.min(REPLICAS / current, REPLICAS) },
      exact: (REPLICAS + 1) / (current + 1),
    })
  }
  return points
}

function agesOf(queries: readonly QueryResult[], settings: ChurnSettings): AgePoint[] {
  const width = settings.durationMs / AGES
  return Array.from({ length: AGES }, (_, i) => {
    const own = queries.filter(({ ageMs }) => Math.floor(ageMs / width) === i)
    const theory = mean(own.map(({ ageMs }) => Math.exp(-departuresPerMs(settings) * ageMs)))
    const measured = mean(own.map(query => query.currentShare))
    return { ageMs: (i + 0.5) * width, queries: own.length, measured, theory }
  }).filter(({ queries: count }) => count >= QUERIES_MIN)
}

function successAt(context: ExperimentContext, functions: number, part: number): SuccessPoint {
  const settings = settingsOf(context)
  const own = measure(context, functions, 'indirect', part).filter(query => query.wasInitialised)
  const shares = own.map(({ ageMs }) => Math.exp(-departuresPerMs(settings) * ageMs))
  const theory = mean(shares.map(share => 1 - (1 - share) ** functions))
  const measured = mean(own.map(query => Number(query.isCounterRight)))
  const standardError = Math.sqrt((theory * (1 - theory)) / own.length)
  return { functions, initialised: own.length, measured, theory, standardError }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function toResult(
  shares: readonly SharePoint[],
  ages: readonly AgePoint[],
  successes: readonly SuccessPoint[],
): ExperimentResult {
  return {
    summary: { replicasAtMost: Math.max(...shares.map(point => point.replicas * point.currentShare)) },
    points: [...shares, ...ages, ...successes],
    tables: tablesOf(shares, ages, successes),
    plots: [
      {
        name: 'replicas-fetched',
        chart: {
          kind: 'lines',
          title: 'Replicas that a read fetches, by share of current replicas',
          x: { name: 'p_t, share of replicas that are current', min: 0, max: 1 },
          y: { name: 'replicas fetched', min: 0 },
          series: [
            { name: 'fetched', style: 'marks', colour: 0, points: shares.map(p => [p.currentShare, p.replicas]) },
            { name: '1 / p_t', style: 'dashed', colour: 1, points: shares.map(p => [p.currentShare, p.bound]) },
          ],
        },
      },
    ],
    verdicts: [staysBelow(shares), agrees(ages), finds(successes)],
  }
}

function tablesOf(
  shares: readonly SharePoint[],
  ages: readonly AgePoint[],
  successes: readonly SuccessPoint[],
): Table[] {
  return [
    {
      title: 'Replicas fetched by a read (theorem 1)',
      columns: ['p_t', 'fetched', '± 3 sigma', 'bound, 1 / p_t', 'drawn without replacement', 'queries'],
      rows: shares.map(p => [p.currentShare, p.replicas, 3 * p.standardError, p.bound, p.exact, p.queries]),
    },
    {
      title: 'Share of current replicas (appendix A)',
      columns: ['minutes since the update', 'measured p_t', 'e^(-p_lf t)', 'queries'],
      rows: ages.map(p => [p.ageMs / 60_000, p.measured, p.theory, p.queries]),
    },
    {
      title: 'Indirect initialisations that found the last timestamp (section 4.2.2)',
      columns: ['hash functions', 'measured p_s', '1 - (1 - p_t)^|H_r|', '± 3 sigma', 'initialisations'],
      rows: successes.map(p => [p.functions, p.measured, p.theory, 3 * p.standardError, p.initialised]),
    },
  ]
}

function staysBelow(shares: readonly SharePoint[]): Verdict {
  const over = shares.map(p => p.replicas - 3 * p.standardError - p.bound)
  return {
    claim: 'at every p_t, a read fetches no more than 1 / p_t replicas, within chance',
    holds: shares.length > 3 && over.every(excess => excess <= 1e-9),
    detail: `${shares.length} values of p_t; at most ${Math.max(...shares.map(p => p.replicas / p.bound)).toFixed(2)} times the bound`,
  }
}

function agrees(ages: readonly AgePoint[]): Verdict {
  const above = ages.map(p => p.measured - p.theory)
  return {
    claim: 'the share of current replicas is at least e^(-p_lf t)',
    holds: ages.length > 2 && above.every(excess => excess > -0.05),
    detail: `from ${Math.min(...above).toFixed(3)} to ${Math.max(...above).toFixed(3)} above`,
  }
}

function finds(successes: readonly SuccessPoint[]): Verdict {
  return {
    claim: 'an indirect initialisation finds the last timestamp at least as often as 1 - (1 - p_t)^|H_r|',
    holds: successes.every(p => p.measured > p.theory - 3 * p.standardError - 0.02),
    detail: successes.map(p => `${p.functions}: ${p.measured.toFixed(2)} (${p.theory.toFixed(2)})`).join(', '),
  }
}
