/**
 * The sketch, as a server keeps it: which paths changed during the window, cut into segments (see `segment.ts`) and an
 * open tail. It is derived from the change log alone, and rebuilt from it after a restart.
 *
 * Invariant: every change with position in (from, position] is in exactly one segment or in the tail, and every change
 * at or before `from` happened longer than a window ago by the store's clock. That clock never runs ahead of real time,
 * so no copy read before such a change is alive in any cache.
 *
 * A change of an object is also a change of its bucket's path, which is the key of the bucket's lists, and of the tags it
 * carries, which the results of queries depend on. A change of a bucket's settings is a change of its path with `?settings`:
 * the bucket may have other tags from then on.
 */
import { type Key as HashableKey, hashUnder, type KeyHash } from '@freshet/bloom'
import {
  bucketOfKey,
  type CoherenceHead,
  type PackedChanges,
  type Path,
  pathOfKey,
  type SegmentRef,
  type Tail,
} from '@freshet/protocol'
import type { Key, LogEntry, Position, Tag } from '../store/index.js'
import { toBase64 } from './base64.js'
import { changeHashOf, formatSeed } from './change-hash.js'
import { toHashSet, uniteHashSets } from './hash-set.js'
import { lastOfEach, packChanges } from './packed-changes.js'
import { type FilterShape, filterOf, mergeSegments, type Segment } from './segment.js'
import { costOfFilters, type SketchCost } from './sketch-cost.js'

export interface SketchOptions {
  /** The same for every server over the same log, and different for another log: see `news.ts`. */
  readonly seed: bigint
  /** Where the log begins: everything up to here is older than the window. */
  readonly from: Position
  readonly windowMs: number
  /** The rate of each segment's filter. A false positive costs one more fetch from the origin, nothing else. */
  readonly falsePositiveRateMax?: number
  /** How long the open tail grows before it becomes a segment. */
  readonly slotMs?: number
}

/** Up to this many changed paths are sent one by one; more are sent as segments and a filter. */
export const LISTED_CHANGES_MAX = 256
/** This many recent changes are kept one by one. */
const RECENT_CHANGES_MAX = 1024
const TAIL_CHANGES_MAX = 4096

interface Change {
  readonly position: Position
  readonly timeMs: number
  readonly hash: KeyHash
}

export type SketchHead = Omit<CoherenceHead, 'log' | 'timeMs'>

export function createSketch(options: SketchOptions): Sketch {
  return new Sketch(options)
}

export class Sketch {
  readonly #shape: FilterShape
  readonly #slotMs: number
  readonly #hash: (key: HashableKey) => KeyHash
  readonly #encoded = new WeakMap<Segment, Uint8Array>()
  #from: Position
  #position: Position
  #windowMs: number
  #segments: readonly Segment[] = []
  #tail: Change[] = []
  /** Changes already closed into a segment, still listed one by one to recent readers. */
  #recent: Change[] = []
  /** The changes after this position are all known one by one. */
  #listedFrom: Position

  constructor(options: SketchOptions) {
    this.#shape = { seed: options.seed, falsePositiveRateMax: options.falsePositiveRateMax ?? 0.001 }
    this.#slotMs = options.slotMs ?? 1000
    this.#hash = hashUnder(options.seed)
    this.#from = options.from
    this.#position = options.from
    this.#listedFrom = options.from
    this.#windowMs = options.windowMs
  }

  /** Where the window begins; the log up to here is no longer needed. */
  get from(): Position {
    return this.#from
  }

  /** The last commit it knows of. */
  get position(): Position {
    return this.#position
  }

