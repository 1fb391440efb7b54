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

  /**
   * Adds to a counter when the transaction commits, which throws COUNTER_OUT_OF_BOUNDS if the counter would leave its bounds.
   *
   * @example
   * await db.transaction(async tx => {
   *   tx.counter('shop/views').add('tea')
   *   tx.counter('shop/views').add('mug', 2)
   * })
   * console.log(await db.counter('shop/views').getMany(['tea', 'mug'])) // [ 4, 3 ]
   */
  add(id: string, by = 1): void {
    this.#checkOpen()
    if (!Number.isFinite(by))
      throw new TypeError(`A counter takes a finite number, not ${String(by)}. Convert text with Number(text).`)
    if (Number(by.toFixed(DECIMALS_MAX)) !== by)
      throw new TypeError(`A counter has at most ${DECIMALS_MAX} decimals, so ${by} cannot be added. Round it first.`)
    this.#state.add(pathInBucket(this.#path, id), by)
  }
}
