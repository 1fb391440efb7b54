/**
 * Operations that take effect once, as requests see them. The store decides, within the commit; here is what comes before
 * and after it: an operation that is being worked on is not begun again, and one that was done is answered as it was then,
 * even if what is there now would have it refused. A refusal is an answer too: who was told that nothing was done must not
 * have it done by a copy of the request that comes late.
 *
 * An operation is its caller's (`read-operation.ts`), and is answered again as long as the rules could let that caller do it: the object
 * itself is not asked, since the operation may have deleted it, or have given it away. A refusal is remembered if the rules let the
 * caller do what was asked, and the request was understood. Every other request leaves nothing behind, and its key is still unused.
 */
import type { CommitResult, Operation, OperationRefusal, Position, Store } from '@freshet/core/store'
import { FreshetError, fromProblem, type OperationId, type Problem, statusOf, toProblem } from '@freshet/protocol'
import type { Metrics } from '../monitoring/metrics.js'
import type { ServerSettings } from '../settings/server-settings.js'
import { type AnswerNote, decodeNote, encodeNote } from './answer-note.js'
import { FormerOperations } from './former-operations.js'
import { InProgress } from './in-progress.js'
import type { AskedOperation } from './read-operation.js'
import { RememberedKeys } from './remembered-keys.js'

/** The first answer is given again with this. */
export const REPLAYED: readonly string[] = ['Idempotency-Replayed', 'true']

/** A refusal that any copy of the request would get, now and later: so it need not be remembered, and was not preceded by an answer. */
export class LastingRefusal extends FreshetError {}

/** A refusal of what the rules do not let the caller do, whatever else there is to say against it: it is not remembered. */
export class UnallowedRefusal extends FreshetError {
  static of({ code, message, details }: FreshetError): UnallowedRefusal {
    return new UnallowedRefusal(code, message, { details })
  }
}

/** Who asks for an operation. */
export interface Claimant {
  /** Of what they would write. */
  namespaces(): readonly string[]
  /** Undefined if the rules could let them do it, whatever is there now: then they are told what came of it. */
  refusal(): FreshetError | undefined
}

/** What an operation came to: all that its answer is made of, the first time and every time after. */
export interface Outcome {
  readonly position: Position
  /** What counters have reached, in the order of the additions. */
  readonly units: readonly number[]
  readonly note: AnswerNote
  /** It was done before. */
  readonly isReplayed: boolean
}

/** `note`: for the first time. */
export function outcomeOf({ position, units = [], replayed }: Committed, note: AnswerNote): Outcome {
  if (replayed === undefined) return { position, units, note, isReplayed: false }
  return { position, units, note: decodeNote(replayed.note), isReplayed: true }
}

/** As the store is to remember it. */
export function operationWith({ id, fingerprint }: AskedOperation, note: AnswerNote): Operation {
  return { id, fingerprint, note: encodeNote(note) }
}

type Committed = Extract<CommitResult, { readonly committed: true }>

export class Idempotency {
  readonly #store: Store
  readonly #metrics: Metrics
  readonly #inProgress = new InProgress()
  readonly keys: RememberedKeys
  readonly former: FormerOperations

  constructor(store: Store, metrics: Metrics, { keysPerNamespaceMax }: Pick<ServerSettings, 'keysPerNamespaceMax'>) {
    this.#store = store
    this.#metrics = metrics
    this.keys = new RememberedKeys(store, keysPerNamespaceMax)
    this.former = new FormerOperations(store)
  }

