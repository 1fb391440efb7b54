import { indexScale, writeIndexes } from '../hashing/bit-array.js'
import { hashKey, type Key, keyHash } from '../hashing/key-hash.js'
import { checkSeed, type Seed, seedHigh, seedLow } from '../hashing/seed.js'
import { checkSize, type FilterSize } from './sizing.js'

/**
 * The bits that `key` sets in a filter of this size and seed. For developers who port the filter to another language, keep
 * a filter in another engine, or want to test the hash.
 */
export function keyIndexes(key: Key, size: FilterSize & { readonly seed?: Seed }): Uint32Array {
  const { bits, hashes } = checkSize(size.bits, size.hashes)
  const seed = checkSeed(size.seed ?? 0n)
  const indexes = new Uint32Array(hashes)
  hashKey(key, seedLow(seed), seedHigh(seed))
  writeIndexes(indexes, indexScale(bits), keyHash[0]!, keyHash[1]!)
  return indexes
}
