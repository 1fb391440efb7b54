/**
 * Records what a session does, for the checker in `core/history`. The begin time of an operation is taken before anything is
 * done and its end time after everything is, so that clocks err on the lenient side.
 *
 * While it records, the recorder asks the server for its time every few seconds, and once more after the last operation: only
 * what lies between two such exchanges can be compared exactly with the recordings of other processes.
 */
import { cristianOffset } from '@freshet/core/clock'
import type { ReadMode, Session } from '@freshet/core/coherence'
import { type ClockSample, HistoryRecorder } from '@freshet/core/history'
import type { Path, Position, Version } from '@freshet/protocol'
import { createNonce } from '../http/nonce.js'
import type { Transport } from '../http/transport.js'
import type { RecordClock } from './record-clock.js'
import type { RecordOptions } from './record-options.js'

export interface SessionRecorderOptions {
  readonly record: RecordOptions
  readonly clock: RecordClock
  /** The id of this session, drawn at random. */
  readonly id: string
  readonly session: Session
  readonly transport: Transport
  readonly token: string | undefined
  readonly closed: AbortSignal
}

/** An operation under way. */
export interface BegunOperation {
  readonly us: number
  readonly log: string | undefined
  readonly position: Position
}

/** A read that has ended: the facts that all objects in it share. */
export interface EndedRead extends BegunOperation {
  readonly endedUs: number
  readonly withinMs: number | undefined
  readonly statePosition: Position
  readonly servedFrom: string
}

/** The recorded part of a write. */
export interface RecordedWrite {
  readonly request: { readonly target: string }
  readonly paths: readonly Path[]
  readonly deleted?: readonly Path[]
  readonly createdPath?: (id: string) => Path
}

/** The outcome of a write; each of several additions has its own result, and a refused one has no version. */
export interface WriteOutcome {
  readonly position: Position
  readonly id?: string
  readonly results?: readonly { readonly id: string; readonly version?: Version }[]
}

const EXCHANGE_MS = 5000
/** `/time` returns whole milliseconds, rounded down. */
const SERVER_STEP_US = 1000

export class SessionRecorder {
  readonly #options: SessionRecorderOptions
  readonly #history: HistoryRecorder
  #log: string | undefined
  #logs = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #lastToken: string | undefined

