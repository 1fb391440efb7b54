/** A Bloom filter library, made to look like every other. */

export type PeerKey = string | Uint8Array

/**
 * Functions over a filter rather than objects around one: they stay the same from round to round, so that V8 compiles
 * each contender as it would in a program that has one kind of filter.
 */
export interface FilterContender<Filter = unknown, Key extends PeerKey = PeerKey> {
  readonly name: string
  /** For libraries that hash something else than strings. Not timed, to their advantage. */
  toKey(key: string): Key
  /** For libraries that cannot be made large enough; the bench then fills a smaller one to the same load. */
  readonly entriesMax?: number
  /** An empty filter for `entries` keys at `rate`, sized by the library itself wherever it can. */
  create(entries: number, rate: number): Filter
  add(filter: Filter, key: Key): unknown
  has(filter: Filter, key: Key): boolean
  /** What the filter's bits take in memory, in bits. */
  memoryBits(filter: Filter): number
}

/** Loads the library: each contender's process or page loads its own and no other. */
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

/** The size for libraries that want it in bits and hashes: the least bits and the best number of hashes. */
export function optimalSize(entries: number, rate: number): { bits: number; hashes: number } {
  const bits = Math.ceil(entries * leastBitsPerEntry(rate))
  return { bits, hashes: Math.round((bits / entries) * Math.LN2) }
}
