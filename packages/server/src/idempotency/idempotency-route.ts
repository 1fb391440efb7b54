/** `GET /idempotency`: for how long operations are remembered, how many are, and what that costs. */
import type { Store } from '@freshet/core/store'
import type { IdempotencyAnswer } from '@freshet/protocol'
import { type Answer, jsonAnswer } from '../http/answer.js'
import type { Route } from '../http/call.js'
import type { Metrics } from '../operations/metrics.js'

export class IdempotencyRoute {
  readonly #store: Store
  readonly #metrics: Metrics

  constructor(store: Store, metrics: Metrics) {
    this.#store = store
    this.#metrics = metrics
  }

  route(): Route {
    return { pattern: '/idempotency', operations: { GET: { access: 'admin', handle: () => this.#get() } } }
  }

  async #get(): Promise<Answer> {
    const answer: IdempotencyAnswer = {
      retentionMs: this.#store.supports.retentionMs,
      ...(await this.#store.operationCounts()),
      replays: this.#metrics.replays.value,
    }
    return jsonAnswer(200, answer)
  }
}
