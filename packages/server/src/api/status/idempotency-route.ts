/** `GET /idempotency`: how long operations are remembered, how many are, and what that costs. */
import type { Store } from '@freshet/core/store'
import type { IdempotencyAnswer } from '@freshet/protocol'
import { jsonAnswer } from '../../http/answer.js'
import type { Metrics } from '../../monitoring/metrics.js'
import type { Handler, Route } from '../../routing/call.js'

export function idempotencyRoute(store: Store, metrics: Metrics): Route {
  const handle: Handler = async () => {
    const { retentionMs } = store.supports
    const counts = await store.operationCounts()
    const answer: IdempotencyAnswer = { retentionMs, ...counts, replays: metrics.replays.value }
    return jsonAnswer(200, answer)
  }
  return { pattern: '/idempotency', methods: { GET: { access: 'admin', handle } } }
}
