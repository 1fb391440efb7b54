/** One reader in a process of its own; `currency.ts` starts it. */
import { hostInChild } from '../../harness/contender-worker.js'
import { createCurrencyWorker } from './currency-worker.js'

hostInChild(createCurrencyWorker())
