/**
 * Lifetimes learnt per key: short for keys that are written often, long for keys that have been left alone.
 *
 *     written twice or more:  share * max(smoothed interval between writes, time since the last write)
 *     otherwise:              shareOfAge * time since the last write                           both within the bounds
 *
 * While a key is written at random times, the interval is also the expected time until the next write, however long ago the
 * last one was; and a key that has not been written for long will probably not be written for about as long. RFC 9111, 4.2.2
 * suggests a tenth of the age for answers that give no lifetime; the shares here were measured (`npm run lab -- lifetimes`).
 * With a share of s, about s / 2 of the answers that caches give for a key that is written are outdated, however often it is
 * written. That concerns readers without the sketch. Readers that hold it are never served an outdated copy.
 *
 * **Correctness does not depend on any of it.** The window is made for the upper bound, whatever is learnt; a wrong
 * estimate costs a request. Servers that have read different stretches of the log may differ.
 *
 * A copy under `?at=` gets the upper bound at once: readers ask for that URL only while nothing newer is known, so no
 * copy of it can be outdated for them, and ending one early would only cost a request.
 *
 * Writes come from the change log, so a restart learns them again as far as the log goes back, which is a window. The server
 * sees a read only if no cache answered it; reads keep a key in memory. For a key that is not remembered, its age at least
 * is known: its version says when it was written (`write-times.ts`).
 */
import { hashUnder, type KeyHash } from '@freshet/bloom'
import type { Key, LogEntry, Position, Version } from '../../store/index.js'
import { WriteIntervals } from './write-intervals.js'
import { WriteTimes } from './write-times.js'

export interface LifetimeBounds {
  readonly minMs: number
  readonly maxMs: number
}

export interface LearntLifetimesOptions {
  /** The seed of the hash that decides where a key is kept. */
  readonly seed: bigint
  /** How many keys have their intervals remembered, at 28 bytes each. */
  readonly entriesMax?: number
  /** The lifetime as a share of the time that a key is expected to stay unchanged, where two or more writes are known. */
  readonly share?: number
  /** The lifetime as a share of the time that a key has stayed unchanged, where fewer are known. */
  readonly shareOfAge?: number
}

/** Half of it sends a tenth more needless requests to the server; more of it makes more copies outdated and saves few. */
const SHARE_BY_DEFAULT = 0.2
const SHARE_OF_AGE_BY_DEFAULT = 0.5
const ENTRIES_MAX = 65_536
const MARKS_MAX = 512

export class LearntLifetimes {
  readonly #hash: (key: Key) => KeyHash
  readonly #share: number
  readonly #shareOfAge: number
  readonly #intervals: WriteIntervals
  readonly #times = new WriteTimes(MARKS_MAX)
  #position: Position = 0

  constructor({
    seed,
    entriesMax = ENTRIES_MAX,
    share = SHARE_BY_DEFAULT,
    shareOfAge = SHARE_OF_AGE_BY_DEFAULT,
  }: LearntLifetimesOptions) {
    if (!(share > 0)) throw new TypeError(`share must be more than 0, not ${share}.`)
    this.#hash = hashUnder(seed)
    this.#share = share
    this.#shareOfAge = shareOfAge
    this.#intervals = new WriteIntervals(entriesMax)
  }

  /** Its memory, except for a few kilobytes. It never grows. */
  get sizeBytes(): number {
    return this.#intervals.sizeBytes
  }

  /** Everything up to `position` was committed by then: where the log begins, and how old that is. */
  begin(position: Position, timeMs: number): void {
    this.#times.mark(position, timeMs)
  }

  /** Takes the writes of a commit to keys for which `learns` is true. Skips commits that are known already. */
  follow({ position, timeMs, keys }: LogEntry, learns: (key: Key) => boolean): void {
    if (position <= this.#position) return
    this.#position = position
    this.#times.mark(position, timeMs)
    for (const key of keys) if (learns(key)) this.#intervals.wrote(this.#hash(key), timeMs)
  }

  /** For the plain URL of a key whose last write was at `version`. */
  lifetimeMs(key: Key, version: Version, nowMs: number, { minMs, maxMs }: LifetimeBounds): number {
    const intervalMs = this.#intervals.intervalMs(this.#hash(key), nowMs)
    const ageMs = nowMs - (this.#times.timeOf(version) ?? nowMs)
    const learntMs = intervalMs === undefined ? this.#shareOfAge * ageMs : this.#share * Math.max(intervalMs, ageMs)
    return Math.min(maxMs, Math.max(minMs, Math.round(learntMs)))
  }
}
