/**
 * A session: what one reader has seen and written, and how fresh its reads must be. It decides which URL a read uses and
 * whether the answer will do; its owner fetches.
 *
 * What it keeps, whatever the caches in between do:
 * - **current**: an answer reflects every commit up to the session's position, and everything acknowledged more than the
 *   allowed staleness ago;
 * - **monotonic**: no answer is older than one seen before for the same path;
 * - **read your writes**.
 *
 * How: a path that changed during the window is asked for as `?at=` the position where it last may have, and such a URL
 * is only ever answered from a state that includes that position. What the session itself saw or wrote beyond the
 * sketch is a floor, and is asked for in the same way. A floor that the sketch has caught up with is dropped: from then
 * on the sketch knows of that change itself.
 *
 * A path that did not change during the window is asked for under its plain URL, whose live copies were all read during
 * the window, unless a cache lets them live longer (nginx neither counts nor sends Age, so that a browser behind it keeps
 * a copy twice as long).
 *
 * Every answer must prove itself, since caches are faulty in several ways at once: its position, or its version, must
 * reach what was asked for; under the plain URL, the beginning of the window. An answer that lost its position on the way
 * proves no more than its version does. So no promise rests on lifetimes, on how caches name their copies, or on which
 * headers they keep: where they fail, answers are refused. (Only a hostile cache could forge positions and versions.)
 *
 * "Before" is between reads that do not overlap: a read says nothing about one that began before it ended.
 */
import type { Bloom } from '@freshet/bloom'
import { type ChangesEvent, FreshetError, type Path, type Position, type Version } from '@freshet/protocol'
import { parseNews } from './news.js'
import { formatToken, parseToken, type SessionToken } from './session-token.js'
import { type HeadPlan, type ReaderHead, SketchView } from './sketch-view.js'

/**
 * any: the nearest copy, however old, for what does not matter. session: as the session promises. current: reflects
 * everything acknowledged before the read began. withinMs: reflects everything acknowledged longer ago than that.
 */
export type ReadMode = 'any' | 'session' | 'current' | { readonly withinMs: number }

export interface SessionOptions {
  /** How old the sketch may be for reads of mode 'session'. */
  readonly stalenessMs: number
  /** Of the session that this one continues. */
  readonly token?: string
}

/** What came back for a read. `position` is that of the state it was read from, unless a cache removed it. */
export interface Answer {
  /** Undefined if there is no such object. */
  readonly version: Version | undefined
  readonly position: Position | undefined
}

/** What the result of a query depends on: it is the same as long as none of these paths changes. */
export interface Hanging {
  /** The path of the bucket that was asked. */
  readonly bucket: Path
  readonly paths: readonly Path[]
}

export class Session {
  readonly stalenessMs: number
  readonly #sketch = new SketchView()
  /** The position that a path must be asked for at, where the sketch does not know of it yet. */
  #floors = new Map<Path, Position>()
  /** Everything committed up to this position must be reflected: from the token, or since a list showed it. */
  #positionMin: Position = 0
  #logExpected: string | undefined
  /** The sketch reflects everything acknowledged before this time, by the owner's monotonic clock. */
  #knownAsOfMs = Number.NEGATIVE_INFINITY
  /** The same, by heads alone: when the last one was asked for. */
  #askedAsOfMs = Number.NEGATIVE_INFINITY

  constructor({ stalenessMs, token }: SessionOptions) {
    this.stalenessMs = stalenessMs
    if (token !== undefined) this.#take(parseToken(token))
  }

