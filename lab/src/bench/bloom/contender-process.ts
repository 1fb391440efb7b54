/** One contender in its own process; `bloom.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createFilterWorker } from './filter-worker.js'
import { nodeContenders } from './node-contenders.js'
import { portableContenders } from './portable-contenders.js'

hostInChild(createFilterWorker({ ...portableContenders, ...nodeContenders }))
