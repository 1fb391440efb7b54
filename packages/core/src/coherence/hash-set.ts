/**
 * The distinct hashes of one stretch of the log, packed: eight bytes each, sorted. The server keeps them for the whole
 * window, to build the filters of merged segments from; an ordinary Set would take ten times the memory.
 */
import type { KeyHash } from '@freshet/bloom'

/** Sorted, without repetition. As an Int32Array over the same bytes: low, high, low, high. */
export type HashSet = BigUint64Array<ArrayBuffer>

export function toHashSet(hashes: readonly KeyHash[]): HashSet {
  const packed = new BigUint64Array(hashes.length)
  const words = wordsOf(packed)
  hashes.forEach(({ low, high }, i) => {
    words[2 * i] = low
    words[2 * i + 1] = high
  })
  return sortUnique(packed)
}

export function uniteHashSets(sets: readonly HashSet[]): HashSet {
  const packed = new BigUint64Array(sets.reduce((sum, set) => sum + set.length, 0))
  let at = 0
  for (const set of sets) {
    packed.set(set, at)
    at += set.length
  }
  return sortUnique(packed)
}

export function wordsOf(set: HashSet): Int32Array {
  return new Int32Array(set.buffer, set.byteOffset, 2 * set.length)
}

function sortUnique(packed: HashSet): HashSet {
  packed.sort()
  let kept = 0
  for (let at = 0; at < packed.length; at++) {
    if (at === 0 || packed[at] !== packed[kept - 1]) packed[kept++] = packed[at]!
  }
  return kept === packed.length ? packed : packed.slice(0, kept)
}
