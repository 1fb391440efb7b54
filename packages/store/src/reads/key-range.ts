/** Ranges of keys, in the form that a database can read. */
import { compareUtf8, type Key, type ScanRange } from '@freshet/core/store'
import type { Bound, KeyRange } from '../engine/engine.js'
import { textAfter } from '../indexes/index-ranges.js'

/**
 * Text in a database cannot contain the character 0, and so no key contains it. A bound may: a key above such a bound is
 * above everything up to that character, and a key below it is at most that.
 */
export function keyRange(low: Bound, high: Bound, limit: number, isDescending = false): KeyRange {
  return { low: { ...cut(low, false) }, high: { ...cut(high, true) }, isDescending, limit }
}

function cut(bound: Bound, isHigh: boolean): Bound {
  const at = bound.key.indexOf('\0')
  return at === -1 ? bound : { key: bound.key.slice(0, at), isIncluded: isHigh }
}

/** The keys that a scan may find in a folder (`shop/products/`). */
export function scanBounds(
  folder: Key,
  { from = '', to, after, prefix = '' }: ScanRange,
): { readonly low: Bound; readonly high: Bound } {
  const lowest = compareUtf8(from, prefix) > 0 ? from : prefix
  const isAfter = after !== undefined && compareUtf8(after, lowest) >= 0
  const ends = [to, prefix === '' ? undefined : textAfter(prefix)].filter(end => end !== undefined)
  const [end] = ends.sort(compareUtf8)
  return {
    low: { key: folder + (isAfter ? after : lowest), isIncluded: !isAfter },
    high: { key: end === undefined ? folderEnd(folder) : folder + end, isIncluded: false },
  }
}

/** The least key after every key in a folder: 0 is the character after the slash. */
export function folderEnd(folder: Key): Key {
  return `${folder.slice(0, -1)}0`
}
