/**
 * A read, followed: is the sketch fresh enough for it, and if not, refresh it; is there a copy in this process that the
 * sketch does not deny; else which URL to ask for; fetch it, from whichever cache is nearest; and will the answer do?
 *
 * An answer that will not do comes from a cache that leaves out the query string, serves copies long past their time, or
 * removes the position that would prove the answer. The same is then asked for past the caches that heed request headers
 * (`reload`), then at the session's own position, a URL that no such copy can have. If that does not help either, the read
 * fails with CACHE_UNTRUSTWORTHY.
 */
import type { ReadMode } from '@freshet/core/coherence'
import { FreshetError, type Path, type Position, type Version } from '@freshet/protocol'
import type { Clock } from '../clock/pessimistic-clock.js'
import { isPassing, type RetryPolicy, retry } from '../http/back-off.js'
import { Deadline, ofReading, pause } from '../http/deadline.js'
import { SharedFlights } from '../http/shared-flights.js'
import type { Request, Transport } from '../http/transport.js'
import type { BegunOperation, EndedRead, SessionRecorder } from '../recording/session-recorder.js'
import type { Refresher } from '../session/refresher.js'
import type { TrackedSession } from '../session/tracked-session.js'
import { KnownDependencies } from './known-dependencies.js'
import type { Copy, MemoryCache } from './memory-cache.js'
import { OverlappingReads } from './overlapping-reads.js'
import { type Body, type ReadAnswer, readAnswer } from './read-answer.js'
import { checkMode, type ReadOptions } from './read-options.js'
import { type ReadRequest, targetOf } from './read-request.js'
import { RecentReads } from './recent-reads.js'
import { fromAge, type ReadEvent, type Served, servedFrom } from './served.js'

export interface ReadResult {
  readonly body: Body
  readonly contentType: string
  /** The state it was read from includes this position. */
  readonly position: Position
  readonly served: Served
  /** When it began and ended, if that is being recorded. */
  readonly recorded?: EndedRead
}

export interface ReaderOptions {
  readonly session: TrackedSession
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

/** Ever further past the caches. */
const WAYS = ['default', 'reload', 'no-store'] as const

/** So many are fetched ahead at once, for each event: all readers of a cache do so when the same object changes. */
const AHEAD_AT_ONCE_MAX = 2
/** Over so many the time that a fetch ahead takes is averaged. */
const AHEAD_SMOOTHING = 8

export class Reader {
  readonly #options: ReaderOptions
  readonly #session: TrackedSession
  readonly #flights = new SharedFlights<ReadAnswer>()
  readonly #overlapping = new OverlappingReads()
  readonly #recent = new RecentReads()
  #aheadMs = 0
  readonly #dependencies = new KnownDependencies()
  lastReadMs = 0

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#session = options.session
  }

