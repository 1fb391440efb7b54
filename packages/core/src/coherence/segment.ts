/**
 * A closed stretch of the log, (from, to], as the set of paths that changed in it. Closed means that it never changes:
 * its filter is a file that any cache may keep.
 *
 * Segments are cut by the store's clock, so that every server over the same log, and every one after a restart, cuts
 * them alike. At level 0 a segment holds one slot of `slotMs`; when eight slots are over, they are merged into one of
 * level 1, and so on, as long as eight of the result still fit into the window. So a new reader has a few dozen segments
 * to fetch, and the oldest segment is dropped at most an eighth of a window late.
 */
import { createBloom, encodeBloom } from '@freshet/bloom'
import type { Position } from '../store/index.js'
import { type HashSet, uniteHashSets, wordsOf } from './hash-set.js'

export const MERGE_FACTOR = 8

export interface Segment {
  readonly from: Position
  readonly to: Position
  readonly level: number
  /** The store's clock at its last change. */
  readonly newestMs: number
  readonly hashes: HashSet
}

export interface FilterShape {
  readonly seed: bigint
  readonly falsePositiveRateMax: number
}

export function filterOf(hashes: HashSet, { seed, falsePositiveRateMax }: FilterShape): Uint8Array {
  const filter = createBloom({ entriesMax: Math.max(1, hashes.length), falsePositiveRateMax, seed })
  const words = wordsOf(hashes)
  for (let at = 0; at < words.length; at += 2) filter.addHash(words[at]!, words[at + 1]!)
  return encodeBloom(filter)
}

/** Merges every run of segments whose common slot, one level up, is over. Segments stay in order and contiguous. */
export function mergeSegments(
  segments: readonly Segment[],
  nowMs: number,
  slotMs: number,
  windowMs: number,
): readonly Segment[] {
  let merged = segments
  for (let level = 0; slotMs * MERGE_FACTOR ** (level + 2) <= windowMs; level++) {
    const slot = (timeMs: number) => Math.floor(timeMs / (slotMs * MERGE_FACTOR ** (level + 1)))
    merged = mergeRuns(merged, level, segment =>
      slot(segment.newestMs) < slot(nowMs) ? slot(segment.newestMs) : undefined,
    )
  }
  return merged
}

/** `slotOf` returns the slot of a segment, which decides what is merged; undefined if the slot is not over yet. */
function mergeRuns(
  segments: readonly Segment[],
  level: number,
  slotOf: (segment: Segment) => number | undefined,
): readonly Segment[] {
  const result: Segment[] = []
  for (let at = 0; at < segments.length; ) {
    const first = segments[at]!
    const slot = first.level === level ? slotOf(first) : undefined
    let end = at + 1
    if (slot !== undefined) {
      while (end < segments.length && segments[end]!.level === level && slotOf(segments[end]!) === slot) end++
    }
    result.push(slot === undefined ? first : unite(segments.slice(at, end), level + 1))
    at = end
  }
  return result
}

/** Consecutive segments, as one. */
function unite(run: readonly Segment[], level: number): Segment {
  const last = run.at(-1)!
  return {
    from: run[0]!.from,
    to: last.to,
    level,
    newestMs: last.newestMs,
    hashes: run.length === 1 ? last.hashes : uniteHashSets(run.map(segment => segment.hashes)),
  }
}
