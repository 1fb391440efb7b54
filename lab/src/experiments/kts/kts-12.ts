/**
 * Response time by update frequency. Replicas on peers that leave are lost here, as the paper's appendix assumes. If they were
 * handed over, nearly all would be current at any update frequency, and only UMS-Indirect would gain.
 */
import type { Experiment, Verdict } from '../../harness/experiment.js'
import { type Curves, createKtsFigure, ITEMS_FOR_RARE_EVENTS } from './kts-figure.js'

export const kts12: Experiment = createKtsFigure({
  ...{ number: 12, metric: 'responseMs', by: 'update frequency' },
  axis: { name: 'updates per hour', quick: [0.25, 1, 4], full: [0.25, 0.5, 1, 2, 4] },
  settingsAt: updatesPerHour => ({ updatesPerHour, handsCopiesOnLeave: false, items: ITEMS_FOR_RARE_EVENTS }),
  verdicts: curves => [isFasterWithUpdates(curves)],
})

function isFasterWithUpdates(curves: Curves): Verdict {
  const [direct, indirect] = [curves.growth('direct'), curves.growth('indirect')]
  return {
    claim: 'reads are faster with more updates',
    holds: direct < 0.97 && indirect < 0.97,
    detail: `from ${curves.xs[0]} to ${curves.xs.at(-1)} updates an hour: UMS-Direct takes ${direct.toFixed(2)} times as long, UMS-Indirect ${indirect.toFixed(2)} times`,
  }
}
