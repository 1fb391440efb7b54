/** One contender in a process of its own; `commit.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createCommitWorker } from './commit-worker.js'

hostInChild(createCommitWorker())
