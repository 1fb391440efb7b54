/**
 * The number of filters as a control knob: 24, 12, 6 and 3 filters of the same size, t = 5 s for all, under a growing
 * load.
 *
 * The paper's "3000 elements, with a steady increase in the workload" and its figure at 100 op/s fit together in one
 * way: a load that grows linearly from zero reaches 100 op/s with its 3000th element, after 60 s. That reproduces the
 * paper's factor. It also shows where the gain comes from. Only the oldest filter answers alone, and with more filters it
 * dates from a time when the load was low; with 12 and more it dates from the very first elements. Once the load has been
 * steady for longer than the filters reach back, more filters at the same t only add pairs that may err, and the rate
 * rises. Then it helps to shorten t so that the window stays the same, which is what adaptation does.
 */
import type { Line } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { type LoadedRate, linearLoad, measureCells, measureLoaded, steadyLoad } from './growing-load.js'
import { estimateHolds, measuredMarks } from './load-estimates.js'

const SIZE = { bits: 6250, hashes: 5 }
const REFRESH_MS = 5000
const FILTERS = [24, 12, 6, 3]
const RATES_PER_SECOND = [25, 50, 75, 100]
const LOAD = linearLoad({ lastPerSecond: 100, operations: 3000 })
const QUOTED_RATE = 100
const PAPER_FACTOR = 5.5
const STEADY_MS = 200_000
/** (N + 1) t of the smallest filter. */
const WINDOW_MS = 2 * REFRESH_MS

interface Point extends LoadedRate {
  readonly filters: number
  readonly ratePerSecond: number
}

interface SteadyPoint {
  readonly filters: number
  readonly sameRefresh: number
  readonly sameWindow: number
}

export const fbf12: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 12',
  run: async context => toResult(measureAll(context), measureSteady(context)),
}

function measureAll(context: ExperimentContext): Point[] {
  const cells = FILTERS.flatMap(filters => RATES_PER_SECOND.map(ratePerSecond => ({ filters, ratePerSecond })))
  const probing = { filters: context.quick ? 3 : 20, probesPerFilter: context.quick ? 20_000 : 200_000 }
  return measureCells(cells, context, ({ filters, ratePerSecond }) => ({
    label: `${filters} filters at ${ratePerSecond} op/s`,
    filter: { ...SIZE, pastFilters: filters - 2, refreshMs: REFRESH_MS },
    ...{ load: LOAD, untilMs: LOAD.reachesMs(ratePerSecond), ...probing },
  }))
}

function measureSteady({ random }: ExperimentContext): SteadyPoint[] {
  const rate = (filters: number, refreshMs: number) => {
    const filter = { ...SIZE, pastFilters: filters - 2, refreshMs }
    const settings = { filter, load: steadyLoad(QUOTED_RATE), untilMs: STEADY_MS, filters: 1, probesPerFilter: 1 }
    return measureLoaded(settings, random).estimated
  }
  return FILTERS.map(filters => ({
    filters,
    sameRefresh: rate(filters, REFRESH_MS),
    sameWindow: rate(filters, WINDOW_MS / (filters - 1)),
  }))
}

function toResult(points: readonly Point[], steady: readonly SteadyPoint[]): ExperimentResult {
  const factor = pointAt(points, 3).estimated / pointAt(points, 24).estimated
  return {
    summary: { quotedRatePerSecond: QUOTED_RATE, paperFactor: PAPER_FACTOR, factor },
    points: [...points, ...steady],
    tables: [ratesTable(points), steadyTable(steady)],
    plots: [
      {
        name: 'rate-by-load',
        chart: {
          kind: 'lines',
          title: 'False-positive rate by number of filters',
          subtitle: 'm = 6250, k = 5, t = 5 s, load growing linearly; lines are estimated',
          x: { name: 'operations per second', min: 0, max: 120 },
          y: { name: 'false-positive rate', scale: 'log' },
          series: [...FILTERS.map(filters => estimatedLine(points, filters)), measuredMarks(points)],
          references: [{ name: 'quoted in the paper', at: QUOTED_RATE, axis: 'x' }],
        },
      },
    ],
    verdicts: [sameOrder(points), sameFactor(points), estimateHolds(points), onlyWhileGrowing(steady)],
  }
}

