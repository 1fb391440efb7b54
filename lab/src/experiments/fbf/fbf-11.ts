/**
 * The refresh period as a control knob: basic forgetful filters that differ in t, under a growing load.
 *
 * The paper states 5000 elements and exponential growth, but not the first and last rate. We take seven doublings, 1 to 128
 * operations per second. The paper's factor of about 1000 between t = 5 s and t = 1 s at 100 op/s lies between the factors
 * for such growth and for a steady load. Rates near 10^-7 can only have been calculated, as ours are.
 */
import type { Line } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { exponentialLoad, type LoadedRate, measureCells, measureLoaded, steadyLoad } from './growing-load.js'
import { estimateHolds, measuredMarks } from './load-estimates.js'

const SIZE = { bits: 25_000, hashes: 5 }
const REFRESHES_MS = [5000, 3000, 2000, 1000]
const RATES_PER_SECOND = [10, 20, 30, 40, 60, 80, 100, 120]
const LOAD = exponentialLoad({ firstPerSecond: 1, lastPerSecond: 128, operations: 5000 })
const QUOTED_RATE = 100
const PAPER_FACTOR = 1000
/** Long enough for every filter to have been filled and refreshed many times. */
const STEADY_MS = 60_000

interface Point extends LoadedRate {
  readonly refreshMs: number
  readonly ratePerSecond: number
}

export const fbf11: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 11',
  run: async context => toResult(measureAll(context), steadyFactor(context)),
}

function measureAll(context: ExperimentContext): Point[] {
  const cells = REFRESHES_MS.flatMap(refreshMs => RATES_PER_SECOND.map(ratePerSecond => ({ refreshMs, ratePerSecond })))
  const probing = { filters: context.quick ? 2 : 10, probesPerFilter: context.quick ? 100_000 : 500_000 }
  return measureCells(cells, context, ({ refreshMs, ratePerSecond }) => ({
    label: `t = ${refreshMs / 1000} s at ${ratePerSecond} op/s`,
    filter: { ...SIZE, pastFilters: 1, refreshMs },
    ...{ load: LOAD, untilMs: LOAD.reachesMs(ratePerSecond), ...probing },
  }))
}

/** The factor if the load had always been 100 op/s. */
function steadyFactor({ random }: ExperimentContext): number {
  const rates = [5000, 1000].map(refreshMs => {
    const filter = { ...SIZE, pastFilters: 1, refreshMs }
    const settings = { filter, load: steadyLoad(QUOTED_RATE), untilMs: STEADY_MS, filters: 1, probesPerFilter: 1 }
    return measureLoaded(settings, random).estimated
  })
  return rates[0]! / rates[1]!
}

function toResult(points: readonly Point[], steady: number): ExperimentResult {
  const factor = estimatedAt(points, 5000) / estimatedAt(points, 1000)
  return {
    summary: { quotedRatePerSecond: QUOTED_RATE, paperFactor: PAPER_FACTOR, factor, factorAtSteadyLoad: steady },
    points,
    tables: [ratesTable(points), factorsTable(points, steady)],
    plots: [
      {
        name: 'rate-by-load',
        chart: {
          kind: 'lines',
          title: 'False-positive rate by refresh period',
          subtitle: 'basic forgetful filter, m = 25 000, k = 5; lines are estimated',
          x: { name: 'operations per second', min: 0 },
          y: { name: 'false-positive rate', scale: 'log' },
          series: [...REFRESHES_MS.map(refreshMs => estimatedLine(points, refreshMs)), measuredMarks(points)],
          references: [{ name: 'quoted in the paper', at: QUOTED_RATE, axis: 'x' }],
        },
      },
    ],
    verdicts: [sameOrder(points), sameFactor(factor, steady), estimateHolds(points)],
  }
}

function estimatedAt(points: readonly Point[], refreshMs: number, ratePerSecond: number = QUOTED_RATE): number {
  return points.find(point => point.refreshMs === refreshMs && point.ratePerSecond === ratePerSecond)!.estimated
}

function ratesTable(points: readonly Point[]): Table {
  const rows = RATES_PER_SECOND.map(ratePerSecond => [
    ratePerSecond,
    ...points
      .filter(point => point.ratePerSecond === ratePerSecond)
      .flatMap(({ estimated, measured }) => [estimated, measured.positives > 0 ? measured.rate : undefined]),
  ])
  const columns = REFRESHES_MS.flatMap(refreshMs => [`t = ${refreshMs / 1000} s`, 'measured'])
  return { title: 'False-positive rate, estimated and measured', columns: ['op/s', ...columns], rows }
}

function factorsTable(points: readonly Point[], steady: number): Table {
  const rows = REFRESHES_MS.map(refreshMs => [
    `t = ${refreshMs / 1000} s`,
    estimatedAt(points, refreshMs),
    estimatedAt(points, refreshMs) / estimatedAt(points, 1000),
    refreshMs === 5000 ? PAPER_FACTOR : undefined,
    refreshMs === 5000 ? steady : undefined,
  ])
  const columns = ['refresh period', 'rate', 'times that of 1 s', 'paper', 'at a steady load']
  return { title: `At ${QUOTED_RATE} operations per second`, columns, rows }
}

function estimatedLine(points: readonly Point[], refreshMs: number): Line {
  const own = points.filter(point => point.refreshMs === refreshMs)
  return {
    name: `t = ${refreshMs / 1000} s`,
    style: 'solid',
    colour: REFRESHES_MS.indexOf(refreshMs),
    points: own.map(({ ratePerSecond, estimated }) => [ratePerSecond, estimated]),
  }
}

function sameOrder(points: readonly Point[]): Verdict {
  const ordered = RATES_PER_SECOND.every(rate => {
    const rates = REFRESHES_MS.map(refreshMs => estimatedAt(points, refreshMs, rate))
    return rates.every((value, i) => i === 0 || value < rates[i - 1]!)
  })
  return {
    claim: 'at every load, a shorter refresh period means a lower rate',
    holds: ordered,
    detail: `t = ${REFRESHES_MS.map(refreshMs => refreshMs / 1000).join(' > ')} s from ${RATES_PER_SECOND[0]} to ${RATES_PER_SECOND.at(-1)} op/s`,
  }
}

function sameFactor(factor: number, steady: number): Verdict {
  return {
    claim: 'at 100 op/s, t = 5 s has about 1000 times the rate of t = 1 s',
    holds: factor > PAPER_FACTOR / 3.2 && factor < PAPER_FACTOR * 3.2,
    detail: `${factor.toFixed(0)} times, paper about ${PAPER_FACTOR}; ${steady.toFixed(0)} at a steady load`,
  }
}
