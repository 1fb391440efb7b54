/** One reader in its own process; `currency.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createCurrencyWorker } from './currency-worker.js'

hostInChild(createCurrencyWorker())
