/**
 * The Bloom filter: a set that may wrongly say yes, at a known rate, and never wrongly says no.
 *
 * Two filters can be united or intersected when they have the same bits, hashes and seed. Bits are only ever set, by
 * `add`; only `clear` resets them.
 */
import { FilterError } from '../filter-error.js'
import { countBits, foldBits, indexScale, setBits, testBits } from '../hashing/bit-array.js'
import { hashKey, type Key, keyHash } from '../hashing/key-hash.js'
import { checkSeed, type Seed, seedHigh, seedLow } from '../hashing/seed.js'
import { checkSize, type FilterSize, invalid, sizeFor } from './sizing.js'

export type BloomOptions = (
  | { readonly entriesMax: number; readonly falsePositiveRateMax: number }
  | { readonly bits: number; readonly hashes: number }
) & { readonly seed?: Seed }

/** The read-only side of a filter that other code fills. */
export type BloomView = Omit<Bloom, 'add' | 'addAll' | 'addHash' | 'clear'>

/** Makes an empty filter, either for a number of entries and a rate, or with exactly the given bits and hashes. */
export function createBloom(options: BloomOptions): Bloom {
  return new Bloom(resolveSize(options), checkSeed(options?.seed ?? 0n))
}

/** Reads the two ways of giving a size. */
export function resolveSize(options: BloomOptions): FilterSize {
  if (options && 'bits' in options && 'hashes' in options) return checkSize(options.bits, options.hashes)
  if (options && 'entriesMax' in options && 'falsePositiveRateMax' in options) {
    return sizeFor(options.entriesMax, options.falsePositiveRateMax)
  }
  throw invalid(
    'Pass { entriesMax, falsePositiveRateMax } or { bits, hashes }, for example { entriesMax: 10_000, falsePositiveRateMax: 0.01 }.',
  )
}

export class Bloom {
  readonly bits: number
  readonly hashes: number
  readonly seed: Seed
  /** How often `add` was called; an upper bound of the distinct keys. */
  count = 0
  /** The bits, 32 to a word, lowest first. Bits from `bits` on are always 0. */
  readonly words: Int32Array
  readonly #scale: number
  readonly #seedLow: number
  readonly #seedHigh: number

  /** Use `createBloom`. The filter takes ownership of `words`. */
  constructor(size: FilterSize, seed: Seed, words: Int32Array = new Int32Array(Math.ceil(size.bits / 32)), count = 0) {
    this.bits = size.bits
    this.hashes = size.hashes
    this.seed = seed
    this.words = words
    this.count = count
    this.#scale = indexScale(size.bits)
    this.#seedLow = seedLow(seed)
    this.#seedHigh = seedHigh(seed)
  }

  add(key: Key): void {
    hashKey(key, this.#seedLow, this.#seedHigh)
    setBits(this.words, this.#scale, this.hashes, keyHash[0]!, keyHash[1]!)
    this.count++
  }

  has(key: Key): boolean {
    hashKey(key, this.#seedLow, this.#seedHigh)
    return testBits(this.words, this.#scale, this.hashes, keyHash[0]!, keyHash[1]!)
  }

  /** Adds a key by its hash under this filter's seed, as `hashUnder` gives it. */
  addHash(low: number, high: number): void {
    setBits(this.words, this.#scale, this.hashes, low, high)
    this.count++
  }

  /** For one key and many filters of one seed: hash it once, then query each filter. */
  hasHash(low: number, high: number): boolean {
    return testBits(this.words, this.#scale, this.hashes, low, high)
  }

  addAll(keys: Iterable<Key>): void {
    for (const key of keys) this.add(key)
  }

  /** A new filter with the keys of both. */
  union(other: BloomView): Bloom {
    this.#requireSameShape(other)
    const words = this.words.map((word, i) => word | other.words[i]!)
    return new Bloom(this, this.seed, words, this.count + other.count)
  }

  /** A new filter with at least the keys that both have; it may say yes more often than one built from the common keys. */
  intersect(other: BloomView): Bloom {
    this.#requireSameShape(other)
    const words = this.words.map((word, i) => word & other.words[i]!)
    return new Bloom(this, this.seed, words, Math.min(this.count, other.count))
  }

  /** A new filter of half the bits with all keys of this one, at a higher rate. Needs an even number of bits. */
  fold(): Bloom {
    if (this.bits % 2 !== 0) {
      throw new FilterError(
        'FILTER_NOT_FOLDABLE',
        `A filter of ${this.bits} bits cannot be halved. Create it with an even number of bits, preferably a power of two.`,
      )
    }
    return new Bloom({ bits: this.bits / 2, hashes: this.hashes }, this.seed, foldBits(this.words), this.count)
  }

  clear(): void {
    this.words.fill(0)
    this.count = 0
  }

  clone(): Bloom {
    return new Bloom(this, this.seed, this.words.slice(), this.count)
  }

  /** The share of bits that are set. Reads every word. */
  fillRatio(): number {
    return countBits(this.words) / this.bits
  }

  /** The number of distinct keys that best explains the set bits; Infinity once every bit is set. */
  estimatedCount(): number {
    return (-this.bits / this.hashes) * Math.log(1 - this.fillRatio())
  }

  /** The current false-positive rate. */
  estimatedRate(): number {
    return this.fillRatio() ** this.hashes
  }

  #requireSameShape(other: BloomView): void {
    if (this.bits === other.bits && this.hashes === other.hashes && this.seed === other.seed) return
    throw new FilterError(
      'FILTER_MISMATCH',
      `These filters differ: ${shape(this)} and ${shape(other)}. Create both with the same bits, hashes and seed.`,
    )
  }
}

function shape(filter: BloomView): string {
  return `${filter.bits} bits, ${filter.hashes} hashes, seed 0x${filter.seed.toString(16)}`
}