  /**
   * `act` commits with the operation. What was done before is not done again, and comes to what it came to then. Throws the refusal, also
   * one of then. (No async function: there may be thousands of operations in one request.)
   */
  once(operation: AskedOperation | undefined, claimant: Claimant, act: () => Promise<Outcome>): Promise<Outcome> {
    if (operation === undefined) return act()
    const { id } = operation
    const { retentionMs } = this.#store.supports
    const refuse = (refusal: FreshetError) => Promise.reject(claimant.refusal() ?? refusal)
    if (id.kind === 'foreign' && Date.now() - timeIn(id.id) > retentionMs) {
      return refuse(operationRefused('expired', retentionMs))
    }
    if (!this.#inProgress.begin(id)) return refuse(inProgress())
    return this.#actUnlessFormer(operation, claimant, act).then(
      outcome => this.#end(id, outcome),
      error =>
        this.#refuse(operation, claimant, error).then(
          outcome => this.#end(id, outcome),
          refusal => {
            this.#inProgress.end(id)
            throw refusal
          },
        ),
    )
  }

  /** If it was done before ids were of one caller, it is done already. */
  #actUnlessFormer({ former }: AskedOperation, claimant: Claimant, act: () => Promise<Outcome>): Promise<Outcome> {
    if (former === undefined || !this.former.mayBeKnown || claimant.refusal() !== undefined) return act()
    return this.#find(former).then(done => done ?? act())
  }

  /** What came of an operation, if it is known. */
  async #find({ id, fingerprint }: Pick<AskedOperation, 'id' | 'fingerprint'>): Promise<Outcome | undefined> {
    return doneBefore(await this.#store.commit({ reads: IMPOSSIBLE, writes: [], operation: { id, fingerprint } }))
  }

  /** Throws the refusal, if that is what was answered the first time. */
  #end(id: OperationId, outcome: Outcome): Outcome {
    this.#inProgress.end(id)
    if (!outcome.isReplayed) return outcome
    this.#metrics.replays.value++
    if (outcome.note.kind === 'refusal') throw refusalOf(outcome.note.problem)
    return outcome
  }

  /** Answers what was answered before, if anything was. Else throws the refusal, and remembers it if it is one to remember. */
  async #refuse(operation: AskedOperation, claimant: Claimant, error: unknown): Promise<Outcome> {
    if (!(error instanceof FreshetError) || error instanceof LastingRefusal || statusOf(error.code) >= 500) throw error
    if (claimant.refusal() !== undefined) throw error
    const done = await (isRemembered(error) ? this.#remember(operation, claimant, error) : this.#find(operation))
    if (done === undefined) throw error
    return done
  }

  /** Unless there was an answer before: then this is it. */
  async #remember(asked: AskedOperation, claimant: Claimant, error: FreshetError): Promise<Outcome | undefined> {
    const adds = await this.keys.additionsFor(asked.id, claimant.namespaces())
    const operation = operationWith(asked, { kind: 'refusal', problem: toProblem(error) })
    const result = await this.#store.commit({ writes: [], adds, operation })
    if (!result.committed && result.refusedOperation !== undefined) {
      throw operationRefused(result.refusedOperation, this.#store.supports.retentionMs)
    }
    return doneBefore(result)
  }
}

function doneBefore(result: CommitResult): Outcome | undefined {
  if (!result.committed || result.replayed === undefined) return undefined
  return outcomeOf(result, NOTHING)
}

const NOTHING: AnswerNote = { kind: 'counters', decimals: [] }

/** No commit has this version, so one that relies on it changes nothing: it only finds out whether its operation was done. */
const IMPOSSIBLE = [{ key: '_freshet/never/written', version: Number.MAX_SAFE_INTEGER }]

/** Refusals of what was asked for, whatever is there: the request was not understood, or is not for this caller. */
const UNASKED = new Set([400, 401, 413, 415])

function isRemembered(error: FreshetError): boolean {
  if (error instanceof UnallowedRefusal || error.code === 'FORBIDDEN') return false
  return error.code === 'LIMIT_EXCEEDED' || !UNASKED.has(statusOf(error.code))
}

const UUID_WITH_TIME = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** When it was made, by the clock of its maker, if it says so: a UUID of version 7 (RFC 9562) does. Else some time to come. */
function timeIn(id: string): number {
  const [, high, low] = UUID_WITH_TIME.exec(id.slice(id.indexOf(' ') + 1)) ?? []
  return high === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(high + low!, 16)
}

function refusalOf(problem: Problem): FreshetError {
  const { code, message, details } = fromProblem(problem)!
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
