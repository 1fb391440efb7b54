/** Response time by the share of departures that are failures. */
import type { Experiment, Verdict } from '../../harness/experiment.js'
import { type Curves, createKtsFigure, ITEMS_FOR_RARE_EVENTS } from './kts-figure.js'

const HIGH = 80

export const kts11: Experiment = createKtsFigure({
  ...{ number: 11, metric: 'responseMs', by: 'failure rate' },
  axis: { name: 'failures, % of departures', quick: [5, 50, 100], full: [5, 20, 40, 60, 80, 100] },
  settingsAt: percent => ({ failureRate: percent / 100, items: ITEMS_FOR_RARE_EVENTS }),
  verdicts: curves => [isSlower(curves), meets(curves)],
})

function isSlower(curves: Curves): Verdict {
  const growths = (['direct', 'indirect', 'brk'] as const).map(algorithm => curves.growth(algorithm))
  return {
    claim: 'failures make all three slower',
    holds: growths.every(growth => growth > 1),
    detail: `UMS-Direct ${growths[0]!.toFixed(2)} times, UMS-Indirect ${growths[1]!.toFixed(2)}, BRK ${growths[2]!.toFixed(2)}`,
  }
}

/** A responsible that fails hands over nothing. (A peer that joins is still handed its part, so some distance remains.) */
function meets(curves: Curves): Verdict {
  const gap = (x: number) => curves.at('indirect', x) / curves.at('direct', x)
  const high = curves.xs.filter(x => x >= HIGH)
  const most = Math.max(...high.map(gap))
  return {
    claim: `UMS-Direct approaches UMS-Indirect where ${HIGH}% or more of departures are failures`,
    holds: most < 1 + (gap(curves.xs[0]!) - 1) / 2,
    detail: `UMS-Indirect takes ${gap(curves.xs[0]!).toFixed(2)} times as long at ${curves.xs[0]}%, at most ${most.toFixed(2)} times there`,
  }
}
