/** One server of a contender in a process of its own; `ring.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createRingWorker } from './ring-worker.js'

hostInChild(createRingWorker())