  /** No read is older than this. */
  get position(): Position {
    return Math.max(this.#sketch.position, this.#positionMin)
  }

  get knownAsOfMs(): number {
    return this.#knownAsOfMs
  }

  /** Hand it to another tab, device or service: what it reads will not be older than what was read here. */
  get token(): string {
    const log = this.#sketch.log ?? this.#logExpected
    return formatToken({ log, position: this.position, floors: [...this.#floors] })
  }

  /** The log that it belongs to; undefined until the first head. */
  get log(): string | undefined {
    return this.#sketch.log ?? this.#logExpected
  }

  /** Whether the sketch must be fetched again for a read of this mode that began then, by the owner's clock. */
  needsRefresh(mode: ReadMode, beganAtMs: number): boolean {
    if (mode === 'any') return false
    if (this.#sketch.log === undefined || this.#sketch.position < this.#positionMin) return true
    const ageMs = ageMsMax(mode, this.stalenessMs)
    // Where nothing may be missed, only an own request is proof: what events say of the time is inferred from two clocks.
    return beganAtMs - ageMs > (ageMs > 0 ? this.#knownAsOfMs : this.#askedAsOfMs)
  }

  /** The position to ask for; undefined for the plain URL. */
  at(path: Path, mode: ReadMode): Position | undefined {
    if (mode === 'any') return undefined
    const floor = this.#floors.get(path)
    const known = this.#sketch.at(path)
    if (floor === undefined || known === undefined) return floor ?? known
    return Math.max(floor, known)
  }

  /**
   * Whether an answer to a read of `path` at `at` will do; takes note of it if so. If not, some cache on the way gave out
   * a copy of another URL, or one that has expired long ago, or removed what proves it: ask `at` again, which then names
   * a URL that no such copy can have, and repeat the read past the caches.
   */
  accepts(path: Path, at: Position | undefined, { version, position }: Answer, mode: ReadMode = 'session'): boolean {
    if (mode !== 'any' && this.#refuses(path, at, Math.max(version ?? 0, position ?? 0))) return false
    // What is not there may have been there before: then only a state that includes its absence will do from now on.
    this.#raiseFloor(path, version ?? position ?? 0)
    return true
  }

  /**
   * As `accepts`, for one answer about several paths, read from a state that includes `position`. What it shows of each
   * is for the owner to note, one by one.
   */
  acceptsAll(
    paths: readonly Path[],
    at: Position | undefined,
    position: Position | undefined,
    mode: ReadMode,
  ): boolean {
    if (mode === 'any') return true
    // Each is looked at, also after the first that will not do: the next URL must be new enough for all of them.
    return paths.filter(path => this.#refuses(path, at, position ?? 0)).length === 0
  }

  /** The position to ask for the result of a query at, if it depends on these paths; undefined for the plain URL. */
  atResult({ bucket, paths }: Hanging, mode: ReadMode): Position | undefined {
    if (mode === 'any') return undefined
    // What the session itself saw or wrote in the bucket, and the sketch does not know of yet, may belong in any result.
    let latest = this.#floors.get(bucket) ?? 0
    for (const path of paths) latest = Math.max(latest, this.at(path, mode) ?? 0)
    return latest === 0 ? undefined : latest
  }

  /**
   * Whether the result of a query will do that was asked for at `at`, and says itself what it depends on. If not, ask
   * `atResult` again.
   */
  acceptsResult(hanging: Hanging, at: Position | undefined, { version, position }: Answer, mode: ReadMode): boolean {
    if (mode === 'any') return true
    const included = Math.max(version ?? 0, position ?? 0)
    if (included < Math.max(at ?? 0, this.atResult(hanging, mode) ?? 0)) return false
    if (at !== undefined || included >= this.#sketch.from) return true
    this.#floors.set(hanging.bucket, Math.max(this.#sketch.position, this.#floors.get(hanging.bucket) ?? 0))
    return false
  }

  /**
   * Takes note that a list was shown in this version. It also showed what is not there, which has no name that a floor
   * could be kept for: so the sketch must reach that far before anything else is read.
   */
  sawList(version: Version): void {
    this.#positionMin = Math.max(this.#positionMin, version)
  }

  /** Takes note of an own write. Also call it for the path of the bucket, whose lists it changed. */
  wrote(path: Path, position: Position): void {
    this.#raiseFloor(path, position)
  }

  /** What to pass as `after` and `at` when asking for a head. */
  get headRequest(): { readonly after: Position | undefined; readonly at: Position } {
    return { after: this.#sketch.after, at: this.#positionMin }
  }

  /** The head that news stand for; undefined if a whole one must be asked for. Throws ANSWER_INVALID. */
  readNews(news: string, nonce: string): ReaderHead | undefined {
    const { log, seed } = this.#sketch
    return log === undefined ? undefined : parseNews(news, { log, seed }, nonce)
  }

  planHead(head: ReaderHead, after: Position | undefined): HeadPlan {
    return this.#sketch.plan(head, after)
  }

  /**
   * Takes a head that was asked for at `askedAtMs`, with the filters of the segments that were missing. Throws
   * TOKEN_INVALID if the session's token is of another log, ANSWER_INVALID if the head makes no sense.
   */
  installHead(head: ReaderHead, after: Position | undefined, filters: readonly Bloom[], askedAtMs: number): void {
    this.#checkLog(head)
    const isAnotherLog = this.#sketch.log !== undefined && this.#sketch.log !== head.log
    this.#sketch.install(head, after, filters)
    if (isAnotherLog) this.#forgetLog()
    // Also if the head was ignored: then what is known reaches further than the head, which reflects that time.
    this.#askedAsOfMs = Math.max(this.#askedAsOfMs, askedAtMs)
    this.#knownAsOfMs = Math.max(this.#knownAsOfMs, askedAtMs)
    this.#dropFloors()
  }

  /**
   * Takes a pushed event of the session's own log; false if a head must be fetched. `asOfMs` says that the event's `to`
   * includes everything acknowledged before that time; -Infinity if the event does not say so.
   */
  push(event: ChangesEvent, asOfMs: number): boolean {
    if (!this.#sketch.push(event)) return false
    if (event.to >= this.#sketch.position) this.#knownAsOfMs = Math.max(this.#knownAsOfMs, asOfMs)
    this.#dropFloors()
    return true
  }

  /** Where an event that was not pushed yet says that a path has changed. */
  preview(event: ChangesEvent): (path: Path) => Position | undefined {
    return this.#sketch.preview(event)
  }

  #take({ log, position, floors }: SessionToken): void {
    this.#logExpected = log
    this.#positionMin = position
    this.#floors = new Map(floors)
  }

  #checkLog(head: ReaderHead): void {
    if (this.#sketch.log !== undefined || this.#logExpected === undefined || this.#logExpected === head.log) return
    throw new FreshetError(
      'TOKEN_INVALID',
      'The session token is of another store than this server has. Start a new session, without the token.',
    )
  }

  /** `included`: the answer is proven to be of a state that includes this position. */
  #refuses(path: Path, at: Position | undefined, included: Position): boolean {
    const floor = this.#floors.get(path) ?? 0
    if (included >= Math.max(at ?? this.#sketch.from, floor)) return false
    if (at === undefined) this.#floors.set(path, Math.max(this.#sketch.position, floor))
    return true
  }

  /** Another log: what was seen and written there says nothing here. */
  #forgetLog(): void {
    this.#floors.clear()
    this.#positionMin = 0
    this.#logExpected = undefined
  }

  #raiseFloor(path: Path, position: Position): void {
    if (position <= this.#sketch.position || position <= (this.#floors.get(path) ?? 0)) return
    this.#floors.set(path, position)
  }

  #dropFloors(): void {
    for (const [path, position] of this.#floors) if (position <= this.#sketch.position) this.#floors.delete(path)
  }
}

function ageMsMax(mode: ReadMode, stalenessMs: number): number {
  if (mode === 'current') return 0
  return typeof mode === 'object' ? mode.withinMs : stalenessMs
}
