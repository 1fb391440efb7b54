/** One contender in a process of its own; `redis-filter.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createRedisFilterWorker } from './redis-filter-worker.js'

hostInChild(createRedisFilterWorker())
