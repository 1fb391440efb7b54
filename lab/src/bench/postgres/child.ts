/** One server of a contender in a process of its own; `postgres.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createPostgresWorker } from './postgres-worker.js'

hostInChild(createPostgresWorker())
