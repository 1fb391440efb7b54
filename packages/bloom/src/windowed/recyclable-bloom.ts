/**
 * The recyclable filter (Subramanyam et al., section VI-E): one Bloom filter that is emptied whenever its estimated rate
 * exceeds the target. It is the forgetful filter's baseline and not a `WindowedFilter`: the moment it is emptied it denies
 * keys that came in just before.
 */
import type { Key } from '../hashing/key-hash.js'
import type { Seed } from '../hashing/seed.js'
import { type Bloom, createBloom } from '../plain/bloom.js'
import { expectedRate } from '../plain/sizing.js'

export interface RecyclableBloomOptions {
  readonly bits: number
  readonly hashes: number
  readonly falsePositiveRateMax: number
  readonly seed?: Seed
}

export function createRecyclableBloom(options: RecyclableBloomOptions): RecyclableBloom {
  return new RecyclableBloom(options)
}

export class RecyclableBloom {
  /** How often the filter was emptied. */
  recycled = 0
  readonly #bloom: Bloom
  readonly #rateMax: number

  constructor(options: RecyclableBloomOptions) {
    this.#bloom = createBloom(options)
    this.#rateMax = options.falsePositiveRateMax
  }

  /** Adds the key unless it seems to be there; returns whether it was new. */
  insert(key: Key): boolean {
    if (this.#bloom.has(key)) return false
    if (this.estimatedRate() > this.#rateMax) {
      this.#bloom.clear()
      this.recycled++
    }
    this.#bloom.add(key)
    return true
  }

  has(key: Key): boolean {
    return this.#bloom.has(key)
  }

  /** By the number of keys, as in the paper. */
  estimatedRate(): number {
    return expectedRate(this.#bloom, this.#bloom.count)
  }
}
