/** Figures 9 and 10 test one claim along two axes: the estimate of section IV matches the measured rate. */
import type { Line } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { type BasicRate, type BasicSettings, measureBasicFilter } from './basic-filter.js'
import { type Agreement, agrees, isDrawn } from './measured-rate.js'

/** The paper only says that the analysis matches reasonably. */
const DEVIATION_MAX = 0.2

export interface EstimateAxis {
  /** The varied parameter, as axis and column. */
  readonly name: string
  readonly valueOf: (point: BasicRate) => number
  readonly subtitle: string
}

export interface EstimateFigure extends EstimateAxis {
  readonly number: number
  readonly values: readonly number[]
  readonly unit: string
  readonly settingsAt: (value: number) => Pick<BasicSettings, 'size' | 'elements'>
  /** How many filters each point is measured with. */
  readonly filters: { readonly quick: number; readonly full: number }
}

export function createEstimateFigure(figure: EstimateFigure): Experiment {
  return {
    source: `Subramanyam, Gupta, Leslie, Wang 2015, figure ${figure.number}`,
    run: async context => compareEstimates(measure(figure, context), figure),
  }
}

function measure(figure: EstimateFigure, { quick, random, progress }: ExperimentContext): BasicRate[] {
  const { values, unit, settingsAt } = figure
  const filters = quick ? figure.filters.quick : figure.filters.full
  return values.map((value, i) => {
    progress(i, values.length, `${value} ${unit}`)
    return measureBasicFilter({ ...settingsAt(value), check: 'optimised', filters }, random)
  })
}

function compareEstimates(points: readonly BasicRate[], axis: EstimateAxis): ExperimentResult {
  const agreements = points.map(point => agrees(point.calculated, point.measured, DEVIATION_MAX))
  const resolved = agreements.filter(agreement => agreement.resolved)
  return {
    summary: {
      deviationMax: Math.max(...resolved.map(agreement => Math.abs(agreement.deviation))),
      pointsResolved: resolved.length,
      points: points.length,
    },
    points,
    tables: [toTable(points, agreements, axis)],
    plots: [{ name: 'estimate-against-measurement', chart: toChart(points, axis) }],
    verdicts: [toVerdict(agreements)],
  }
}

function toTable(points: readonly BasicRate[], agreements: readonly Agreement[], axis: EstimateAxis): Table {
  const rows = points.map((point, i) => [
    axis.valueOf(point),
    point.calculated,
    point.measured.rate,
    3 * point.measured.standardError,
    point.measured.positives,
    point.measured.probes,
    point.measured.positives > 0 ? formatPercent(agreements[i]!.deviation) : undefined,
    agreements[i]!.resolved ? 'within 20%' : 'within chance',
  ])
  return {
    title: 'Estimated (equation 2) and measured false-positive rate; the paper shows matching curves without numbers',
    columns: [axis.name, 'estimated', 'measured', '± 3 sigma', 'positives', 'probes', 'deviation', 'tested'],
    rows,
  }
}

function toChart(points: readonly BasicRate[], axis: EstimateAxis) {
  const measured = points.filter(point => isDrawn(point.measured))
  const series: Line[] = [
    { name: 'estimated', style: 'solid', colour: 0, points: points.map(p => [axis.valueOf(p), p.calculated]) },
    { name: 'measured', style: 'marks', colour: 1, points: measured.map(p => [axis.valueOf(p), p.measured.rate]) },
  ]
  return {
    kind: 'lines' as const,
    title: 'Forgetful filter: estimated and measured false-positive rate',
    subtitle: axis.subtitle,
    x: { name: axis.name, min: 0 },
    y: { name: 'false-positive rate', scale: 'log' as const },
    series,
  }
}

function toVerdict(agreements: readonly Agreement[]): Verdict {
  const resolved = agreements.filter(agreement => agreement.resolved)
  const worst = Math.max(...resolved.map(agreement => Math.abs(agreement.deviation)))
  return {
    claim:
      'the estimate lies within 20% of the measured rate, or within three standard errors where positives are rare',
    holds: resolved.length > 0 && agreements.every(agreement => agreement.holds),
    detail:
      `at most ${formatPercent(worst)} off at the ${resolved.length} points where chance is smaller than that, ` +
      `within chance at the other ${agreements.length - resolved.length}`,
  }
}
