/**
 * A session: what one reader has seen and written, and how fresh its reads must be. It decides which URL a read uses and
 * whether to accept the answer; its owner fetches.
 *
 * What it guarantees, whatever the caches in between do:
 * - **current**: an answer reflects every commit up to the session's position, and everything acknowledged more than the
 *   allowed staleness ago;
 * - **monotonic**: no answer is older than one seen before for the same path;
 * - **read your writes**.
 *
 * How: a path that changed during the window is asked for as `?at=` the position of its last possible change, and such a URL
 * is only ever answered from a state that includes that position. What the session itself saw or wrote beyond the
 * sketch is a floor, and is asked for in the same way. A floor that the sketch has caught up with is dropped: from then
 * on the sketch knows of that change itself.
 *
 * A path that did not change during the window is asked for under its plain URL, whose live copies were all read during
 * the window, unless a cache lets them live longer (nginx neither counts nor sends Age, so that a browser behind it keeps
 * a copy twice as long).
 *
 * Every answer must prove itself, since caches are faulty in several ways at once: its position, or its version, must
 * reach the requested position; under the plain URL, the beginning of the window. An answer that lost its position on the way
 * proves no more than its version does. So no promise depends on lifetimes, on how caches name their copies, or on which
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
 * any: the nearest copy, however old, for data whose age does not matter. session: as the session promises. current: reflects
 * everything acknowledged before the read began. withinMs: reflects everything acknowledged longer ago than that.
 */
export type ReadMode = 'any' | 'session' | 'current' | { readonly withinMs: number }

export interface SessionOptions {
  /** How old the sketch may be for reads of mode 'session'. */
  readonly stalenessMs: number
  /** The token of the session that this one continues. */
  readonly token?: string
}

/** The answer to a read. `position` is that of the state it was read from, unless a cache removed it. */
export interface Answer {
  /** Undefined if there is no such object. */
  readonly version: Version | undefined
  readonly position: Position | undefined
}

/** What the answer to a read depends on: it changes only if one of these paths does. */
export interface Dependencies {
  readonly paths: readonly Path[]
  /** The bucket of a query: anything that the session itself saw or wrote in it may belong in any result. */
  readonly bucket?: Path
}

export class Session {
  readonly stalenessMs: number
  readonly #sketch = new SketchView()
  /** The position that a path must be asked for at, where the sketch does not know of it yet. */
  #floors = new Map<Path, Position>()
  /** Every answer must reflect everything committed up to this position: from the token, or since a list showed it. */
  #positionMin: Position = 0
  #logExpected: string | undefined
  /** The sketch reflects everything acknowledged before this time, by the owner's monotonic clock. */
  #knownAsOfMs = Number.NEGATIVE_INFINITY
  /** The same, by heads alone: when the last one was asked for. */
  #askedAsOfMs = Number.NEGATIVE_INFINITY
  #reached: Position = 0

  constructor({ stalenessMs, token }: SessionOptions) {
    this.stalenessMs = stalenessMs
    if (token !== undefined) this.#take(parseToken(token))
  }

