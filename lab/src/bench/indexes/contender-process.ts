/** One contender in its own process; `indexes.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createIndexesWorker } from './indexes-worker.js'

hostInChild(createIndexesWorker())
