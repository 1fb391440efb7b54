/** Messages by number of replicas. */
import type { Experiment } from '../../harness/experiment.js'
import { BY_REPLICAS, createKtsFigure } from './kts-figure.js'

export const kts10: Experiment = createKtsFigure({ number: 10, metric: 'messages', ...BY_REPLICAS })
