/**
 * Operations that take effect once, as requests see them. The store decides, within the commit; here is what comes before
 * and after it: an operation that is being worked on is not begun again, and one that was done is answered as it was then,
 * even if what is there now would have it refused.
 */
import type { DoneOperation, OperationRefusal, Store } from '@freshet/core/store'
import { FreshetError, type OperationId } from '@freshet/protocol'
import type { Metrics } from '../operations/metrics.js'
import type { AskedOperation } from './read-operation.js'

/** The first answer is given again with this. */
export const REPLAYED: readonly string[] = ['Idempotency-Replayed', 'true']

export class Idempotency {
  readonly #store: Store
  readonly #metrics: Metrics
  readonly #inProgress = new Set<string>()

  constructor(store: Store, metrics: Metrics) {
    this.#store = store
    this.#metrics = metrics
  }

  /** `act` commits with the operation. If it refuses what was done before, `replay` makes the first outcome. */
  async once<Outcome extends { readonly note?: string | undefined }>(
    operation: AskedOperation | undefined,
    act: () => Promise<Outcome>,
    replay: (done: DoneOperation) => Outcome,
  ): Promise<Outcome> {
    if (operation === undefined) return act()
    const name = nameOf(operation.id)
    if (this.#inProgress.has(name)) throw inProgress()
    this.#inProgress.add(name)
    try {
      const outcome = await this.#actOrRecall(operation, act, replay)
      if (outcome.note !== undefined) this.#metrics.replays.value++
      return outcome
    } finally {
      this.#inProgress.delete(name)
    }
  }

  async #actOrRecall<Outcome>(
    { id, fingerprint }: AskedOperation,
    act: () => Promise<Outcome>,
    replay: (done: DoneOperation) => Outcome,
  ): Promise<Outcome> {
    try {
      return await act()
    } catch (refusal) {
      const done = await this.#store.recallOperation(id)
      if (done === undefined) throw refusal
      if (done.fingerprint !== fingerprint) throw operationRefused('mismatched', this.#store.supports.retentionMs)
      return replay(done)
    }
  }
}

function nameOf(id: OperationId): string {
  return id.kind === 'own' ? `f1.${id.client}.${id.sequence}` : id.id
}

export function keyRequired(path: string): FreshetError {
  return new FreshetError(
    'IDEMPOTENCY_KEY_REQUIRED',
    `${path} is in a bucket whose writes must be safe to repeat. Send the header Idempotency-Key with an id of your own, ` +
      'such as a random UUID, and the same one when you try again.',
    { details: { path } },
  )
}

function inProgress(): FreshetError {
  return new FreshetError(
    'OPERATION_IN_PROGRESS',
    'An operation with this Idempotency-Key is being worked on. Send it again a little later to hear what came of it.',
    { details: { retryAfterS: 1 } },
  )
}

/** Why the store did not even try. */
export function operationRefused(reason: OperationRefusal, retentionMs: number): FreshetError {
  const details = { reason, retentionMs }
  switch (reason) {
    case 'mismatched':
      return new FreshetError(
        'OPERATION_MISMATCHED',
        'This Idempotency-Key was used for another request. Nothing was done; make a new key for each operation.',
        { details },
      )
    case 'settled':
      return new FreshetError(
        'OPERATION_SETTLED',
        'The client that made this Idempotency-Key has said that it does not wait for this operation any more. Nothing was done.',
        { details },
      )
    case 'expired':
      return new FreshetError(
        'OPERATION_EXPIRED',
        `This operation was begun more than ${Math.floor(retentionMs / 1000)} s ago, longer than operations are remembered, ` +
          'so nobody knows whether it was done. Nothing was done now; read what is there, and decide anew.',
        { details },
      )
    case 'early':
      return new FreshetError(
        'IDEMPOTENCY_KEY_INVALID',
        'This Idempotency-Key says that it was made in the future. GET /time has the clock that it is to be made by.',
        { details },
      )
    case 'overflowing':
      return new FreshetError(
        'LIMIT_EXCEEDED',
        'This client has too many operations under way that it has not settled. Wait for their answers.',
        { details },
      )
  }
}
