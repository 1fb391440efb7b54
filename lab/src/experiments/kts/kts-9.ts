/** Response time by number of replicas. */
import type { Experiment } from '../../harness/experiment.js'
import { BY_REPLICAS, createKtsFigure } from './kts-figure.js'

export const kts9: Experiment = createKtsFigure({ number: 9, metric: 'responseMs', ...BY_REPLICAS })
