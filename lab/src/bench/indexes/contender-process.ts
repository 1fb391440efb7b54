/** One contender in a process of its own; `indexes.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createIndexesWorker } from './indexes-worker.js'

hostInChild(createIndexesWorker())
