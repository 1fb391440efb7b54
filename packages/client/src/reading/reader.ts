/**
 * The course of a read. Is the sketch fresh enough for it? If not, refresh it. Is there a copy in this process that the sketch
 * does not contradict? If not, choose the URL, and fetch it from whichever cache is nearest. Is the answer acceptable?
 *
 * An unacceptable answer comes from a cache that ignores the query string, serves copies long past their lifetime, or removes
 * the position that would prove the answer. The reader then repeats the request past the caches that obey request headers
 * (`reload`), and then at the session's own position, a URL of which no such cache has a copy. If that does not help either, the
 * read fails with CACHE_UNTRUSTWORTHY.
 * fails with CACHE_UNTRUSTWORTHY.
 */
import type { Dependencies, ReadMode, Session } from '@freshet/core/coherence'
import { FreshetError, type Path, type Position, type Version } from '@freshet/protocol'
import type { Clock } from '../clock/pessimistic-clock.js'
import { isPassing, type RetryPolicy, retry } from '../http/back-off.js'
import { Deadline, ofReading, pause } from '../http/deadline.js'
import { SharedFlights } from '../http/shared-flights.js'
import type { Body, Request, Transport } from '../http/transport.js'
import type { BegunOperation, EndedRead, SessionRecorder } from '../recording/session-recorder.js'
import type { Refresher } from '../session/refresher.js'
import type { Copy, MemoryCache } from './memory-cache.js'
import { OverlappingReads } from './overlapping-reads.js'
import { type ReadAnswer, readAnswer } from './read-answer.js'
import { checkMode, type ReadOptions } from './read-options.js'
import { type ReadRequest, targetOf } from './read-request.js'
import { RecentMap } from './recent-map.js'
import { RecentReads } from './recent-reads.js'
import { fromAge, type ReadEvent, type Served, servedFrom } from './served.js'

export interface ReadResult {
  readonly body: Body
  readonly contentType: string
  /** The state it was read from includes this position. */
  readonly position: Position
  readonly served: Served
  /** When it began and ended, if the session is recorded. */
  readonly recorded?: EndedRead
}

export interface ReaderOptions {
  readonly session: Session
  readonly refresher: Refresher
  readonly transport: Transport
  readonly clock: Clock
  readonly memory: MemoryCache | undefined
  readonly policy: RetryPolicy
  readonly timeoutMs: number
  readonly read: ReadMode
  readonly hasBrowserCache: boolean
  readonly onRead: ((event: ReadEvent) => void) | undefined
  readonly recorder: SessionRecorder | undefined
  readonly closed: AbortSignal
}

/** An object on a page. */
interface ShownItem {
  readonly id: string
  readonly version: Version
}

/** Each way goes further past the caches. */
const WAYS = ['default', 'reload', 'no-store'] as const

/** Limits for fetching changed objects ahead of reads. */
const AHEAD = {
  /** How many are fetched at once for each event. All readers behind a cache fetch when the same object changes. */
  atOnceMax: 2,
  /** Over how many fetches the duration of a fetch is averaged. */
  smoothing: 8,
}
/** For how many queries the dependencies of the last answer are kept. A forgotten one costs one request. */
const DEPENDENCIES_MAX = 1000

