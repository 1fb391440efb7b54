/** Counters as a transaction adds to them: with its other writes or not at all, and without reading them. */
import { type Path, parseBucketName, pathInBucket, pathOfKey } from '@freshet/protocol'
import { DECIMALS_MAX, type TransactionState } from './transaction-state.js'

/** Counters as a transaction adds to them: with its other writes or not at all, and without reading them. */
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

  /** Adds to a counter when the transaction commits, which throws COUNTER_OUT_OF_BOUNDS if the counter would leave its bounds. */
  add(id: string, by = 1): void {
    this.#checkOpen()
    if (!Number.isFinite(by)) throw new TypeError(`A counter takes a number, not ${String(by)}.`)
    if (Number(by.toFixed(DECIMALS_MAX)) !== by)
      throw new TypeError(`A counter has at most ${DECIMALS_MAX} decimals, so ${by} cannot be added.`)
    this.#state.add(pathInBucket(this.#path, id), by)
  }
}
