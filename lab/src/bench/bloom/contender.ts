/** A Bloom filter library, adapted to a common interface. */

export type PeerKey = string | Uint8Array

/**
 * Functions over a filter rather than objects around one. They stay the same from round to round, so that V8 compiles each
 * contender as it would in a program with one kind of filter.
 */
export interface FilterContender<Filter = unknown, Key extends PeerKey = PeerKey> {
  readonly name: string
  /** For libraries that do not hash strings. Not timed, to their advantage. */
  toKey(key: string): Key
  /** For libraries that cannot make a large enough filter; the bench then fills a smaller filter to the same load. */
  readonly entriesMax?: number
  /** An empty filter for `entries` keys at `rate`, sized by the library itself where possible. */
  create(entries: number, rate: number): Filter
  add(filter: Filter, key: Key): unknown
  has(filter: Filter, key: Key): boolean
  /** The memory that the filter's bits take, in bits. */
  memoryBits(filter: Filter): number
}

/** Loads the library: each contender's process or page loads only its own. */
export type ContenderLoader = () => Promise<FilterContender>

/** A contender whose keys are the strings themselves. */
export function stringContender<Filter>(
  contender: Omit<FilterContender<Filter, string>, 'toKey'>,
): FilterContender<Filter, string> {
  return { ...contender, toKey: key => key }
}

/** -log2(rate) / ln 2: no Bloom filter needs fewer bits per entry. 9.585 at 1%. */
export function leastBitsPerEntry(rate: number): number {
  return -Math.log2(rate) / Math.LN2
}

/** The size for libraries that take bits and hashes: the fewest bits and the best number of hashes. */
export function optimalSize(entries: number, rate: number): { bits: number; hashes: number } {
  const bits = Math.ceil(entries * leastBitsPerEntry(rate))
  return { bits, hashes: Math.round((bits / entries) * Math.LN2) }
}
