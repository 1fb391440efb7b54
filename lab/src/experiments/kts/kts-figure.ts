/**
 * The common part of figures 7 to 12: UMS-Direct, UMS-Indirect and BRK over one ring, one parameter varied, everything else as
 * in table 1. The paper prints no numbers to compare with, only curves, so the verdicts check the shapes of the curves.
 */

import {
  ALGORITHMS,
  type Algorithm,
  type ChurnSettings,
  PAPER,
  type QueryResult,
  runChurn,
} from '../../dht-simulator/churn-run.js'
import type { Line } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'

export type Metric = 'responseMs' | 'messages'

export interface FigurePoint {
  readonly x: number
  readonly algorithm: Algorithm
  readonly queries: number
  readonly responseMs: number
  readonly messages: number
  readonly replicas: number
  /** The share of queries whose answer was reported as current, and the share that returned the last value written. */
  readonly current: number
  readonly latest: number
  /** The share of replicas that were current, the paper's p_t. */
  readonly currentShare: number
}

export interface KtsFigure {
  readonly number: number
  readonly metric: Metric
  /** The parameter that the figure varies. */
  readonly by: string
  readonly axis: { readonly name: string; readonly quick: readonly number[]; readonly full: readonly number[] }
  readonly settingsAt: (x: number) => Partial<ChurnSettings>
  readonly verdicts: (curves: Curves, metric: Metric) => readonly Verdict[]
}

const NAMES: Readonly<Record<Algorithm, string>> = { direct: 'UMS-Direct', indirect: 'UMS-Indirect', brk: 'BRK' }
const METRICS: Readonly<Record<Metric, string>> = { responseMs: 'response time', messages: 'messages' }
const UNITS: Readonly<Record<Metric, string>> = { responseMs: 'response time, s', messages: 'messages' }

/** Few queries hit a missing counter, and those take long: with 150 items, the result would depend on how many do. */
export const ITEMS_FOR_RARE_EVENTS = 600

export function createKtsFigure(figure: KtsFigure): Experiment {
  return {
    source: `Akbarinia, Pacitti, Valduriez 2007, figure ${figure.number}`,
    run: async context => toResult(figure, measure(figure, context)),
  }
}

/** A smaller ring for quick runs; each peer lives as long as in the paper's ring. */
export function settingsOf(
  over: Partial<ChurnSettings>,
  { quick, seed }: Pick<ExperimentContext, 'quick' | 'seed'>,
): ChurnSettings {
  const settings = { ...PAPER, items: 150, seed, ...over }
  if (!quick) return settings
  const peers = over.peers ?? 1000
  return { ...settings, peers, items: 60, departuresPerSecond: peers / PAPER.peers }
}

function measure(figure: KtsFigure, context: ExperimentContext): FigurePoint[] {
  const values = context.quick ? figure.axis.quick : figure.axis.full
  return values.flatMap((x, i) => {
    const settings = settingsOf(figure.settingsAt(x), context)
    const { queries } = runChurn(settings, share =>
      context.progress(i + share, values.length, `${figure.axis.name} ${x}`),
    )
    return ALGORITHMS.map(algorithm => pointOf(x, algorithm, queries))
  })
}

export function pointOf(x: number, algorithm: Algorithm, all: readonly QueryResult[]): FigurePoint {
  const own = all.filter(query => query.algorithm === algorithm)
  const mean = (of: (query: QueryResult) => number) => own.reduce((sum, query) => sum + of(query), 0) / own.length
  return {
    ...{ x, algorithm, queries: own.length },
    responseMs: mean(query => query.responseMs),
    messages: mean(query => query.messages),
    replicas: mean(query => query.replicas),
    current: mean(query => Number(query.isCurrent)),
    latest: mean(query => Number(query.isLatest)),
    currentShare: mean(query => query.currentShare),
  }
}

export class Curves {
  readonly #points: readonly FigurePoint[]
  readonly #metric: Metric
  readonly xs: readonly number[]

  constructor(points: readonly FigurePoint[], metric: Metric) {
    this.#points = points
    this.#metric = metric
    this.xs = [...new Set(points.map(({ x }) => x))]
  }

  at(algorithm: Algorithm, x: number): number {
    return this.#points.find(point => point.algorithm === algorithm && point.x === x)![this.#metric]
  }

  first(algorithm: Algorithm): number {
    return this.at(algorithm, this.xs[0]!)
  }

  last(algorithm: Algorithm): number {
    return this.at(algorithm, this.xs.at(-1)!)
  }

  /** The last value divided by the first. */
  growth(algorithm: Algorithm): number {
    return this.last(algorithm) / this.first(algorithm)
  }

  factorsOverBrk(algorithm: Algorithm): number[] {
    return this.xs.map(x => this.at('brk', x) / this.at(algorithm, x))
  }
}

