/** One contender in a process of its own; `counters.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createCountersWorker } from './counters-worker.js'

hostInChild(createCountersWorker())