  /** What this process has, if that will do; without waiting for anything. */
  fromMemory(request: ReadRequest, { read, signal }: ReadOptions): ReadResult | undefined {
    const { memory, clock, closed, recorder } = this.#options
    if (memory === undefined || closed.aborted || signal?.aborted) return undefined
    const begun = recorder?.begin()
    const beganAtMs = clock()
    const mode = read === undefined ? this.#options.read : checkMode(read)
    if (this.#session.core.needsRefresh(mode, beganAtMs)) return undefined
    this.lastReadMs = beganAtMs
    return this.#record(request, mode, begun, this.#keptCopy(request, mode, beganAtMs))
  }

  async read(request: ReadRequest, options: ReadOptions): Promise<ReadResult> {
    const begun = this.#options.recorder?.begin()
    const beganAtMs = this.#options.clock()
    this.lastReadMs = beganAtMs
    const mode = checkMode(options.read ?? this.#options.read)
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
   * Fetches what was read lately and has changed, before anybody asks for it, and before the session learns that it has:
   * until then, the copy that is known goes on serving. What is not worth a fetch is given the time of one: others may be
   * fetching it, and then the cache that they share has it. Never fails.
   */
  async readAhead(changedAt: (path: Path) => Position | undefined): Promise<void> {
    const { clock, closed } = this.#options
    const pathsOf = (request: ReadRequest) => this.#pathsOf(request)
    const { toFetch, hasOthers } = this.#recent.changed(changedAt, clock(), pathsOf)
    const waiting = [...toFetch]
    const work = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        await this.#fetchAhead(next.request, next.at).catch(() => {})
      }
    }
    await Promise.all([
      ...Array.from({ length: AHEAD_AT_ONCE_MAX }, work),
      hasOthers ? pause(this.#aheadMs, closed).catch(() => {}) : undefined,
    ])
  }

  /** Takes note that an object was shown in this version, or absent at this position, as part of a list. */
  show(path: Path, version: Position): void {
    this.#session.accepts(path, undefined, 'any', { version, position: undefined })
    this.#overlapping.show(path, version)
  }

  /** Takes note that a list was shown in this version: also what it does not have was shown not to be there. */
  showList(version: Version): void {
    this.#session.core.sawList(version)
  }

  /** Records an object that was part of what was read; version 0 if it was not there. */
  recordItem(path: Path, version: Version, { recorded }: ReadResult): void {
    if (recorded !== undefined) this.#options.recorder?.readItem(path, version, recorded)
  }

  #record<Result extends ReadResult | undefined>(
    { path, hasVersion, hangsOn }: ReadRequest,
    mode: ReadMode,
    begun: BegunOperation | undefined,
    result: Result,
  ): Result {
    const { recorder } = this.#options
    if (recorder === undefined || begun === undefined || result === undefined) return result
    const recorded = recorder.endRead(begun, mode, result)
    // The version of a query's result is not that of its bucket.
    if (hasVersion && hangsOn === undefined) recorder.read(path, result.served.version ?? 0, recorded)
    return { ...result, recorded }
  }

  async #fetch(request: ReadRequest, mode: ReadMode, beganAtMs: number, signal: AbortSignal): Promise<ReadResult> {
    const { refresher, policy, clock } = this.#options
    await refresher.ensure(mode, beganAtMs, signal)
    const kept = this.#keptCopy(request, mode, clock())
    if (kept) return kept
    return retry(policy, signal, isPassing, async () => {
      try {
        return await this.#fetchAcceptable(request, mode, beganAtMs, signal)
      } catch (error) {
        // The server may have another store now, to which the positions of the old one mean nothing.
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
      const { log } = this.#session.core
      const at = this.#positionFor(request, mode, WAYS[way]!)
      const target = targetOf(request, at)
      const answer = await this.#ask(request, target, WAYS[way]!, signal)
      // The server has another store now, and this answer may be of either.
      if (log !== this.#session.core.log) continue
      if (!this.#accepts(request, at, mode, answer)) {
        // Unless more is asked for by now than when this left, some cache is to blame: ask further past them.
        if ((this.#positionFor(request, mode, WAYS[way]!) ?? 0) <= (at ?? 0)) way++
        continue
      }
      // Another read has shown a later state meanwhile: ask again in the same way, for that one.
      if (mode === 'any' || positionOf(answer) >= this.#shown(request)) {
        return this.#finish(request, mode, beganAtMs, { answer, at, target })
      }
    }
    throw untrustworthy(this.#options.transport.base + request.name)
  }

  #positionFor(request: ReadRequest, mode: ReadMode, way: (typeof WAYS)[number]): Position | undefined {
    if (mode === 'any') return undefined
    const needed = Math.max(this.#atFor(request, this.#pathsOf(request), mode) ?? 0, this.#shown(request))
    const at = way === 'no-store' ? Math.max(needed, this.#session.core.position) : needed
    return at === 0 ? undefined : at
  }

  /** What must not have changed since; of a query, what its last answer hung on, if that is known. */
  #pathsOf({ name, sketchPaths, hangsOn }: ReadRequest): readonly Path[] {
    return hangsOn === undefined ? sketchPaths : (this.#dependencies.get(name) ?? sketchPaths)
  }

  #atFor({ path, hangsOn }: ReadRequest, paths: readonly Path[], mode: ReadMode): Position | undefined {
    return hangsOn === undefined
      ? this.#session.at(paths, mode)
      : this.#session.core.atResult({ bucket: path, paths }, mode)
  }

  #accepts(request: ReadRequest, at: Position | undefined, mode: ReadMode, answer: ReadAnswer): boolean {
    const { path, sketchPaths, hasVersion, hangsOn } = request
    if (hangsOn) return this.#session.acceptsResult({ bucket: path, paths: answer.paths }, at, mode, answer)
    // What has no version is as new as the state that it was read from.
    if (hasVersion) return this.#session.accepts(path, at, mode, { ...answer, version: answer.version || undefined })
    // Some objects of a bucket: what else of the bucket was shown, or written, has nothing to do with them.
    return this.#session.acceptsAll(sketchPaths, at, mode, answer)
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
      if (request.hangsOn) this.#dependencies.set(request.name, answer.paths)
      return answer
    })
  }

  async #fetchAhead(request: ReadRequest, at: Position): Promise<void> {
    const { memory, clock, closed } = this.#options
    if ((memory?.positionOf(request.name) ?? 0) >= at) return
    const { log } = this.#session.core
    const askedAtMs = clock()
    const answer = await this.#ask(request, targetOf(request, at), 'default', closed)
    this.#aheadMs += (clock() - askedAtMs - this.#aheadMs) / AHEAD_SMOOTHING
    const position = positionOf(answer)
    // Else it is of another store, or of a cache that leaves out the query: the next read will find out.
    if (log !== this.#session.core.log || position < at || answer.freshUntilMs <= clock()) return
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
    // What no cache may keep comes from the server.
    const known = answer.freshUntilMs === Number.NEGATIVE_INFINITY ? 'server' : undefined
    const lookedUp = hasBrowserCache && !looksUp ? fromAge(ageS) : servedFrom(transport.base + target, ageS, looksUp)
    const from = known ?? lookedUp
    return this.#tell(request, mode, beganAtMs, copy, { from, ageS, at, version })
  }

  #keptCopy(request: ReadRequest, mode: ReadMode, nowMs: number): ReadResult | undefined {
    const copy = this.#options.memory?.get(request.name)
    if (copy === undefined || copy.freshUntilMs <= nowMs || !this.#isCurrent(request, copy, mode)) return undefined
    const { version, position } = copy
    // It was fetched ahead of the session, and is shown for the first time.
    if (request.hasVersion && (version ?? position) > this.#session.core.position) {
      this.#session.accepts(request.path, undefined, 'any', { version, position })
    }
    return this.#tell(request, mode, nowMs, copy, { from: 'memory', ageS: undefined, at: undefined, version })
  }

  /** Whether the sketch knows of no change after the state that the copy was read from. */
  #isCurrent(request: ReadRequest, { paths, position }: Copy, mode: ReadMode): boolean {
    if (mode === 'any') return true
    if (position < this.#session.windowFrom) return false
    const at = this.#atFor(request, paths, mode)
    return at === undefined || at <= position
  }

  #tell(request: ReadRequest, mode: ReadMode, beganAtMs: number, copy: Copy, served: Served): ReadResult {
    const { onRead, clock } = this.#options
    this.#overlapping.show(request.path, copy.version || (request.hasVersion ? copy.position : 0))
    this.#recent.note(request, clock())
    onRead?.({ ...served, path: targetOf(request, undefined), mode, ms: clock() - beganAtMs })
    return { body: copy.body, contentType: copy.contentType, position: copy.position, served }
  }
}

/** The answer is proven to be of a state that includes this position. */
function positionOf({ version, position }: ReadAnswer): Position {
  return Math.max(version ?? 0, position ?? 0)
}

/** The paths of which it shows something: of a query any object of its bucket may be in its result, or not be. */
function shownIn({ path, sketchPaths, hangsOn }: ReadRequest): readonly Path[] {
  return hangsOn === undefined ? sketchPaths : [path]
}

function untrustworthy(url: string): FreshetError {
  return new FreshetError(
    'CACHE_UNTRUSTWORTHY',
    `Each answer to ${url} was a copy that is too old, or that does not say how old it is. A cache on the way ignores the ` +
      'query string, serves copies long past their max-age, or removes the header Freshet-Position. ' +
      '`freshet doctor` says which, and what to change.',
  )
}
