/**
 * Operations that take effect once, as seen by requests. The store decides, within the commit; this class does what comes
 * before and after. An operation in progress is not started again. An operation that was done gets its first answer again, even
 * if it would now be refused. A refusal is an answer too: once a client has learnt that nothing was done, a late copy of the
 * request must not do it.
 *
 * An operation belongs to its caller (`read-operation.ts`). It is answered again as long as the rules could let that caller do
 * it. The object itself is not checked, since the operation may have deleted it, or given it to another owner. A refusal is
 * remembered if the rules let the caller do it and the request was well-formed. Every other request leaves nothing behind, and
 * its key is still unused.
 */
import type { CommitResult, Operation, OperationRefusal, Position, Store } from '@freshet/core/store'
import { FreshetError, fromProblem, type OperationId, type Problem, statusOf, toProblem } from '@freshet/protocol'
import type { Metrics } from '../monitoring/metrics.js'
import { changing } from '../settings/limits.js'
import type { ServerSettings } from '../settings/server-settings.js'
import { type AnswerNote, decodeNote, encodeNote } from './answer-note.js'
import { FormerOperations } from './former-operations.js'
import { InProgress } from './in-progress.js'
import type { AskedOperation } from './read-operation.js'
import { RememberedKeys } from './remembered-keys.js'

/** The header of a repeated first answer. */
export const REPLAYED: readonly string[] = ['Idempotency-Replayed', 'true']

/**
 * A refusal that any copy of the request would get, now and later. So it need not be remembered, and no earlier answer can
 * exist.
 */
export class LastingRefusal extends FreshetError {}

/** A refusal because the rules do not let the caller do it, whatever other reasons there may be. It is not remembered. */
export class UnallowedRefusal extends FreshetError {
  static of({ code, message, details }: FreshetError): UnallowedRefusal {
    return new UnallowedRefusal(code, message, { details })
  }
}

/** The caller of an operation, as far as it matters here. */
export interface Claimant {
  /** The namespaces that the caller wants to write to. */
  namespaces(): readonly string[]
  /** Undefined if the rules could let the caller do it, whatever is stored now. Then the caller may learn the result. */
  refusal(): FreshetError | undefined
}

/** The result of an operation: all that its answer is made of, the first time and every later time. */
export interface Outcome {
  readonly position: Position
  /** The new values of counters, in the order of the additions. */
  readonly units: readonly number[]
  readonly note: AnswerNote
  /** The operation had been done before. */
  readonly isReplayed: boolean
}

/** `note`: for the first time. */
export function outcomeOf({ position, units = [], replayed }: Committed, note: AnswerNote): Outcome {
  if (replayed === undefined) return { position, units, note, isReplayed: false }
  return { position, units, note: decodeNote(replayed.note), isReplayed: true }
}

/** The operation, as the store remembers it. */
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
   * `act` commits with the operation. An operation that was done before is not done again, and has its first result. Throws the
   * refusal, also a remembered one. (Not an async function, since one request may have thousands of operations.)
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

  /** An operation that was done before ids belonged to one caller is not done again. */
  #actUnlessFormer({ former }: AskedOperation, claimant: Claimant, act: () => Promise<Outcome>): Promise<Outcome> {
    if (former === undefined || !this.former.mayBeKnown || claimant.refusal() !== undefined) return act()
    return this.#find(former).then(done => done ?? act())
  }

  /** The result of an operation, if it is known. */
  async #find({ id, fingerprint }: Pick<AskedOperation, 'id' | 'fingerprint'>): Promise<Outcome | undefined> {
    return doneBefore(await this.#store.commit({ reads: IMPOSSIBLE, writes: [], operation: { id, fingerprint } }))
  }

  /** Throws the refusal, if that was the first answer. */
  #end(id: OperationId, outcome: Outcome): Outcome {
    this.#inProgress.end(id)
    if (!outcome.isReplayed) return outcome
    this.#metrics.replays.value++
    if (outcome.note.kind === 'refusal') throw refusalOf(outcome.note.problem)
    return outcome
  }

  /** Returns the first answer, if there was one. Otherwise throws the refusal, and remembers it if necessary. */
  async #refuse(operation: AskedOperation, claimant: Claimant, error: unknown): Promise<Outcome> {
    if (!(error instanceof FreshetError) || error instanceof LastingRefusal || statusOf(error.code) >= 500) throw error
    if (claimant.refusal() !== undefined) throw error
    const done = await (isRemembered(error) ? this.#remember(operation, claimant, error) : this.#find(operation))
    if (done === undefined) throw error
    return done
  }

  /** Remembers the refusal, unless there was an answer before; then returns that answer. */
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

/**
 * No commit has this version, so a commit that depends on it changes nothing: it only finds out whether its operation was done.
 */
const IMPOSSIBLE = [{ key: '_freshet/never/written', version: Number.MAX_SAFE_INTEGER }]

/** Refusals that do not depend on what is stored: the request was malformed, or is not for this caller. */
const UNASKED = new Set([400, 401, 413, 415])

function isRemembered(error: FreshetError): boolean {
  if (error instanceof UnallowedRefusal || error.code === 'FORBIDDEN') return false
  return error.code === 'LIMIT_EXCEEDED' || !UNASKED.has(statusOf(error.code))
}

const UUID_WITH_TIME = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/**
 * When the id was made, by the clock of its maker, if the id contains that, as a UUID of version 7 (RFC 9562) does. Otherwise
 * infinity.
 */
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
      'such as a random UUID, and the same id when you retry.',
    { details: { path } },
  )
}

function inProgress(): FreshetError {
  return new FreshetError(
    'OPERATION_IN_PROGRESS',
    'An operation with this Idempotency-Key is in progress. Send it again a little later to get its result.',
    { details: { retryAfterS: 1 } },
  )
}

/** Why the store did not try the operation. It would refuse any copy of it, or cannot remember it yet. */
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
        'The client that made this Idempotency-Key no longer waits for this operation. Nothing was done.',
        { details },
      )
    case 'seen':
      return new LastingRefusal(
        'OPERATION_SEEN',
        'An operation with this Idempotency-Key was done or refused before. This server remembers no more about it, and ' +
          'rarely mistakes a new operation for an old one: GET /idempotency has the rate. Nothing was done now. Read the ' +
          'current data.',
        { details },
      )
    case 'expired':
      return new LastingRefusal(
        'OPERATION_EXPIRED',
        `This operation was started more than ${Math.floor(retentionMs / 1000)} s ago, longer than operations are ` +
          'remembered, so the server cannot know whether it was done. Nothing was done now. Read the current data, then decide ' +
          `again. To have operations remembered for longer, ${changing('operationRetentionMs', 'raise')}.`,
        { details: { ...details, setting: 'operationRetentionMs' } },
      )
    case 'early':
      return new LastingRefusal(
        'IDEMPOTENCY_KEY_INVALID',
        'This Idempotency-Key contains a time in the future. GET /time returns the clock to make it with.',
        { details },
      )
    case 'overflowing':
      return new LastingRefusal(
        'LIMIT_EXCEEDED',
        'No more operations can be remembered: this client has too many operations that are not settled yet, or the memory ' +
          'for ids of other clients is full. Wait for answers, and retry later.',
        { details },
      )
  }
}
