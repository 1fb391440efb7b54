/** One contender in its own process; `counters.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createCountersWorker } from './counters-worker.js'

hostInChild(createCountersWorker())
