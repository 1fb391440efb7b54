/** "A filter fills up": inputs, figures and chart of a fill run. */
import { expectedRate, type FilterSize } from '@freshet/bloom'
import type { LinesChart } from '../../harness/chart.js'
import { formatPercent } from '../../harness/table.js'
import { checkFill, type FillProgress, fillRun, shareDone, standardErrorOf, typicalSpeed } from './fill-run.js'
import { formatBytes, formatCount, formatMeasured, formatSpeed } from './format.js'
import { createLiveChart } from './live-chart.js'
import { find, setText } from './page-elements.js'
import type { Run } from './run-button.js'
import { runInFrames } from './run-in-frames.js'
import { mountRunPanel } from './run-panel.js'

interface Plan {
  readonly entriesMax: number
  readonly falsePositiveRateMax: number
  readonly size: FilterSize
}

const PHASES = { filling: 'Filling…', measuring: 'Looking up absent keys…', checking: 'Looking up every key…' }
const CURVE_POINTS = 60
const SLICE_MS = 25
const ROUND_ENDS = [1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12]

export function mountFillPanel(seed: number): void {
  const draw = createLiveChart(find('fill-chart', HTMLElement))
  mountRunPanel<Plan>({
    name: 'fill',
    inputs: ['entries', 'rate'],
    planOf: (entriesMax = Number.NaN, falsePositiveRateMax = Number.NaN) => {
      return { entriesMax, falsePositiveRateMax, size: checkFill(entriesMax, falsePositiveRateMax) }
    },
    preview: plan => {
      showSize(plan)
      draw(chartOf(plan, []))
    },
    runOf: plan => runOf(plan, seed, rates => draw(chartOf(plan, rates))),
  })
}

function runOf(plan: Plan, seed: number, drawRates: (rates: FillProgress['rates']) => void): Run {
  return async signal => {
    showSize(plan)
    let falseNegatives = 0
    const show = (progress: FillProgress) => {
      falseNegatives = progress.falseNegatives
      showProgress(progress, plan)
      drawRates(progress.rates)
    }
    const work = fillRun({ ...plan, seed, nowMs: () => performance.now() })
    const ended = await runInFrames(work, { show, signal, sliceMs: SLICE_MS })
    return ended ? verdict(falseNegatives) : 'Stopped.'
  }
}

function verdict(falseNegatives: number): string {
  if (falseNegatives === 0) return 'Done: no key was denied.'
  return `Done: ${formatCount(falseNegatives)} keys were denied, which must never happen. Please report the seed below.`
}

function showSize({ entriesMax, size }: Plan): void {
  setText('fill-bits-per-entry', (size.bits / entriesMax).toFixed(2))
  setText('fill-hashes', String(size.hashes))
  setText('fill-size', formatBytes(size.bits / 8))
  setText('fill-speed', '–')
  setText('fill-measured', '–')
  setText('fill-negatives', '–')
  find('fill-progress', HTMLProgressElement).value = 0
}

function showProgress(progress: FillProgress, plan: Plan): void {
  const { phase, speeds, checked, falseNegatives } = progress
  setText('fill-status', PHASES[phase])
  find('fill-progress', HTMLProgressElement).value = shareDone(progress, plan.entriesMax, plan.falsePositiveRateMax)
  const speed = typicalSpeed(speeds)
  if (speed) setText('fill-speed', formatSpeed(speed))
  setText('fill-measured', rateText(progress, plan))
  if (phase === 'checking') {
    setText('fill-negatives', `${formatCount(falseNegatives)} of ${formatCount(checked)} checked`)
  }
}

function rateText({ probes, falsePositives, rates }: FillProgress, plan: Plan): string {
  const { size, entriesMax, falsePositiveRateMax } = plan
  if (probes === 0) return `${formatPercent(rates.at(-1)?.[1] ?? 0)} so far`
  const rate = falsePositives / probes
  const margin = 2 * standardErrorOf(size, entriesMax, probes)
  return `${formatMeasured(rate, margin)} (target ${formatPercent(falsePositiveRateMax)})`
}

function chartOf({ entriesMax, falsePositiveRateMax, size }: Plan, rates: FillProgress['rates']): LinesChart {
  const curve = Array.from({ length: CURVE_POINTS + 1 }, (_, i) => (entriesMax * i) / CURVE_POINTS)
  const highest = Math.max(falsePositiveRateMax, ...rates.map(([, rate]) => rate))
  return {
    kind: 'lines',
    title: `False-positive rate as ${formatCount(entriesMax)} keys are added: measured and in theory`,
    x: { name: 'keys added', min: 0, max: entriesMax },
    y: { name: 'false-positive rate', percent: true, min: 0, max: roundAbove(highest) },
    series: [
      { name: 'measured', style: 'marks', points: rates },
      { name: 'theory', style: 'dashed', points: curve.map(added => [added, expectedRate(size, added)]) },
    ],
    references: [{ name: 'target', at: falsePositiveRateMax }],
  }
}

/** A round end for the axis that leaves some room, and that stays the same while the points come in. */
function roundAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return ROUND_ENDS.find(end => end * power >= value * 1.05)! * power
}