  constructor(options: SessionRecorderOptions) {
    this.#options = options
    this.#history = new HistoryRecorder({ ...options.record, clock: options.clock.id })
    options.closed.addEventListener('abort', () => clearTimeout(this.#timer), { once: true })
  }

  /** Await this before the first operation; the session knows its log by then. */
  async start(): Promise<void> {
    await this.#exchange()
  }

  begin(): BegunOperation {
    const { log, position } = this.#options.session
    return { us: this.#options.clock.nowUs(), log, position }
  }

  endRead(
    begun: BegunOperation,
    mode: ReadMode,
    { position, served }: { readonly position: Position; readonly served: { readonly from: string } },
  ): EndedRead {
    const withinMs = this.#withinMs(mode)
    const endedUs = this.#options.clock.nowUs()
    return { ...begun, endedUs, withinMs, statePosition: position, servedFrom: served.from }
  }

  /** Records one object, or the list of a bucket, of a read. */
  read(path: Path, version: Version, ended: EndedRead): void {
    const name = this.#nameFor(ended)
    if (name === undefined) return
    this.#lastToken = undefined
    const { us: beganUs, endedUs, withinMs, statePosition, position: sessionPosition, servedFrom } = ended
    const position = Math.max(version, statePosition)
    this.#history.read(name, { path, beganUs, endedUs, withinMs, version, position, sessionPosition, servedFrom })
  }

  /** Records one object of a list: it is seen when the list is parsed, not when it arrived. */
  readItem(path: Path, version: Version, ended: EndedRead): void {
    this.read(path, version, { ...ended, endedUs: this.#options.clock.nowUs() })
  }

  wrote(
    begun: BegunOperation,
    { request, paths, deleted = [], createdPath }: RecordedWrite,
    outcome: WriteOutcome,
  ): void {
    const endedUs = this.#options.clock.nowUs()
    const name = this.#nameFor(begun)
    if (name === undefined) return
    this.#lastToken = undefined
    const op = request.target === '/commit' ? 'commit' : 'write'
    // Each addition that was done changes the bucket.
    const known = outcome.results === undefined ? paths.filter(path => !deleted.includes(path)) : [request.target]
    for (const [position, created] of createdBy(outcome, createdPath)) {
      const written = [...created, ...known]
      this.#history.write(name, { op, position, written, deleted, beganUs: begun.us, endedUs })
    }
  }

  /** Records that the program took the session's token, presumably to hand it on. */
  handedOn(token: string): void {
    const { log } = this.#options.session
    const name = this.#nameFor({ log })
    if (name === undefined || token === this.#lastToken) return
    this.#lastToken = token
    this.#history.token(name, this.#options.clock.nowUs(), token)
  }

  #withinMs(mode: ReadMode): number | undefined {
    if (mode === 'any') return undefined
    if (mode === 'current') return 0
    return mode === 'session' ? this.#options.session.stalenessMs : mode.withinMs
  }

  /**
   * The session's name in the recording; another one for each log that it meets, since positions of one log mean nothing in
   * another. Undefined for an operation that began in another log than it ended in.
   */
  #nameFor({ log }: Pick<BegunOperation, 'log'>): string | undefined {
    if (log === undefined || log !== this.#options.session.log) return undefined
    if (log !== this.#log) this.#meet(log, undefined)
    this.#timer ??= this.#startTimer()
    return this.#name
  }

  get #name(): string {
    return this.#logs === 1 ? this.#options.id : `${this.#options.id}.${this.#logs}`
  }

  #meet(log: string, sample: ClockSample | undefined): void {
    const { clock, token } = this.#options
    const isFirst = this.#logs === 0
    const isNew = this.#log !== log
    if (isNew) this.#logs++
    this.#log = log
    const more = isFirst && token !== undefined ? { token } : {}
    this.#history.session(this.#name, log, clock.nowUs(), sample, more)
  }

  #startTimer(): ReturnType<typeof setTimeout> | undefined {
    if (this.#options.closed.aborted) return undefined
    const timer = setTimeout(() => {
      this.#timer = undefined
      void this.#exchange()
    }, EXCHANGE_MS)
    // The timer must not keep the process alive. Browsers have numbers here.
    if (typeof timer === 'object') (timer as { unref?: () => void }).unref?.()
    return timer
  }

  async #exchange(): Promise<void> {
    const sample = await this.#askTime()
    const { log } = this.#options.session
    if (log !== undefined) this.#meet(log, sample)
  }

  /** Undefined if there is no answer, or one from a cache: then the recording is less precise, and nothing else fails. */
  async #askTime(): Promise<ClockSample | undefined> {
    const { transport, clock, closed } = this.#options
    const askedUs = clock.nowUs()
    try {
      const nonce = createNonce()
      const target = `/time?nonce=${nonce}`
      const { body, problem } = await transport.text({ method: 'GET', target, cache: 'no-store' }, closed)
      const atUs = clock.nowUs()
      if (problem !== undefined) return undefined
      const time = JSON.parse(body) as { readonly timeMs?: unknown; readonly nonce?: unknown }
      if (!Number.isFinite(time.timeMs) || time.nonce !== nonce) return undefined
      const server = Math.floor(Number(time.timeMs) * 1000)
      const { least, most } = cristianOffset({ asked: askedUs, answered: atUs, server, serverStep: SERVER_STEP_US })
      return { atUs, leastUs: least, mostUs: most }
    } catch {
      return undefined
    }
  }
}

/** By position: the paths that only the answer names. */
function createdBy(
  { position, id, results }: WriteOutcome,
  createdPath: RecordedWrite['createdPath'],
): ReadonlyMap<Position, readonly Path[]> {
  if (createdPath === undefined) return new Map([[position, []]])
  const created = new Map<Position, Path[]>()
  for (const { id: name, version } of results ?? (id === undefined ? [] : [{ id, version: position }])) {
    if (version !== undefined) created.set(version, [...(created.get(version) ?? []), createdPath(name)])
  }
  return created
}
