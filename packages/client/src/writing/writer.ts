/**
 * Writes, and when one may be sent again. What must never happen is that a write takes effect twice, or over somebody's
 * later one, without the caller having said that this would be fine.
 *
 * | what happened                                          | the write is                                          |
 * | ------------------------------------------------------ | ----------------------------------------------------- |
 * | refused before it was done: no connection, SERVER_BUSY | sent again                                            |
 * | no answer, and it says which version it replaces       | sent again: if the first was done, the second cannot  |
 * | no answer otherwise                                    | sent again only with `mayRepeat`, else REQUEST_FAILED |
 *
 * In the second row, a conflict after a lost answer may be with the write itself. That is not passed off as a conflict:
 * it is REQUEST_FAILED, with `details.outcome` 'unknown'.
 */
import { FreshetError, type Path, type Position, type Version } from '@freshet/protocol'
import { isOutcomeUnknown, isPassing, isRefused, type RetryPolicy, retry } from '../http/back-off.js'
import { Deadline } from '../http/deadline.js'
import { glimpse, type Reply, type Request, type Transport } from '../http/transport.js'
import type { MemoryCache } from '../reading/memory-cache.js'
import type { BegunOperation, SessionRecorder } from '../recording/session-recorder.js'
import type { TrackedSession } from '../session/tracked-session.js'

export interface WriteOptions {
  /** Only if this is the version there is; 'absent': only if there is none. Else VERSION_CONFLICT. */
  readonly ifVersion?: Version | 'absent'
  /** It may take effect twice, and over what somebody else wrote in between, if the first answer gets lost. */
  readonly mayRepeat?: boolean
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface WriterOptions {
  readonly session: TrackedSession
  readonly transport: Transport
  readonly memory: MemoryCache | undefined
  readonly policy: RetryPolicy
  readonly recorder: SessionRecorder | undefined
  readonly timeoutMs: number
  readonly closed: AbortSignal
}

export interface Write {
  readonly request: Request
  /** What it changes, including the paths of buckets, whose lists it changes. */
  readonly paths: readonly Path[]
  /** Those of them that it deletes. */
  readonly deleted?: readonly Path[]
  /** What it creates, where the server makes up the id. */
  readonly createdPath?: (id: string) => Path
  /** Whether it names the version of something it changes: then it cannot be done twice. */
  readonly isConditional: boolean
}

export class Writer {
  readonly #options: WriterOptions

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /** Resolves with the parsed answer. Throws the server's error. */
  async write<Answer extends { readonly position: Position }>(write: Write, options: WriteOptions): Promise<Answer> {
    const { closed, policy, recorder } = this.#options
    const begun = recorder?.begin()
    const { method, target } = write.request
    const deadline = new Deadline({
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs,
      what: `${method} ${target}`,
      signals: [closed, options.signal],
    })
    const isRepeatable = (error: unknown) =>
      isRefused(error) || ((write.isConditional || options.mayRepeat === true) && isLost(error))
    let lost: unknown
    try {
      deadline.signal.throwIfAborted()
      const answer = await retry(policy, deadline.signal, isRepeatable, async () => {
        try {
          return await this.#send<Answer>(write, deadline.signal)
        } catch (error) {
          if (lost !== undefined && isConflict(error) && options.mayRepeat !== true) throw ambiguous(error, lost)
          if (isLost(error)) lost = error
          throw error
        }
      })
      if (begun !== undefined) this.#record(begun, write, answer)
      return answer
    } finally {
      deadline.end()
    }
  }

  async #send<Answer extends { readonly position: Position }>(write: Write, signal: AbortSignal): Promise<Answer> {
    const { session, transport, memory } = this.#options
    const reply = await transport.text(write.request, signal)
    if (reply.problem) {
      this.#learn(reply.problem)
      throw reply.problem
    }
    const answer = parseAnswer<Answer>(`${write.request.method} ${transport.base}${write.request.target}`, reply)
    session.wrote(write.paths, answer.position)
    for (const path of write.paths) memory?.delete(path)
    return answer
  }

  #record(
    begun: BegunOperation,
    { request, paths, deleted = [], createdPath }: Write,
    { position, id }: { readonly position: Position; readonly id?: string },
  ): void {
    const created = createdPath !== undefined && id !== undefined ? [createdPath(id)] : []
    const written = [...created, ...paths.filter(path => !deleted.includes(path))]
    const op = request.target === '/commit' ? 'commit' : 'write'
    this.#options.recorder?.wrote(begun, { op, position, written, deleted })
  }

  /** A conflict tells of versions that the session may not know: the next read must not be older, or it never ends. */
  #learn({ code, details }: FreshetError): void {
    if (code === 'VERSION_CONFLICT') this.#learnVersion(details)
    const { conflicts } = details
    if (code === 'COMMIT_CONFLICT' && Array.isArray(conflicts)) for (const found of conflicts) this.#learnVersion(found)
  }

  #learnVersion({ path, version }: Readonly<Record<string, unknown>>): void {
    if (typeof path === 'string' && Number.isSafeInteger(version)) this.#options.session.wrote([path], Number(version))
  }
}

/** The answer was lost, and with it what became of the write. */
function isLost(error: unknown): boolean {
  return isOutcomeUnknown(error) && isPassing(error)
}

function isConflict(error: unknown): error is FreshetError {
  return error instanceof FreshetError && (error.code === 'VERSION_CONFLICT' || error.code === 'COMMIT_CONFLICT')
}

function ambiguous(conflict: FreshetError, lost: unknown): FreshetError {
  return new FreshetError(
    'REQUEST_FAILED',
    'The answer to this write got lost, and when it was sent again the version was another one: it was done, or somebody ' +
      'else came first. Read it to find out.',
    { cause: conflict, details: { outcome: 'unknown', lost } },
  )
}

function parseAnswer<Answer extends { readonly position: Position }>(name: string, reply: Reply<string>): Answer {
  try {
    const answer = JSON.parse(reply.body) as Answer
    if (Number.isSafeInteger(answer.position)) return answer
  } catch {
    // Not JSON: said below.
  }
  throw new FreshetError(
    'ANSWER_INVALID',
    `${name} was answered ${reply.status}, but not as a Freshet server does: ${glimpse(reply.headers, reply.body)}.`,
    { details: { outcome: 'unknown' } },
  )
}