function pointAt(points: readonly Point[], filters: number, ratePerSecond: number = QUOTED_RATE): Point {
  return points.find(point => point.filters === filters && point.ratePerSecond === ratePerSecond)!
}

function ratesTable(points: readonly Point[]): Table {
  const rows = FILTERS.map(filters => [
    filters,
    ...RATES_PER_SECOND.flatMap(rate => {
      const { estimated, measured } = pointAt(points, filters, rate)
      return [estimated, measured.rate]
    }),
    pointAt(points, filters).estimated / pointAt(points, 24).estimated,
    filters === 3 ? PAPER_FACTOR : undefined,
  ])
  const columns = RATES_PER_SECOND.flatMap(rate => [`${rate} op/s`, 'measured'])
  return {
    title: 'False-positive rate while the load grows, estimated and measured',
    columns: ['filters', ...columns, 'times that of 24', 'paper'],
    rows,
  }
}

function steadyTable(steady: readonly SteadyPoint[]): Table {
  const rows = steady.map(({ filters, sameRefresh, sameWindow }) => [
    filters,
    sameRefresh,
    WINDOW_MS / (filters - 1) / 1000,
    sameWindow,
  ])
  return {
    title: `False-positive rate at a steady ${QUOTED_RATE} op/s, estimated`,
    columns: ['filters', 't = 5 s', `t for a window of ${WINDOW_MS / 1000} s`, 'rate at that t'],
    rows,
  }
}

function estimatedLine(points: readonly Point[], filters: number): Line {
  const own = points.filter(point => point.filters === filters)
  return {
    name: `${filters} filters`,
    style: filters === 12 ? 'dashed' : 'solid',
    colour: FILTERS.indexOf(filters),
    points: own.map(({ ratePerSecond, estimated }) => [ratePerSecond, estimated]),
  }
}

/** 12 and 24 filters have the same rate here, up to chance, since both reach back to the first elements. */
function sameOrder(points: readonly Point[]): Verdict {
  const rates = FILTERS.map(filters => pointAt(points, filters).estimated)
  return {
    claim: 'at 100 op/s, more filters mean a lower rate',
    holds: Math.abs(rates[0]! / rates[1]! - 1) < 0.03 && rates[1]! < rates[2]! && rates[2]! < rates[3]!,
    detail: FILTERS.map((filters, i) => `${filters}: ${formatPercent(rates[i]!)}`).join(', '),
  }
}

function sameFactor(points: readonly Point[]): Verdict {
  const estimated = pointAt(points, 3).estimated / pointAt(points, 24).estimated
  const measured = pointAt(points, 3).measured.rate / pointAt(points, 24).measured.rate
  return {
    claim: 'at 100 op/s, 3 filters have several times the rate of 24',
    holds: estimated > PAPER_FACTOR / 2 && estimated < PAPER_FACTOR * 2,
    detail: `${estimated.toFixed(1)} times, measured ${measured.toFixed(1)}, paper ${PAPER_FACTOR}`,
  }
}

function onlyWhileGrowing(steady: readonly SteadyPoint[]): Verdict {
  const [most, least] = [steady[0]!, steady.at(-1)!]
  return {
    claim: 'at a steady load, more filters help only if t shrinks so that the window stays the same',
    holds: most.sameRefresh > least.sameRefresh && most.sameWindow < least.sameWindow,
    detail:
      `from 3 to 24 filters, ${formatPercent(least.sameRefresh)} becomes ${formatPercent(most.sameRefresh)} at the same t ` +
      `and ${formatPercent(most.sameWindow)} for the same window`,
  }
}
