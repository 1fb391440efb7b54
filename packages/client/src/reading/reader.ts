/**
 * A read, followed: is the sketch fresh enough for it, and if not, refresh it; is there a copy in this process that the
 * sketch does not deny; else which URL to ask for; fetch it, from whichever cache is nearest; and will the answer do?
 *
 * An answer that will not do comes from a cache that leaves out the query string, serves copies long past their time, or
 * removes the position that would prove the answer. The same is then asked for past the caches that heed request headers
 * (`reload`), then at the session's own position, a URL that no such copy can have. If that does not help either, the read
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
  /** When it began and ended, if that is being recorded. */
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

/** Ever further past the caches. */
const WAYS = ['default', 'reload', 'no-store'] as const

/** Fetching ahead what has changed. */
const AHEAD = {
  /** How many are fetched at once, for each event: all readers of a cache do so when the same object changes. */
  atOnceMax: 2,
  /** Over how many fetches the time that one takes is averaged. */
  smoothing: 8,
}
/** Of so many queries the dependencies of the last answer are known. What has been forgotten costs one request. */
const DEPENDENCIES_MAX = 1000

export class Reader {
  readonly #options: ReaderOptions
  readonly #session: Session
  readonly #flights = new SharedFlights<ReadAnswer>()
  readonly #overlapping = new OverlappingReads()
  readonly #recent = new RecentReads()
  #aheadMs = 0
  /** Of queries, by name: what the last answer depended on, so that the next is asked for at the right position at once. */
  readonly #dependencies = new RecentMap<string, Dependencies>(DEPENDENCIES_MAX)
  lastReadMs = 0

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#session = options.session
  }

  /** What this process has, if that will do; without waiting for anything. */
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
   * Fetches what was read lately and has changed, before anybody asks for it, and before the session learns that it has:
   * until then, the copy that is known goes on serving. What is not worth a fetch is given the time of one: others may be
   * fetching it, and then the cache that they share has it. Never fails.
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

  /** Takes note that an object was shown in this version, or absent at this position, as part of a list. */
  show(path: Path, version: Position): void {
    this.#session.saw(path, version)
    this.#overlapping.show(path, version)
  }

  /** Takes note of a page of a list or a query: of its objects, and that other objects were shown to be absent. */
  showPage(items: readonly ShownItem[], pathOf: (id: string) => Path, result: ReadResult): void {
    for (const { id, version } of items) {
      const path = pathOf(id)
      this.show(path, version)
      this.recordItem(path, version, result)
    }
    this.showList(result.served.version || result.position)
  }

  /** Takes note that a list was shown in this version: objects that are not in it were shown to be absent. */
  showList(version: Version): void {
    this.#session.sawList(version)
  }

  /** Records an object that was part of what was read; version 0 if it was not there. */
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
      const { log } = this.#session
      const at = this.#positionFor(request, mode, WAYS[way]!)
      const target = targetOf(request, at)
      const answer = await this.#ask(request, target, WAYS[way]!, signal)
      // The server has another store now, and this answer may be of either.
      if (log !== this.#session.log) continue
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
    const needed = Math.max(this.#session.at(this.#dependenciesOf(request), mode) ?? 0, this.#shown(request))
    const at = way === 'no-store' ? Math.max(needed, this.#session.position) : needed
    return at === 0 ? undefined : at
  }

  /** Of a query, what its last answer depended on, if that is known. */
  #dependenciesOf({ name, dependsOn }: ReadRequest): Dependencies {
    return this.#dependencies.get(name) ?? dependsOn
  }

  #accepts(request: ReadRequest, at: Position | undefined, mode: ReadMode, answer: ReadAnswer): boolean {
    const { path, hasVersion, dependenciesIn } = request
    if (!this.#session.accepts(answer.dependsOn, at, mode, answer)) return false
    // What else was shown of the bucket has nothing to do with some of its objects, nor with the result of a query.
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
    // Else it is of another store, or of a cache that leaves out the query: the next read will find out.
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
    // What no cache may keep comes from the server.
    const known = answer.freshUntilMs === Number.NEGATIVE_INFINITY ? 'server' : undefined
    const lookedUp = hasBrowserCache && !looksUp ? fromAge(ageS) : servedFrom(transport.base + target, ageS, looksUp)
    const from = known ?? lookedUp
    return this.#tell(request, mode, beganAtMs, copy, { from, ageS, at, version })
  }

  #keptCopy(request: ReadRequest, mode: ReadMode, nowMs: number): ReadResult | undefined {
    const copy = this.#options.memory?.get(request.name)
    if (copy === undefined || copy.freshUntilMs <= nowMs || !this.#isCurrent(copy, mode)) return undefined
    const { version, position } = copy
    // It was fetched ahead of the session, and is shown for the first time.
    if (request.hasVersion && (version ?? position) > this.#session.position) {
      this.#session.saw(request.path, version ?? position)
    }
    return this.#tell(request, mode, nowMs, copy, { from: 'memory', ageS: undefined, at: undefined, version })
  }

  /** Whether the sketch knows of no change after the state that the copy was read from. */
  #isCurrent({ dependsOn, position }: Copy, mode: ReadMode): boolean {
    if (mode === 'any') return true
    if (position < this.#session.windowFrom) return false
    const at = this.#session.at(dependsOn, mode)
    return at === undefined || at <= position
  }

  #tell(request: ReadRequest, mode: ReadMode, beganAtMs: number, copy: Copy, served: Served): ReadResult {
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

/** The paths of which it shows something: of a query any object of its bucket may be in its result, or not be. */
function shownIn({ dependsOn: { paths, bucket } }: ReadRequest): readonly Path[] {
  return bucket === undefined ? paths : [bucket]
}

function untrustworthy(url: string): FreshetError {
  return new FreshetError(
    'CACHE_UNTRUSTWORTHY',
    `Each answer to ${url} was a copy that is too old, or that does not say how old it is. A cache on the way ignores the ` +
      'query string, serves copies long past their max-age, or removes the header Freshet-Position. ' +
      '`freshet doctor` says which, and what to change.',
  )
}
