/** Estimated and measured rates under growing loads: the code that figures 11 and 12 share. */
import type { Line } from '../../harness/chart.js'
import type { Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import type { LoadedRate } from './growing-load.js'
import { agrees, isDrawn } from './measured-rate.js'

export function measuredMarks(points: readonly (LoadedRate & { readonly ratePerSecond: number })[]): Line {
  const drawn = points.filter(point => isDrawn(point.measured))
  return {
    name: 'measured',
    style: 'marks',
    colour: 7,
    points: drawn.map(({ ratePerSecond, measured }) => [ratePerSecond, measured.rate]),
  }
}

export function estimateHolds(points: readonly LoadedRate[]): Verdict {
  const agreements = points.map(point => agrees(point.estimated, point.measured, 0.2))
  const deviations = agreements.filter(({ resolved }) => resolved).map(({ deviation }) => Math.abs(deviation))
  return {
    claim: 'the estimates match the measured rates, where positives are frequent enough to measure',
    holds: agreements.every(agreement => agreement.holds),
    detail: `at most ${formatPercent(Math.max(0, ...deviations))} away at ${deviations.length} of ${points.length} points`,
  }
}
