/**
 * Response time by how often items are updated. Replicas of peers that leave are lost here, as the paper's appendix assumes; were
 * they handed on, nearly all would be current whatever the updates, and only UMS-Indirect would gain.
 */
import type { Experiment, Verdict } from '../../harness/experiment.js'
import { type Curves, createKtsFigure, ITEMS_FOR_RARE_EVENTS } from './kts-figure.js'

export const kts12: Experiment = createKtsFigure({
  ...{ number: 12, metric: 'responseMs', by: 'the frequency of updates' },
  axis: { name: 'updates per hour', quick: [0.25, 1, 4], full: [0.25, 0.5, 1, 2, 4] },
  settingsAt: updatesPerHour => ({ updatesPerHour, handsCopiesOnLeave: false, items: ITEMS_FOR_RARE_EVENTS }),
  verdicts: curves => [isFasterWithUpdates(curves)],
})

function isFasterWithUpdates(curves: Curves): Verdict {
  const [direct, indirect] = [curves.growth('direct'), curves.growth('indirect')]
  return {
    claim: 'the more updates, the faster reads are',
    holds: direct < 0.97 && indirect < 0.97,
    detail: `from ${curves.xs[0]} to ${curves.xs.at(-1)} an hour: UMS-Direct takes ${direct.toFixed(2)} times as long, UMS-Indirect ${indirect.toFixed(2)} times`,
  }
}