  /** No read is older than this. */
  get position(): Position {
    return Math.max(this.#sketch.position, this.#positionMin)
  }

  /** The sketch knows of every change after this position. An object read before it may have changed since, unnoticed. */
  get windowFrom(): Position {
    return this.#sketch.from
  }

  /** The latest position that an answer has shown. No head that is asked for from now on can be behind it. */
  get reached(): Position {
    return this.#reached
  }

  get knownAsOfMs(): number {
    return this.#knownAsOfMs
  }

  /** Hand it to another tab, device or service: what that session reads will not be older than what was read here. */
  get token(): string {
    const log = this.#sketch.log ?? this.#logExpected
    return formatToken({ log, position: this.position, floors: [...this.#floors] })
  }

  /** The log that the session belongs to; undefined until the first head. */
  get log(): string | undefined {
    return this.#sketch.log ?? this.#logExpected
  }

  /** Whether the sketch must be fetched again for a read of this mode that began then, by the owner's clock. */
  needsRefresh(mode: ReadMode, beganAtMs: number): boolean {
    if (mode === 'any') return false
    if (this.#sketch.log === undefined || this.#sketch.position < this.#positionMin) return true
    const ageMs = ageMsMax(mode, this.stalenessMs)
    // If nothing may be missed, only an own request is proof: the time of an event is inferred from two clocks.
    return beganAtMs - ageMs > (ageMs > 0 ? this.#knownAsOfMs : this.#askedAsOfMs)
  }

  /** The position to ask for, so that the answer is new enough for everything it depends on; undefined for the plain URL. */
  at({ paths, bucket }: Dependencies, mode: ReadMode): Position | undefined {
    if (mode === 'any') return undefined
    let latest = bucket === undefined ? 0 : this.#floorOf(bucket)
    for (const path of paths) latest = Math.max(latest, this.#floorOf(path), this.#sketch.at(path) ?? 0)
    return latest === 0 ? undefined : latest
  }

  /**
   * Whether to accept an answer that was requested with `at`. If not, some cache on the way gave out a copy of another URL, or
   * one that expired long ago, or removed the headers that prove it. Then call `at` again, which now names a URL that no such
   * copy can have, and repeat the read past the caches. The result of a query names its own dependencies, so it is judged by
   * `dependsOn` as it is known now. Call `saw` with what an accepted answer shows of each object.
   */
  accepts(dependsOn: Dependencies, at: Position | undefined, mode: ReadMode, { version, position }: Answer): boolean {
    const included = Math.max(version ?? 0, position ?? 0)
    if (mode !== 'any' && this.#refuses(dependsOn, at, mode, included)) return false
    this.#reach(included)
    return true
  }

  /** Records that an object, or a list, was shown in this version, or was absent at this position. */
  saw(path: Path, position: Position): void {
    this.#reach(position)
    if (position <= this.#sketch.position) return
    this.#raiseFloor(path, position)
    // No later list of the bucket may contradict what a read of an object has shown.
    this.#raiseFloor(bucketPathOf(path), position)
  }

  /**
   * Records that a list was shown in this version. The list also showed which objects are absent, and an absent object has no
   * name that a floor could be kept for. So the sketch must reach this version before anything else is read.
   */
  sawList(version: Version): void {
    this.#positionMin = Math.max(this.#positionMin, version)
  }

  /** Records an own write. `paths` includes those of the buckets whose lists it changed. */
  wrote(paths: readonly Path[], position: Position): void {
    for (const path of paths) this.#raiseFloor(path, position)
    this.#reach(position)
  }

  /** What to pass as `after` and `at` when asking for a head. */
  get headRequest(): { readonly after: Position | undefined; readonly at: Position } {
    return { after: this.#sketch.after, at: this.#positionMin }
  }

  /** The head that the news stand for; undefined if a whole one must be asked for. Throws ANSWER_INVALID. */
  readNews(news: string, nonce: string): ReaderHead | undefined {
    const { log, seed } = this.#sketch
    return log === undefined ? undefined : parseNews(news, { log, seed }, nonce)
  }

  planHead(head: ReaderHead, after: Position | undefined): HeadPlan {
    return this.#sketch.plan(head, after)
  }

  /** Whether a head is behind what had been seen when it was asked for: then its store has gone back. */
  isOutdated({ log, position }: ReaderHead, reachedWhenAsked: Position): boolean {
    return log === this.#sketch.log && position < reachedWhenAsked
  }

  /**
   * Takes a head that was asked for at `askedAtMs`, with the filters of the segments that were missing. True if the
   * server has another store now: nothing that was read from the old one counts. Throws TOKEN_INVALID if the
   * session's token is of another log, ANSWER_INVALID if the head makes no sense.
   */
  installHead(head: ReaderHead, after: Position | undefined, filters: readonly Bloom[], askedAtMs: number): boolean {
    this.#checkLog(head)
    const isAnotherLog = this.#sketch.log !== undefined && this.#sketch.log !== head.log
    this.#sketch.install(head, after, filters)
    if (isAnotherLog) this.#forgetLog()
    // Even if the head was ignored: then the session knows more than the head, and the head reflects that time.
    this.#askedAsOfMs = Math.max(this.#askedAsOfMs, askedAtMs)
    this.#knownAsOfMs = Math.max(this.#knownAsOfMs, askedAtMs)
    this.#reach(head.position)
    this.#dropFloors()
    return isAnotherLog
  }

  /**
   * Takes a pushed event of the session's own log; false if a head must be fetched. `asOfMs`: the event's `to` includes
   * everything acknowledged before that time; -Infinity if the event does not say so.
   */
  push(event: ChangesEvent, asOfMs: number): boolean {
    if (!this.#sketch.push(event)) return false
    if (event.to >= this.#sketch.position) this.#knownAsOfMs = Math.max(this.#knownAsOfMs, asOfMs)
    this.#dropFloors()
    return true
  }

  /** The position of a path's last change in an event that was not pushed yet. */
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
      'The session token belongs to another store than the one of this server. Start a new session, without the token.',
    )
  }

  /** `included`: the answer is proven to be of a state that includes this position. */
  #refuses(dependsOn: Dependencies, at: Position | undefined, mode: ReadMode, included: Position): boolean {
    const { paths, bucket } = dependsOn
    // More dependencies may be known by now than when the result was asked for.
    if (bucket !== undefined && included < (this.at(dependsOn, mode) ?? 0)) return true
    // Every path is checked, even after the first that is too old: the next URL must be new enough for all of them.
    const judged = bucket === undefined ? paths : [bucket]
    return judged.filter(path => this.#isTooOld(path, at, included)).length > 0
  }

  #isTooOld(path: Path, at: Position | undefined, included: Position): boolean {
    const floor = this.#floorOf(path)
    if (included >= Math.max(at ?? this.#sketch.from, floor)) return false
    if (at === undefined) this.#floors.set(path, Math.max(this.#sketch.position, floor))
    return true
  }

  /** Another log: what the session saw and wrote in the old one says nothing about it. */
  #forgetLog(): void {
    this.#floors.clear()
    this.#positionMin = 0
    this.#reached = 0
    this.#logExpected = undefined
  }

  #reach(position: Position): void {
    this.#reached = Math.max(this.#reached, position)
  }

  #floorOf(path: Path): Position {
    return this.#floors.get(path) ?? 0
  }

  #raiseFloor(path: Path, position: Position): void {
    if (position <= this.#sketch.position || position <= this.#floorOf(path)) return
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

/** `/db/shop/products` for `/db/shop/products/42`, and for itself. */
function bucketPathOf(path: Path): Path {
  return path.split('/', 4).join('/')
}
