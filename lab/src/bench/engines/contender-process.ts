/** One server of a contender in a process of its own; `engines.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createEnginesWorker } from './engines-worker.js'

hostInChild(createEnginesWorker())
