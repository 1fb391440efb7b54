/** Response time by number of peers. */
import type { Experiment } from '../../harness/experiment.js'
import { BY_PEERS, createKtsFigure } from './kts-figure.js'

export const kts7: Experiment = createKtsFigure({ number: 7, metric: 'responseMs', ...BY_PEERS })