  /** Takes the log's entries after `position`, in order. */
  append(entries: readonly LogEntry[]): void {
    for (const { position, timeMs, keys, tags } of entries) {
      if (position <= this.#position) throw new RangeError(`Position ${position} does not follow ${this.#position}.`)
      const first = this.#tail[0]
      if (first && this.#slot(first.timeMs) !== this.#slot(timeMs)) this.#closeTail()
      this.#position = position
      for (const path of pathsOf(keys, tags)) this.#tail.push({ position, timeMs, hash: this.#hash(path) })
      if (this.#tail.length >= TAIL_CHANGES_MAX) this.#closeTail()
    }
  }

  /** Moves time on: closes the tail's slot, merges segments that are due, drops those that have left the window. */
  advance(nowMs: number, windowMs: number): void {
    this.#windowMs = windowMs
    const first = this.#tail[0]
    if (first && this.#slot(first.timeMs) < this.#slot(nowMs)) this.#closeTail()
    this.#segments = mergeSegments(this.#segments, nowMs, this.#slotMs, windowMs)
    const kept = this.#segments.findIndex(segment => nowMs - segment.newestMs <= windowMs)
    const dropped = kept === -1 ? this.#segments : this.#segments.slice(0, kept)
    this.#segments = kept === -1 ? [] : this.#segments.slice(kept)
    this.#from = dropped.at(-1)?.to ?? this.#from
    this.#listedFrom = Math.max(this.#listedFrom, this.#from)
  }

  /** What a reader that knows everything up to `after` lacks; everything, for one that knows nothing or too little. */
  head(after?: Position): SketchHead {
    const known = after === undefined || after < this.#from ? this.#from : after
    const listed = after === undefined ? undefined : this.#listedAfter(known)
    return {
      position: this.#position,
      from: this.#from,
      windowMs: this.#windowMs,
      seed: formatSeed(this.#shape.seed),
      segments: listed
        ? []
        : this.#segments.filter(segment => segment.to > known).map(({ from, to }) => ({ from, to })),
      tail: listed ?? this.#openTail(),
    }
  }

  /**
   * The encoded filter of the changes in (from, to]: of exactly those if it is one of our segments; otherwise, since another
   * server may have cut differently, of a little more, which is as good. Undefined if it reaches out of the window.
   */
  segment({ from, to }: SegmentRef): Uint8Array | undefined {
    if (from >= to || from < this.#from || to > this.#position) return undefined
    const whole = this.#segments.find(segment => segment.from === from && segment.to === to)
    if (whole) return this.#encode(whole)
    const touched = this.#segments.filter(segment => segment.from < to && segment.to > from)
    return this.#filterWithTail(touched)
  }

  /** The whole window as one filter, for simple clients: a path in it may have changed. */
  folded(): Uint8Array {
    return this.#filterWithTail(this.#segments)
  }

  /** The changes after a position, one by one; undefined if there are too many, or they are not known one by one. */
  changesAfter(after: Position, countMax: number = RECENT_CHANGES_MAX): PackedChanges | undefined {
    if (after < this.#listedFrom) return undefined
    const newer = [this.#recent, this.#tail].flatMap(changes => newerThan(changes, after, RECENT_CHANGES_MAX))
    return newer.length > RECENT_CHANGES_MAX ? undefined : pack(after, Math.max(after, this.#position), newer, countMax)
  }

  /** Sizes, for metrics. */
  size(): { readonly segments: number; readonly changes: number } {
    const changes = this.#segments.reduce((sum, segment) => sum + segment.hashes.length, this.#tail.length)
    return { segments: this.#segments.length, changes }
  }

  /** Its cost to readers, for metrics. */
  cost(): SketchCost {
    const head = this.head()
    const segments = this.#segments.map(({ hashes }) => hashes.length)
    const tail = 'filter' in head.tail ? [toHashSet(this.#tail.map(({ hash }) => hash)).length] : []
    const { falsePositiveRateMax } = this.#shape
    return {
      // The tail is in the head.
      bytes: costOfFilters(segments, falsePositiveRateMax).bytes + JSON.stringify(head).length,
      falsePositiveRate: costOfFilters([...segments, ...tail], falsePositiveRateMax).falsePositiveRate,
    }
  }

  #listedAfter(known: Position): Tail | undefined {
    const changes = this.changesAfter(known, LISTED_CHANGES_MAX)
    return changes === undefined ? undefined : { from: known, to: Math.max(known, this.#position), changes }
  }

  #openTail(): Tail {
    const from = this.#segments.at(-1)?.to ?? this.#from
    const to = this.#position
    const changes = pack(from, to, this.#tail, LISTED_CHANGES_MAX)
    if (changes !== undefined) return { from, to, changes }
    const bytes = filterOf(toHashSet(this.#tail.map(change => change.hash)), this.#shape)
    return { from, to, filter: toBase64(bytes) }
  }

  #filterWithTail(segments: readonly Segment[]): Uint8Array {
    const tail = toHashSet(this.#tail.map(change => change.hash))
    return filterOf(uniteHashSets([...segments.map(segment => segment.hashes), tail]), this.#shape)
  }

  #closeTail(): void {
    const last = this.#tail.at(-1)!
    const segment: Segment = {
      from: this.#segments.at(-1)?.to ?? this.#from,
      // Not our position: commits after it that changed nothing may be younger than the segment's last change.
      to: last.position,
      level: 0,
      newestMs: last.timeMs,
      hashes: toHashSet(this.#tail.map(change => change.hash)),
    }
    this.#segments = [...this.#segments, segment]
    const listed = [...this.#recent, ...this.#tail]
    const forgotten = listed.length - RECENT_CHANGES_MAX
    if (forgotten > 0) this.#listedFrom = listed[forgotten - 1]!.position
    this.#recent = listed.slice(Math.max(0, forgotten))
    this.#tail = []
  }

  #encode(segment: Segment): Uint8Array {
    const known = this.#encoded.get(segment)
    if (known) return known
    const bytes = filterOf(segment.hashes, this.#shape)
    this.#encoded.set(segment, bytes)
    return bytes
  }

  #slot(timeMs: number): number {
    return Math.floor(timeMs / this.#slotMs)
  }
}

/** Every path that a commit changes: those of its keys, of the lists of their buckets, of its tags. */
function pathsOf(keys: readonly Key[], tags: readonly Tag[]): Set<Path> {
  const paths = new Set<Path>()
  for (const key of keys) {
    const bucket = bucketOfKey(key)
    paths.add(pathOfKey(key))
    paths.add(pathOfKey(bucket))
    if (bucket === key) paths.add(`${pathOfKey(bucket)}?settings`)
  }
  for (const tag of tags) paths.add(`/db/${tag}`)
  return paths
}

/** The changes after a position, at most one more than `countMax`. They are in order, so this reads no further. */
function newerThan(changes: readonly Change[], after: Position, countMax: number): readonly Change[] {
  let start = changes.length
  while (start > 0 && changes[start - 1]!.position > after && changes.length - start <= countMax) start--
  return changes.slice(start)
}

/** Undefined if more than `countMax` paths changed. */
function pack(from: Position, to: Position, changes: readonly Change[], countMax: number): PackedChanges | undefined {
  const listed = lastOfEach(changes.map(({ position, hash }) => ({ position, hash: changeHashOf(hash) })))
  return listed.length > countMax ? undefined : packChanges(from, to, listed)
}
