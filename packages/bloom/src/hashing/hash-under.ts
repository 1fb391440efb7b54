/** The hash of a key by itself, for callers that query many filters of one seed, or send hashes instead of keys. */
import { hashKey, type Key, keyHash } from './key-hash.js'
import { checkSeed, type Seed, seedHigh, seedLow } from './seed.js'

export interface KeyHash {
  /** Two signed 32-bit integers. */
  readonly low: number
  readonly high: number
}

/** Returns a function, so that the seed is taken apart only once. */
export function hashUnder(seed: Seed): (key: Key) => KeyHash {
  const low = seedLow(checkSeed(seed))
  const high = seedHigh(seed)
  return key => {
    hashKey(key, low, high)
    return { low: keyHash[0]!, high: keyHash[1]! }
  }
}
