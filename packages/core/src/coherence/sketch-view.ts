/**
 * The sketch, as a reader holds it: everything it knows about the changes in (from, position].
 *
 * Invariant: if a path changed at a position in (from, position], `at(path)` is that position or a later one, and not
 * later than `position`. If it reports a change, it may be wrong (filters); if it reports none, it is right.
 *
 * It only goes forward: an older head is ignored. A head of another log, or one that leaves a gap after the known changes,
 * makes it start over. Changes listed one by one are kept so: then every reader asks for a changed object under the same
 * URL, `?at=` its version, and shares the copy.
 */
import { type Bloom, hashUnder, type KeyHash } from '@freshet/bloom'
import type { ChangesEvent, CoherenceHead, PackedChanges, Path, Position, SegmentRef } from '@freshet/protocol'
import { fromBase64 } from './base64.js'
import { changeHashOf, formatSeed, parseSeed } from './change-hash.js'
import { type ListedChange, unpackChanges } from './packed-changes.js'
import { decodeFilter } from './segment-bundle.js'
import { sketchInvalid } from './sketch-invalid.js'

/** The parts of a head that a reader uses. */
export type ReaderHead = Omit<CoherenceHead, 'windowMs' | 'nonce' | 'open'>

interface KnownSegment extends SegmentRef {
  readonly filter: Bloom
}

/** Beyond these it is cheaper to start over from the server's merged segments. */
const LISTED_MAX = 4096
const SEGMENTS_MAX = 128

export type HeadPlan =
  /** Nothing new, or older than the known changes. */
  | { readonly kind: 'ignore' }
  /** Ask for a head without `after`: this one leaves a gap after the known changes. */
  | { readonly kind: 'restart' }
  /** Fetch these segments, then `install` the head with them. */
  | { readonly kind: 'install'; readonly missing: readonly SegmentRef[] }

export class SketchView {
  #log: string | undefined
  #seed = 0n
  #hash: (path: Path) => KeyHash = () => ({ low: 0, high: 0 })
  #from: Position = 0
  #position: Position = 0
  /** By ascending `to`. */
  #segments: readonly KnownSegment[] = []
  /** Latest position by hash, of which few bits are known: paths with the same hash get the later position. */
  #listed = new Map<number, Position>()

  /** Undefined until the first head is installed. */
  get log(): string | undefined {
    return this.#log
  }

  /** As in heads. Meaningless until a head is installed. */
  get seed(): string {
    return formatSeed(this.#seed)
  }

  get position(): Position {
    return this.#position
  }

  get from(): Position {
    return this.#from
  }

  /** What to pass as `after` when asking for the next head; undefined to get everything. */
  get after(): Position | undefined {
    return this.#log === undefined || this.#isTooLong ? undefined : this.#position
  }

  get #isTooLong(): boolean {
    return this.#listed.size > LISTED_MAX || this.#segments.length > SEGMENTS_MAX
  }

