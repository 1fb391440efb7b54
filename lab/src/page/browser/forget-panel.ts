/** "A filter that forgets": inputs, comparison and chart of a forget run. */
import type { LinesChart } from '../../harness/chart.js'
import { formatPercent } from '../../harness/table.js'
import {
  checkForget,
  type FilterRecord,
  type ForgetProgress,
  forgetRun,
  TICKS_PER_WINDOW,
  WINDOWS_SIMULATED,
  withinWindow,
} from './forget-run.js'
import { formatBytes, formatCount } from './format.js'
import { createLiveChart } from './live-chart.js'
import { find, setText } from './page-elements.js'
import type { Run } from './run-button.js'
import { runInFrames } from './run-in-frames.js'
import { mountRunPanel } from './run-panel.js'

interface Plan {
  readonly keysPerSecond: number
  readonly falsePositiveRateMax: number
}

type Ages = FilterRecord['ages']

const WINDOW_MS = 60_000
const FILTERS = ['rotating', 'forgetful'] as const

export function mountForgetPanel(seed: number): void {
  const draw = createLiveChart(find('forget-chart', HTMLElement))
  mountRunPanel<Plan>({
    name: 'forget',
    inputs: ['load', 'rate'],
    planOf: (keysPerSecond = Number.NaN, falsePositiveRateMax = Number.NaN) => {
      checkForget({ windowMs: WINDOW_MS, keysPerSecond, falsePositiveRateMax })
      return { keysPerSecond, falsePositiveRateMax }
    },
    preview: plan => {
      clearFigures()
      draw(chartOf(plan, [], []))
    },
    runOf: plan => runOf(plan, seed, ({ rotating, forgetful }) => draw(chartOf(plan, rotating.ages, forgetful.ages))),
  })
}

function runOf(plan: Plan, seed: number, draw: (progress: ForgetProgress) => void): Run {
  return async signal => {
    const show = (progress: ForgetProgress) => {
      showProgress(progress)
      draw(progress)
    }
    const work = forgetRun({ ...plan, windowMs: WINDOW_MS, seed })
    // One tick per frame, so that the curves can be watched growing.
    const ended = await runInFrames(work, { show, signal, sliceMs: 0 })
    return ended ? `Done: ${WINDOWS_SIMULATED} minutes simulated.` : 'Stopped.'
  }
}

function clearFigures(): void {
  find('forget-progress', HTMLProgressElement).value = 0
  for (const name of FILTERS) for (const figure of ['size', 'denied', 'rate']) setText(`${name}-${figure}`, '–')
}

function showProgress(progress: ForgetProgress): void {
  setText('forget-status', `Minute ${Math.ceil(progress.timeMs / 60_000)} of ${WINDOWS_SIMULATED}…`)
  find('forget-progress', HTMLProgressElement).value = progress.timeMs / (WINDOWS_SIMULATED * WINDOW_MS)
  for (const name of FILTERS) {
    const { sizeBytes, probes, falsePositives } = progress[name]
    const { asked, known } = withinWindow(progress[name])
    setText(`${name}-size`, formatBytes(sizeBytes))
    setText(`${name}-denied`, `${formatCount(asked - known)} of ${formatCount(asked)}`)
    if (probes > 0) setText(`${name}-rate`, formatPercent(falsePositives / probes))
  }
}

function chartOf({ falsePositiveRateMax }: Plan, rotating: Ages, forgetful: Ages): LinesChart {
  const least = 10 ** (Math.floor(Math.log10(falsePositiveRateMax)) - 1)
  return {
    kind: 'lines',
    title: 'Share of keys still known by their age, for the rotating and the forgetful filter',
    x: { name: 'age of the key in seconds', min: 0, max: (2 * WINDOW_MS) / 1000 },
    y: { name: 'keys still known', scale: 'log', percent: true, min: least, max: 1 },
    series: [
      { name: 'rotating', points: curve(rotating, least) },
      { name: 'forgetful', points: curve(forgetful, least) },
    ],
    references: [
      { name: 'window', at: WINDOW_MS / 1000, axis: 'x' },
      { name: 'target', at: falsePositiveRateMax },
    ],
  }
}

/** A logarithmic axis has no 0, so a share of 0 is drawn at the end of the axis until the first key is known. */
function curve(ages: Ages, least: number): [ageSeconds: number, share: number][] {
  const tickSeconds = WINDOW_MS / TICKS_PER_WINDOW / 1000
  return ages.map(({ asked, known }, age) => [(age + 0.5) * tickSeconds, Math.max(least, known / asked)])
}