export class Reader {
  readonly #options: ReaderOptions
  readonly #session: Session
  readonly #flights = new SharedFlights<ReadAnswer>()
  readonly #overlapping = new OverlappingReads()
  readonly #recent = new RecentReads()
  #aheadMs = 0
  /** By the name of a query: what its last answer depended on, so that the next request has the right position at once. */
  readonly #dependencies = new RecentMap<string, Dependencies>(DEPENDENCIES_MAX)
  lastReadMs = 0

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#session = options.session
  }

  /** The copy in this process, if it is current; does not wait for anything. */
  fromMemory(request: ReadRequest, options: ReadOptions): ReadResult | undefined {
    const { memory, clock, closed, recorder } = this.#options
    if (memory === undefined || closed.aborted || options.signal?.aborted) return undefined
    const begun = recorder?.begin()
    const beganAtMs = clock()
    const mode = this.#modeOf(options)
    if (this.#session.needsRefresh(mode, beganAtMs)) return undefined
    this.lastReadMs = beganAtMs
    return this.#record(request, mode, begun, this.#keptCopy(request, mode, beganAtMs))
  }

  async read(request: ReadRequest, options: ReadOptions): Promise<ReadResult> {
    const begun = this.#options.recorder?.begin()
    const beganAtMs = this.#options.clock()
    this.lastReadMs = beganAtMs
    const mode = this.#modeOf(options)
    const deadline = new Deadline({
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs,
      what: `Reading ${request.name}`,
      signals: [this.#options.closed, options.signal],
    })
    for (const path of shownIn(request)) this.#overlapping.begin(path)
    try {
      deadline.signal.throwIfAborted()
      const result = await this.#fetch(request, mode, beganAtMs, deadline.signal)
      return this.#record(request, mode, begun, result)
    } catch (error) {
      throw ofReading(error)
    } finally {
      for (const path of shownIn(request)) this.#overlapping.end(path)
      deadline.end()
    }
  }

  /**
   * Fetches what was read lately and has changed, before a read asks for it, and before the session learns of the change: until
   * then, the known copy is used. For changes that are not worth a fetch it waits as long as one takes: other readers may be
   * fetching them, and then the shared cache has them. Never fails.
   */
  async readAhead(changedAt: (path: Path) => Position | undefined): Promise<void> {
    const { clock, closed } = this.#options
    const dependenciesOf = (request: ReadRequest) => this.#dependenciesOf(request)
    const { toFetch, hasOthers } = this.#recent.changed(changedAt, clock(), dependenciesOf)
    const waiting = [...toFetch]
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        await this.#fetchAhead(next.request, next.at).catch(() => {})
      }
    }
    await Promise.all([
      ...Array.from({ length: AHEAD.atOnceMax }, work),
      hasOthers ? pause(this.#aheadMs, closed).catch(() => {}) : undefined,
    ])
  }

  /** Records that a list has shown an object in this version, or its absence at this position. */
  show(path: Path, version: Position): void {
    this.#session.saw(path, version)
    this.#overlapping.show(path, version)
  }

  /** Records that a page of a list or a query has shown these objects, and that others are absent. */
  showPage(items: readonly ShownItem[], pathOf: (id: string) => Path, result: ReadResult): void {
    for (const { id, version } of items) {
      const path = pathOf(id)
      this.show(path, version)
      this.recordItem(path, version, result)
    }
    this.showList(result.served.version || result.position)
  }

  /** Records that a list was shown in this version, and with it the absence of objects that are not in it. */
  showList(version: Version): void {
    this.#session.sawList(version)
  }

  /** Records, for `freshet check`, an object that was part of a read; version 0 if it was absent. */
  recordItem(path: Path, version: Version, { recorded }: ReadResult): void {
    if (recorded !== undefined) this.#options.recorder?.readItem(path, version, recorded)
  }

  /** The default was checked when the connection was made. Throws OPTIONS_INVALID. */
  #modeOf({ read }: ReadOptions): ReadMode {
    return read === undefined ? this.#options.read : checkMode(read)
  }

  #record<Result extends ReadResult | undefined>(
    { path, hasVersion, dependenciesIn }: ReadRequest,
    mode: ReadMode,
    begun: BegunOperation | undefined,
    result: Result,
  ): Result {
    const { recorder } = this.#options
    if (recorder === undefined || begun === undefined || result === undefined) return result
    const recorded = recorder.endRead(begun, mode, result)
    // The version of a query's result is not that of its bucket.
    if (hasVersion && dependenciesIn === undefined) recorder.read(path, result.served.version ?? 0, recorded)
    return { ...result, recorded }
  }

  async #fetch(request: ReadRequest, mode: ReadMode, beganAtMs: number, signal: AbortSignal): Promise<ReadResult> {
    const { refresher, policy, clock } = this.#options
    if (this.#session.needsRefresh(mode, beganAtMs)) await refresher.ensure(mode, beganAtMs, signal)
    const kept = this.#keptCopy(request, mode, clock())
    if (kept) return kept
    return retry(policy, signal, isPassing, async () => {
      try {
        return await this.#fetchAcceptable(request, mode, beganAtMs, signal)
      } catch (error) {
        // The server may have another store now, in which positions of the old one mean nothing.
        if (error instanceof FreshetError && error.code === 'POSITION_NOT_REACHED') await refresher.refresh(signal)
        throw error
      }
    })
  }

  async #fetchAcceptable(
    request: ReadRequest,
    mode: ReadMode,
    beganAtMs: number,
    signal: AbortSignal,
  ): Promise<ReadResult> {
    for (let way = 0; way < WAYS.length; ) {
      const { log } = this.#session
      const at = this.#positionFor(request, mode, WAYS[way]!)
      const target = targetOf(request, at)
      const answer = await this.#ask(request, target, WAYS[way]!, signal)
      // The server has another store now, and this answer may be from either.
      if (log !== this.#session.log) continue
      if (!this.#accepts(request, at, mode, answer)) {
        // Unless more is needed by now than when the request was sent, a cache is to blame: go further past the caches.
        if ((this.#positionFor(request, mode, WAYS[way]!) ?? 0) <= (at ?? 0)) way++
        continue
      }
      // Otherwise another read has shown a later state meanwhile: ask again in the same way, for that state.
      if (mode === 'any' || positionOf(answer) >= this.#shown(request)) {
        return this.#finish(request, mode, beganAtMs, { answer, at, target })
      }
    }
    throw untrustworthy(this.#options.transport.base + request.name)
  }

  #positionFor(request: ReadRequest, mode: ReadMode, way: (typeof WAYS)[number]): Position | undefined {
    if (mode === 'any') return undefined
    const needed = Math.max(this.#session.at(this.#dependenciesOf(request), mode) ?? 0, this.#shown(request))
    const at = way === 'no-store' ? Math.max(needed, this.#session.position) : needed
    return at === 0 ? undefined : at
  }

  /** For a query, what its last answer depended on, if known. */
  #dependenciesOf({ name, dependsOn }: ReadRequest): Dependencies {
    return this.#dependencies.get(name) ?? dependsOn
  }

  #accepts(request: ReadRequest, at: Position | undefined, mode: ReadMode, answer: ReadAnswer): boolean {
    const { path, hasVersion, dependenciesIn } = request
    if (!this.#session.accepts(answer.dependsOn, at, mode, answer)) return false
    // Several objects of a bucket, and the result of a query, say nothing about the bucket as a whole.
    if (hasVersion && dependenciesIn === undefined) this.#session.saw(path, answer.version || (answer.position ?? 0))
    return true
  }

  #shown(request: ReadRequest): Position {
    let latest = 0
    for (const path of shownIn(request)) latest = Math.max(latest, this.#overlapping.shown(path))
    return latest
  }

  #ask(request: ReadRequest, target: string, cache: (typeof WAYS)[number], signal: AbortSignal): Promise<ReadAnswer> {
    const { transport, clock } = this.#options
    return this.#flights.join(`${cache} ${request.as} ${target}`, signal, async shared => {
      const askedAtMs = clock()
      const sent: Request = { method: 'GET', target, cache }
      const reply = await (request.as === 'text' ? transport.text(sent, shared) : transport.bytes(sent, shared))
      const answer = readAnswer(`GET ${transport.base}${target}`, reply, askedAtMs, request)
      if (request.dependenciesIn) this.#dependencies.set(request.name, answer.dependsOn)
      return answer
    })
  }

  async #fetchAhead(request: ReadRequest, at: Position): Promise<void> {
    const { memory, clock, closed } = this.#options
    if ((memory?.positionOf(request.name) ?? 0) >= at) return
    const { log } = this.#session
    const askedAtMs = clock()
    const answer = await this.#ask(request, targetOf(request, at), 'default', closed)
    this.#aheadMs += (clock() - askedAtMs - this.#aheadMs) / AHEAD.smoothing
    const position = positionOf(answer)
    // Otherwise it is from another store, or from a cache that ignores the query string: the next read detects that.
    if (log !== this.#session.log || position < at || answer.freshUntilMs <= clock()) return
    memory?.set(request.name, { ...answer, position })
  }

  #finish(
    request: ReadRequest,
    mode: ReadMode,
    beganAtMs: number,
    { answer, at, target }: { answer: ReadAnswer; at: Position | undefined; target: string },
  ): ReadResult {
    const { transport, hasBrowserCache, clock, memory, onRead, recorder } = this.#options
    const { version, ageS } = answer
    const copy = { ...answer, position: positionOf(answer) }
    if (answer.freshUntilMs > clock()) memory?.set(request.name, copy)
    const looksUp = (onRead !== undefined || recorder !== undefined) && hasBrowserCache
    // An answer that no cache may store comes from the server.
    const known = answer.freshUntilMs === Number.NEGATIVE_INFINITY ? 'server' : undefined
    const lookedUp = hasBrowserCache && !looksUp ? fromAge(ageS) : servedFrom(transport.base + target, ageS, looksUp)
    const from = known ?? lookedUp
    return this.#report(request, mode, beganAtMs, copy, { from, ageS, at, version })
  }

  #keptCopy(request: ReadRequest, mode: ReadMode, nowMs: number): ReadResult | undefined {
    const copy = this.#options.memory?.get(request.name)
    if (copy === undefined || copy.freshUntilMs <= nowMs || !this.#isCurrent(copy, mode)) return undefined
    const { version, position } = copy
    // The copy was fetched ahead of the session, and is shown for the first time.
    if (request.hasVersion && (version ?? position) > this.#session.position) {
      this.#session.saw(request.path, version ?? position)
    }
    return this.#report(request, mode, nowMs, copy, { from: 'memory', ageS: undefined, at: undefined, version })
  }

  /** Whether the sketch knows of no change after the state that the copy was read from. */
  #isCurrent({ dependsOn, position }: Copy, mode: ReadMode): boolean {
    if (mode === 'any') return true
    if (position < this.#session.windowFrom) return false
    const at = this.#session.at(dependsOn, mode)
    return at === undefined || at <= position
  }

  #report(request: ReadRequest, mode: ReadMode, beganAtMs: number, copy: Copy, served: Served): ReadResult {
    const { onRead, clock } = this.#options
    this.#overlapping.show(request.path, copy.version || (request.hasVersion ? copy.position : 0))
    this.#recent.note(request, beganAtMs)
    onRead?.({ ...served, path: targetOf(request, undefined), mode, ms: clock() - beganAtMs })
    return { body: copy.body, contentType: copy.contentType, position: copy.position, served }
  }
}

/** The answer is proven to be of a state that includes this position. */
function positionOf({ version, position }: ReadAnswer): Position {
  return Math.max(version ?? 0, position ?? 0)
}

/**
 * The paths about which a request shows something. For a query that is the bucket, because any object of it may be in the result
 * or absent.
 */
function shownIn({ dependsOn: { paths, bucket } }: ReadRequest): readonly Path[] {
  return bucket === undefined ? paths : [bucket]
}

function untrustworthy(url: string): FreshetError {
  return new FreshetError(
    'CACHE_UNTRUSTWORTHY',
    `Each answer to ${url} was a copy that is too old, or that does not report its age. A cache on the way ignores the ` +
      'query string, serves copies long past their max-age, or removes the header Freshet-Position. ' +
      'To find out which, and what to change, run `freshet doctor`.',
  )
}
