/**
 * Operations that take effect once, as requests see them. The store decides, within the commit; here is what comes before
 * and after it: an operation that is being worked on is not begun again, and one that was done is answered as it was then,
 * even if what is there now would have it refused. A refusal is an answer too: who was told that nothing was done must not
 * have it done by a copy of the request that comes late.
 */
import type { OperationRefusal, Position, Store } from '@freshet/core/store'
import { FreshetError, fromProblem, type OperationId, statusOf, toProblem } from '@freshet/protocol'
import type { Metrics } from '../operations/metrics.js'
import { InProgress } from './in-progress.js'
import type { AskedOperation } from './read-operation.js'

/** The first answer is given again with this. */
export const REPLAYED: readonly string[] = ['Idempotency-Replayed', 'true']

/** How the note of a refusal begins: the problem follows. */
const REFUSED = '!'

/** A refusal that any copy of the request would get, now and later: so it need not be remembered. */
export class LastingRefusal extends FreshetError {}

/** What was done before. */
export interface Replayed {
  readonly position: Position
  readonly units: readonly number[]
  readonly note: string
}

export class Idempotency {
  readonly #store: Store
  readonly #metrics: Metrics
  readonly #inProgress = new InProgress()

  constructor(store: Store, metrics: Metrics) {
    this.#store = store
    this.#metrics = metrics
  }

  /**
   * `act` commits with the operation. If it refuses what was done before, `replay` makes the first outcome. (No async function:
   * there may be thousands of operations in one request.)
   */
  once<Outcome extends { readonly note?: string | undefined }>(
    operation: AskedOperation | undefined,
    act: () => Promise<Outcome>,
    replay: (done: Replayed) => Outcome,
  ): Promise<Outcome> {
    if (operation === undefined) return act()
    const { id } = operation
    const { retentionMs } = this.#store.supports
    if (id.kind === 'foreign' && Date.now() - timeIn(id.id) > retentionMs) {
      return Promise.reject(operationRefused('expired', retentionMs))
    }
    if (!this.#inProgress.begin(id)) return Promise.reject(inProgress())
    return act().then(
      outcome => this.#end(id, outcome),
      error =>
        this.#refuse(operation, error, replay).then(
          outcome => this.#end(id, outcome),
          refusal => {
            this.#inProgress.end(id)
            throw refusal
          },
        ),
    )
  }

  /** Throws the refusal, if that is what was answered the first time. */
  #end<Outcome extends { readonly note?: string | undefined }>(id: OperationId, outcome: Outcome): Outcome {
    this.#inProgress.end(id)
    if (outcome.note === undefined) return outcome
    this.#metrics.replays.value++
    if (outcome.note.startsWith(REFUSED)) throw refusalOf(outcome.note)
    return outcome
  }

  /** Remembers the refusal, unless there was an answer before. */
  async #refuse<Outcome>(
    operation: AskedOperation,
    error: unknown,
    replay: (done: Replayed) => Outcome,
  ): Promise<Outcome> {
    if (!(error instanceof FreshetError) || error instanceof LastingRefusal || statusOf(error.code) >= 500) throw error
    const note = REFUSED + JSON.stringify(toProblem(error))
    const result = await this.#store.commit({ writes: [], operation: { ...operation, note } })
    if (!result.committed) throw operationRefused(result.refusedOperation!, this.#store.supports.retentionMs)
    if (result.replayed === undefined) throw error
    const { position, units = [], replayed } = result
    return replay({ position, units, note: replayed.note })
  }
}

const UUID_WITH_TIME = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** When it was made, by the clock of its maker, if it says so: a UUID of version 7 (RFC 9562) does. Else some time to come. */
function timeIn(id: string): number {
  const [, high, low] = UUID_WITH_TIME.exec(id) ?? []
  return high === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(high + low!, 16)
}

function refusalOf(note: string): FreshetError {
  const { code, message, details } = fromProblem(JSON.parse(note.slice(REFUSED.length)))!
  return new FreshetError(code, message, { details: { ...details, replayed: true } })
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

/** Why the store did not even try. It would not for any copy, or has not begun to know this one. */
export function operationRefused(reason: OperationRefusal, retentionMs: number): LastingRefusal {
  const details = { reason, retentionMs }
  switch (reason) {
    case 'mismatched':
      return new LastingRefusal(
        'OPERATION_MISMATCHED',
        'This Idempotency-Key was used for another request. Nothing was done; make a new key for each operation.',
        { details },
      )
    case 'settled':
      return new LastingRefusal(
        'OPERATION_SETTLED',
        'The client that made this Idempotency-Key has said that it does not wait for this operation any more. Nothing was done.',
        { details },
      )
    case 'seen':
      return new LastingRefusal(
        'OPERATION_SEEN',
        'An operation with this Idempotency-Key was done or refused before. This server does not remember more of it, and once in ' +
          'a long while takes a new one for it: GET /idempotency has the rate. Nothing was done now; read what is there.',
        { details },
      )
    case 'expired':
      return new LastingRefusal(
        'OPERATION_EXPIRED',
        `This operation was begun more than ${Math.floor(retentionMs / 1000)} s ago, longer than operations are remembered, ` +
          'so nobody knows whether it was done. Nothing was done now; read what is there, and decide anew.',
        { details },
      )
    case 'early':
      return new LastingRefusal(
        'IDEMPOTENCY_KEY_INVALID',
        'This Idempotency-Key says that it was made in the future. GET /time has the clock that it is to be made by.',
        { details },
      )
    case 'overflowing':
      return new LastingRefusal(
        'LIMIT_EXCEEDED',
        'No more operations can be remembered: this client has too many under way that it has not settled, or the memory for ids ' +
          'of others is full. Wait for answers, and try again later.',
        { details },
      )
  }
}
