/** One contender in its own process; `commit.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createCommitWorker } from './commit-worker.js'

hostInChild(createCommitWorker())
