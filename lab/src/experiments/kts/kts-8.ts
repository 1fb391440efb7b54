/** Messages by number of peers. */
import type { Experiment } from '../../harness/experiment.js'
import { BY_PEERS, createKtsFigure } from './kts-figure.js'

export const kts8: Experiment = createKtsFigure({ number: 8, metric: 'messages', ...BY_PEERS })