function toResult(figure: KtsFigure, points: readonly FigurePoint[]): ExperimentResult {
  const { metric, axis } = figure
  const curves = new Curves(points, metric)
  const divisor = metric === 'responseMs' ? 1000 : 1
  const line = (algorithm: Algorithm, colour: number): Line => ({
    ...{ name: NAMES[algorithm], style: 'marked', colour },
    points: curves.xs.map(x => [x, curves.at(algorithm, x) / divisor]),
  })
  return {
    summary: {
      factorDirect: curves.factorsOverBrk('direct').at(-1),
      factorIndirect: curves.factorsOverBrk('indirect').at(-1),
    },
    points,
    tables: [toTable(figure, curves, points, divisor)],
    plots: [
      {
        name: metric === 'responseMs' ? 'response-time' : 'messages',
        chart: {
          kind: 'lines',
          title: `Current reads from replicas: ${METRICS[metric]} by ${figure.by}`,
          x: { name: axis.name, min: 0 },
          y: { name: UNITS[metric], min: 0 },
          series: ALGORITHMS.map(line),
        },
      },
    ],
    verdicts: [...figure.verdicts(curves, metric), neverFalse(points)],
  }
}

function toTable({ axis, metric }: KtsFigure, curves: Curves, points: readonly FigurePoint[], divisor: number): Table {
  const direct = (x: number) => points.find(point => point.algorithm === 'direct' && point.x === x)!
  const rows = curves.xs.map((x, i) => [
    x,
    ...ALGORITHMS.map(algorithm => curves.at(algorithm, x) / divisor),
    curves.factorsOverBrk('direct')[i],
    curves.factorsOverBrk('indirect')[i],
    direct(x).replicas,
    direct(x).currentShare,
    direct(x).queries,
  ])
  const factors = ['BRK / Direct', 'BRK / Indirect', 'replicas, Direct', 'p_t', 'queries']
  const columns = [axis.name, ...ALGORITHMS.map(algorithm => NAMES[algorithm]), ...factors]
  return { title: `${UNITS[metric]}; the paper draws curves and prints no numbers`, columns, rows }
}

/** Wrongly initialised counters could make a read falsely current. The paper calls that unlikely; here it is counted. */
function neverFalse(points: readonly FigurePoint[]): Verdict {
  const ums = points.filter(({ algorithm }) => algorithm !== 'brk')
  const queries = ums.reduce((sum, point) => sum + point.queries, 0)
  const latest = ums.reduce((sum, point) => sum + point.latest * point.queries, 0)
  return {
    claim: 'queries return the last value written',
    holds: latest / queries > 0.97,
    detail: `${Math.round(latest)} of ${queries}`,
  }
}

/** Figures 7 and 8. */
export const BY_PEERS: Omit<KtsFigure, 'number' | 'metric'> = {
  by: 'number of peers',
  axis: { name: 'peers', quick: [250, 500, 1000, 2000], full: [2000, 4000, 6000, 8000, 10_000] },
  settingsAt: peers => ({ peers }),
  verdicts: curves => [isFaster(curves), growsLogarithmically(curves)],
}

/** Figures 9 and 10. */
export const BY_REPLICAS: Omit<KtsFigure, 'number' | 'metric'> = {
  by: 'number of replicas',
  axis: { name: 'replicas', quick: [10, 20, 40], full: [10, 20, 30, 40] },
  settingsAt: replicas => ({ replicas }),
  verdicts: curves => [isFaster(curves), isFlatForDirect(curves)],
}

function isFaster(curves: Curves): Verdict {
  const ordered = curves.xs.every(
    x => curves.at('direct', x) <= curves.at('indirect', x) * 1.05 && curves.at('indirect', x) < curves.at('brk', x),
  )
  return {
    claim: 'UMS-Direct is below UMS-Indirect, and UMS-Indirect is below BRK',
    holds: ordered,
    detail: `BRK is ${range(curves.factorsOverBrk('direct'))} times UMS-Direct, ${range(curves.factorsOverBrk('indirect'))} times UMS-Indirect`,
  }
}

function range(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(value => value.toFixed(1))
  return least === most ? `${least}` : `${least} to ${most}`
}

/**
 * BRK reads all replicas, each by a lookup. UMS does lookups as well. But one peer leaves per second, however many there are, so
 * in a larger ring fewer of the leaving peers matter to UMS. With more peers it has less to make up for, and may become cheaper.
 */
function growsLogarithmically(curves: Curves): Verdict {
  const [first, last] = [curves.xs[0]!, curves.xs.at(-1)!]
  const logarithms = Math.log(last) / Math.log(first)
  const growths = ALGORITHMS.map(algorithm => curves.growth(algorithm))
  const brk = curves.growth('brk')
  return {
    claim: 'BRK grows with the logarithm of the number of peers, and neither UMS variant grows faster',
    holds: Math.abs(brk / logarithms - 1) < 0.2 && growths.every(growth => growth < logarithms * 1.2),
    detail: `BRK ${brk.toFixed(2)}, all ${range(growths)} times from ${first} to ${last} peers; their logarithms ${logarithms.toFixed(2)} times`,
  }
}

function isFlatForDirect(curves: Curves): Verdict {
  const [direct, brk] = [curves.growth('direct'), curves.growth('brk')]
  const replicas = curves.xs.at(-1)! / curves.xs[0]!
  return {
    claim: 'BRK grows with the number of replicas, UMS-Direct does not',
    holds: brk > replicas * 0.7 && direct < 1.25,
    detail: `${replicas} times the replicas: BRK ${brk.toFixed(2)} times, UMS-Direct ${direct.toFixed(2)}, UMS-Indirect ${curves.growth('indirect').toFixed(2)}`,
  }
}
