/** Messages by the number of peers. */
import type { Experiment } from '../../harness/experiment.js'
import { createKtsFigure, growsLogarithmically, isFaster } from './kts-figure.js'

export const kts8: Experiment = createKtsFigure({
  ...{ number: 8, metric: 'messages' },
  title: 'Current reads from replicas: messages by the number of peers',
  axis: { name: 'peers', quick: [250, 500, 1000, 2000], full: [2000, 4000, 6000, 8000, 10_000] },
  settingsAt: peers => ({ peers }),
  verdicts: curves => [isFaster(curves), growsLogarithmically(curves)],
})