  /** The position to ask for, if the path may have changed during the window. */
  at(path: Path): Position | undefined {
    if (this.#log === undefined) return undefined
    const hash = this.#hash(path)
    const listed = this.#listed.get(changeHashOf(hash)) ?? 0
    for (let i = this.#segments.length - 1; i >= 0; i--) {
      const { to, filter } = this.#segments[i]!
      if (to <= listed) break
      if (filter.hasHash(hash.low, hash.high)) return to
    }
    return listed === 0 ? undefined : listed
  }

  /** What to do with a head that was asked for with this `after`. */
  plan(head: ReaderHead, after: Position | undefined): HeadPlan {
    const isSameLog = head.log === this.#log
    if (isSameLog && head.position < this.#position) return { kind: 'ignore' }
    // Under another seed the known hashes would not be found again, although the log is the same.
    const isSameSketch = isSameLog && parseSeed(head.seed) === this.#seed
    const isWhole = after === undefined || (isSameLog && after < head.from)
    if (!isWhole && (!isSameSketch || after > this.#position)) return { kind: 'restart' }
    const known = isWhole ? head.from : this.#position
    return { kind: 'install', missing: head.segments.filter(segment => segment.to > known) }
  }

  /**
   * Installs a head, with the filters of the segments that `plan` called missing, in that order. All or nothing.
   *
   * Events and other heads may have come since `plan`. Then less is missing than was fetched, and the missing filters are
   * the last ones, since knowledge only grows.
   */
  install(head: ReaderHead, after: Position | undefined, filters: readonly Bloom[]): void {
    const plan = this.plan(head, after)
    if (plan.kind === 'ignore') return
    if (plan.kind === 'restart') throw sketchInvalid('it does not continue from the known changes')
    const seed = parseSeed(head.seed)
    if (seed === undefined) throw sketchInvalid('its seed is not 16 hex digits')
    const surplus = filters.length - plan.missing.length
    if (surplus < 0) throw sketchInvalid(`${-surplus} of its segments were not passed`)
    const isWhole = after === undefined || after < head.from
    const added = plan.missing.map((ref, i) => ({ ...refOf(ref), filter: filters[surplus + i]! }))
    if ('filter' in head.tail) added.push({ ...refOf(head.tail), filter: decodeTail(head.tail.filter, seed) })
    const listed = 'changes' in head.tail ? listIn(head.tail) : []
    checkJoined(isWhole ? head.from : this.#position, [...plan.missing, refOf(head.tail)], head.position)
    if (isWhole) this.#startOver(head.log, seed, head.from)
    this.#segments = [...this.#segments, ...added].filter(segment => segment.to > head.from)
    this.#list(listed)
    this.#moveTo(head.from, head.position)
  }

  /**
   * Takes a pushed event. False if a head must be fetched first: because the event leaves a gap after the known changes, or
   * because too much is listed here. Events only ever add; only a head says what has left the window.
   */
  push(event: ChangesEvent): boolean {
    if (this.#log === undefined || event.from > this.#position) return false
    if (event.to <= this.#position) return true
    if (this.#isTooLong) return false
    this.#list(listIn(event))
    this.#position = event.to
    return true
  }

  /** The position of a path's last change in an event that was not pushed yet. */
  preview(event: ChangesEvent): (path: Path) => Position | undefined {
    const positions = new Map<number, Position>()
    for (const { hash, position } of listIn(event)) positions.set(hash, position)
    return path => positions.get(changeHashOf(this.#hash(path)))
  }

  #startOver(log: string, seed: bigint, from: Position): void {
    this.#log = log
    this.#from = from
    this.#seed = seed
    this.#hash = hashUnder(this.#seed)
    this.#segments = []
    this.#listed = new Map()
  }

  #list(changes: readonly ListedChange[]): void {
    for (const { hash, position } of changes) {
      if ((this.#listed.get(hash) ?? 0) < position) this.#listed.set(hash, position)
    }
  }

  /** Another server's window may begin earlier; the changes dropped here because of a later window stay unknown. */
  #moveTo(from: Position, position: Position): void {
    this.#position = position
    if (from <= this.#from) return
    this.#from = from
    for (const [hash, at] of this.#listed) if (at <= from) this.#listed.delete(hash)
  }
}

function refOf({ from, to }: SegmentRef): SegmentRef {
  return { from, to }
}

function listIn({ from, to, changes }: SegmentRef & { readonly changes: PackedChanges }): readonly ListedChange[] {
  const listed = unpackChanges(from, changes)
  if (listed.to !== to) throw sketchInvalid(`it reaches to ${to}, but lists changes up to ${listed.to}`)
  return listed.changes
}

function decodeTail(base64: string, seed: bigint): Bloom {
  const bytes = fromBase64(base64)
  if (bytes === undefined) throw sketchInvalid('its tail is not base64')
  return decodeFilter(bytes, seed)
}

/** A hole between segments would be a stretch of the log whose changes the reader does not know. */
function checkJoined(known: Position, refs: readonly SegmentRef[], end: Position): void {
  let reached = known
  for (const { from, to } of refs) {
    if (!(from <= to && to <= end)) throw sketchInvalid(`it reaches to ${end}, but holds changes from ${from} to ${to}`)
    if (from > reached) throw sketchInvalid(`the changes from ${reached} to ${from} are missing`)
    reached = Math.max(reached, to)
  }
  if (reached < end) throw sketchInvalid(`the changes from ${reached} to ${end} are missing`)
}
