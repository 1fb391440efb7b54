/** The optimised membership check and the simple one, by number of elements. `basic-filter.ts` says how we read the paper. */
import type { LinesChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { type BasicRate, measureBasicFilter } from './basic-filter.js'
import { isDrawn } from './measured-rate.js'

const SIZE = { bits: 6250, hashes: 5 }
const ELEMENTS = [50, 100, 200, 300, 400, 500, 600, 700, 800]
const PAPER_ELEMENTS = 300
const PAPER_REDUCTION = 0.9

export const fbf8: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 8',
  run: async context => toResult(measureAll(context), measureShared(context)),
}

interface Point {
  readonly elements: number
  readonly simple: BasicRate
  readonly optimised: BasicRate
}

function measureAll(context: ExperimentContext): Point[] {
  return ELEMENTS.map((elements, i) => {
    context.progress(i, ELEMENTS.length + 1, `${elements} elements`)
    return measurePoint(context, elements, false)
  })
}

/** The paper's own form (the same hashes in all filters) at the number of elements that it quotes. */
function measureShared(context: ExperimentContext): Point {
  context.progress(ELEMENTS.length, ELEMENTS.length + 1, 'shared hashes')
  return measurePoint(context, PAPER_ELEMENTS, true)
}

function measurePoint({ quick, random }: ExperimentContext, elements: number, sharedHashes: boolean): Point {
  const settings = { size: SIZE, elements, sharedHashes, filters: quick ? 4 : 50 }
  return {
    elements,
    simple: measureBasicFilter({ ...settings, check: 'simple' }, random),
    optimised: measureBasicFilter({ ...settings, check: 'optimised' }, random),
  }
}

function toResult(points: readonly Point[], shared: Point): ExperimentResult {
  const quoted = points.find(point => point.elements === PAPER_ELEMENTS)!
  return {
    summary: {
      elements: PAPER_ELEMENTS,
      paperReduction: PAPER_REDUCTION,
      reduction: reduction(quoted),
      reductionCalculated: calculatedReduction(quoted),
      reductionWithSharedHashes: reduction(shared),
    },
    points,
    tables: [ratesTable(points, shared)],
    plots: [{ name: 'rate-by-elements', chart: toChart(points) }],
    verdicts: [errsLess(quoted, shared), neverWorse(points)],
  }
}

function reduction({ simple, optimised }: Point): number {
  return 1 - optimised.measured.rate / simple.measured.rate
}

function calculatedReduction({ simple, optimised }: Point): number {
  return 1 - optimised.calculated / simple.calculated
}

function ratesTable(points: readonly Point[], shared: Point): Table {
  const rows = [...points, shared].map(point => [
    `${point.elements}${point === shared ? ' (shared hashes)' : ''}`,
    point === shared ? undefined : point.simple.calculated,
    point.simple.measured.rate,
    point === shared ? undefined : point.optimised.calculated,
    point.optimised.measured.rate,
    point === shared ? undefined : formatPercent(calculatedReduction(point)),
    point.simple.measured.positives > 0 ? formatPercent(reduction(point)) : undefined,
    point.elements === PAPER_ELEMENTS ? formatPercent(PAPER_REDUCTION) : undefined,
  ])
  return {
    title: `False-positive rate of both checks (c: calculated, m: measured with ${points[0]!.simple.measured.probes} probes)`,
    columns: ['elements', 'simple c', 'simple m', 'optimised c', 'optimised m', 'lower by c', 'lower by m', 'paper'],
    rows,
  }
}

function toChart(points: readonly Point[]): LinesChart {
  const marks = (rate: (point: Point) => BasicRate) =>
    points
      .map(rate)
      .flatMap(({ elements, measured }) => (isDrawn(measured) ? [[elements, measured.rate] as const] : []))
  const curve = (rate: (point: Point) => BasicRate) =>
    points.map(rate).map(({ elements, calculated }) => [elements, calculated] as const)
  return {
    kind: 'lines',
    title: 'False-positive rate by membership check',
    subtitle: 'basic forgetful filter, m = 6250, k = 5, t = 5 s, elements over two refresh periods',
    x: { name: 'elements inserted', min: 0 },
    y: { name: 'false-positive rate', scale: 'log' },
    series: [
      { name: 'simple, measured', style: 'marks', colour: 0, points: marks(point => point.simple) },
      { name: 'simple, calculated', style: 'dashed', colour: 0, points: curve(point => point.simple) },
      { name: 'optimised, measured', style: 'marks', colour: 1, points: marks(point => point.optimised) },
      { name: 'optimised, calculated', style: 'dashed', colour: 1, points: curve(point => point.optimised) },
    ],
    references: [{ name: 'quoted in the paper', at: PAPER_ELEMENTS, axis: 'x' }],
  }
}

/** With few probes, chance could spoil the measured reduction, so three standard errors are allowed. */
function errsLess(quoted: Point, shared: Point): Verdict {
  const { simple, optimised } = quoted
  const relative = (rate: BasicRate) => rate.measured.standardError / rate.measured.rate
  const allowed = 3 * Math.hypot(relative(simple), relative(optimised)) * (1 - reduction(quoted))
  return {
    claim: 'at 300 elements, the optimised check errs at least 90% less often than the simple check',
    holds: calculatedReduction(quoted) >= PAPER_REDUCTION && reduction(quoted) + allowed >= PAPER_REDUCTION,
    detail:
      `${formatPercent(reduction(quoted))} less, calculated ${formatPercent(calculatedReduction(quoted))}, paper 90%; ` +
      `with shared hashes, as in the paper, ${formatPercent(reduction(shared))}`,
  }
}

function neverWorse(points: readonly Point[]): Verdict {
  return {
    claim: 'the optimised check errs less often at every number of elements',
    holds: points.every(
      ({ simple, optimised }) =>
        optimised.calculated < simple.calculated && optimised.measured.positives <= simple.measured.positives,
    ),
    detail: `from ${points[0]!.elements} to ${points.at(-1)!.elements} elements`,
  }
}
