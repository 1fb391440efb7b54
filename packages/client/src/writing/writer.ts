/**
 * Writes. Each is an operation with an id of its own (`operations/operation-ids.ts`), and takes effect once, however often it is
 * sent: for an operation that it has done before, the server repeats its answer. So a write is sent again until it is answered:
 *
 * | what happened                                          | the write is                                      |
 * | ------------------------------------------------------ | ------------------------------------------------- |
 * | refused before it was done: no connection, SERVER_BUSY | sent again, `retriesMax` times                    |
 * | no answer, or the server is still working on it        | sent again under the same id until its time is up |
 * | made in the future, by a clock that stood still        | sent again when that clock is known better        |
 *
 * A write that is given up nevertheless, because its time is up or its caller gave up, may have been done: `details.outcome` is
 * 'unknown'.
 */
import type { Session } from '@freshet/core/coherence'
import { FreshetError, type Position } from '@freshet/protocol'
import { isLost, isPassing, isRefused, type RetryPolicy, retry } from '../http/back-off.js'
import { Deadline } from '../http/deadline.js'
import { glimpse, type Reply, type Transport } from '../http/transport.js'
import type { Operation, OperationIds } from '../operations/operation-ids.js'
import type { MemoryCache } from '../reading/memory-cache.js'
import type { SessionRecorder } from '../recording/session-recorder.js'
import type { Refresher } from '../session/refresher.js'
import type { Outbox } from './outbox.js'
import type { Write, WriteOptions } from './write.js'

export interface WriterOptions {
  readonly session: Session
  readonly refresher: Refresher
  readonly transport: Transport
  readonly memory: MemoryCache | undefined
  readonly policy: RetryPolicy
  readonly ids: OperationIds
  readonly outbox: Outbox | undefined
  readonly recorder: SessionRecorder | undefined
  readonly timeoutMs: number
  readonly closed: AbortSignal
}

export class Writer {
  readonly #options: WriterOptions

  constructor(options: WriterOptions) {
    this.#options = options
  }

  get ids(): OperationIds {
    return this.#options.ids
  }

  /** Resolves with the parsed answer. Throws the server's error. */
  async write<Answer extends { readonly position: Position }>(write: Write, options: WriteOptions): Promise<Answer> {
    const { closed, policy, recorder, ids } = this.#options
    const begun = recorder?.begin()
    const { method, target } = write.request
    const { timeoutMs = this.#options.timeoutMs } = options
    const what = `${method} ${target}`
    const deadline = new Deadline({ timeoutMs, what, signals: [closed, options.signal] })
    const { signal } = deadline
    const operations = write.operations ?? [ids.begin()]
    const isOperation = operations.length > 0
    const outbox = isOperation ? this.#options.outbox : undefined
    const tries = { ...policy }
    let isKept = false
    let last: unknown
    const isRepeatable = isOperation || write.isIdempotent === true ? isPassingWrite : isRefused
    try {
      signal.throwIfAborted()
      const answer = await retry(tries, signal, isRepeatable, async () => {
        // A connection may be dead unnoticed. Half of the time leaves room for another one.
        const attempt = new Deadline({ timeoutMs: isOperation ? timeoutMs / 2 : timeoutMs, what, signals: [signal] })
        try {
          outbox?.note(operations, write)
          return await this.#send<Answer>(write, operations, attempt.signal)
        } catch (error) {
          if (!signal.aborted) last = error
          // With `retriesMax: 0`, there are no retries at all.
          if (isOperation && isLost(error) && tries.retriesMax > 0) tries.retriesMax = Number.POSITIVE_INFINITY
          if (isEarly(error)) await this.#renew(operations, signal)
          throw error
        } finally {
          attempt.end()
        }
      })
      if (begun !== undefined) recorder?.wrote(begun, write, answer)
      return answer
    } catch (error) {
      // The cause says why the time was not enough.
      if (error instanceof FreshetError && error.code === 'REQUEST_TIMEOUT') error.cause ??= last
      const kept = outbox?.keep(operations, write, error)
      isKept = kept !== undefined
      throw kept ?? error
    } finally {
      deadline.end()
      if (isKept) ids.beginLine()
      else {
        outbox?.remove(operations)
        for (const operation of operations) operation.settle()
      }
    }
  }

  async #renew(operations: readonly Operation[], signal: AbortSignal): Promise<void> {
    await this.#options.refresher.refresh(signal)
    for (const operation of operations) operation.renew()
  }

  async #send<Answer extends { readonly position: Position }>(
    { request, paths, operations, check }: Write,
    [operation]: readonly Operation[],
    signal: AbortSignal,
  ): Promise<Answer> {
    const { session, transport, memory } = this.#options
    const key = operations === undefined && operation ? { 'idempotency-key': operation.key } : {}
    const reply = await transport.text({ ...request, headers: { ...request.headers, ...key } }, signal)
    if (reply.problem) {
      this.#learn(reply.problem)
      throw reply.problem
    }
    const answer = parseAnswer<Answer>(`${request.method} ${transport.base}${request.target}`, reply)
    check?.(answer)
    session.wrote(paths, answer.position)
    for (const path of paths) memory?.delete(path)
    return answer
  }

  /**
   * A conflict contains versions that the session may not know: if the next read were older, the conflict would repeat forever.
   */
  #learn({ code, details }: FreshetError): void {
    if (code === 'VERSION_CONFLICT') this.#learnVersion(details)
    const { conflicts } = details
    if (code === 'COMMIT_CONFLICT' && Array.isArray(conflicts)) for (const found of conflicts) this.#learnVersion(found)
  }

  #learnVersion({ path, version }: Readonly<Record<string, unknown>>): void {
    if (typeof path === 'string' && Number.isSafeInteger(version)) this.#options.session.wrote([path], Number(version))
  }
}

function isPassingWrite(error: unknown): boolean {
  return isPassing(error) || isLost(error) || isEarly(error)
}

/** The server's clock stood still with the server, and the client's clock did not. */
function isEarly(error: unknown): boolean {
  return error instanceof FreshetError && error.details.reason === 'early'
}

function parseAnswer<Answer extends { readonly position: Position }>(name: string, reply: Reply<string>): Answer {
  try {
    const answer = JSON.parse(reply.body) as Answer
    if (Number.isSafeInteger(answer.position)) return answer
  } catch {
    // Not JSON: reported below.
  }
  throw new FreshetError(
    'ANSWER_INVALID',
    `${name} was answered ${reply.status}, but not as a Freshet server does: ${glimpse(reply.headers, reply.body)}.`,
    { details: { outcome: 'unknown' } },
  )
}
