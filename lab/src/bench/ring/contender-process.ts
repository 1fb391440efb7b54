/** One server of a contender in its own process; `ring.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createRingWorker } from './ring-worker.js'

hostInChild(createRingWorker())
