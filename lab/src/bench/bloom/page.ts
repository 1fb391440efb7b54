/** One contender in its own page; `bloom.ts` has it bundled and opens it. */
import { hostInPage } from '../../harness/contender-worker.js'
import { createFilterWorker } from './filter-worker.js'
import { portableContenders } from './portable-contenders.js'

hostInPage(createFilterWorker(portableContenders))
