/** Counters as a transaction adds to them: with the rest of it or not at all, and without having read them. */
import { type Path, parseBucketName, pathInBucket, pathOfKey } from '@freshet/protocol'
import { DECIMALS_MAX, type TransactionState } from './transaction-state.js'

/** Counters as a transaction adds to them: with the rest of it or not at all, and without having read them. */
export class TransactionCounters {
  readonly #path: Path
  readonly #state: TransactionState
  readonly #checkOpen: () => void

  constructor(name: string, state: TransactionState, checkOpen: () => void) {
    parseBucketName(name)
    this.#path = pathOfKey(name)
    this.#state = state
    this.#checkOpen = checkOpen
  }

  /** When the transaction commits. COUNTER_OUT_OF_BOUNDS then, if it would be. */
  add(id: string, by = 1): void {
    this.#checkOpen()
    if (!Number.isFinite(by)) throw new TypeError(`A counter counts in numbers, not in ${String(by)}.`)
    if (Number(by.toFixed(DECIMALS_MAX)) !== by)
      throw new TypeError(`A counter has ${DECIMALS_MAX} decimals at most, so ${by} cannot be added.`)
    this.#state.add(pathInBucket(this.#path, id), by)
  }
}
