/** One contender in its own process; `redis-filter.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createRedisFilterWorker } from './redis-filter-worker.js'

hostInChild(createRedisFilterWorker())
