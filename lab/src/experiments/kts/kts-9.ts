/** Response time by the number of replicas. */
import type { Experiment } from '../../harness/experiment.js'
import { createKtsFigure, isFaster, isFlatForDirect } from './kts-figure.js'

export const kts9: Experiment = createKtsFigure({
  ...{ number: 9, metric: 'responseMs' },
  title: 'Current reads from replicas: response time by the number of replicas',
  axis: { name: 'replicas', quick: [10, 20, 40], full: [10, 20, 30, 40] },
  settingsAt: replicas => ({ replicas }),
  verdicts: curves => [isFaster(curves), isFlatForDirect(curves)],
})
