/** One server of a contender in its own process; `engines.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createEnginesWorker } from './engines-worker.js'

hostInChild(createEnginesWorker())
