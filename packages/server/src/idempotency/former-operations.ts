/**
 * Operations that were remembered before ids belonged to one caller: the store has them under the plain id, with a fingerprint
 * that contains the caller's subject. They are found as long as operations are remembered, so that a retry across the upgrade
 * is not done twice.
 *
 * The store remembers since when ids belong to one caller: since a server of this kind first opened it.
 */
import type { Store } from '@freshet/core/store'

const NAME = 'operations-of-callers'

export class FormerOperations {
  readonly #store: Store
  #untilMs = Number.NEGATIVE_INFINITY

  constructor(store: Store) {
    this.#store = store
  }

  /** Must be called before the first request. */
  async start(): Promise<void> {
    const known = await this.#store.recall(NAME)
    const sinceMs = known === undefined ? await this.#begin() : Number(new TextDecoder().decode(known))
    this.#untilMs = sinceMs + this.#store.supports.retentionMs
  }

  /** Whether such an operation may still be remembered. */
  get mayBeKnown(): boolean {
    return this.#store.nowMs() <= this.#untilMs
  }

  async #begin(): Promise<number> {
    const { clients, foreign } = await this.#store.operationCounts()
    // A new store has no such operations.
    const sinceMs = clients + foreign === 0 ? Number.NEGATIVE_INFINITY : this.#store.nowMs()
    await this.#store.remember(NAME, new TextEncoder().encode(`${sinceMs}`))
    return sinceMs
  }
}
