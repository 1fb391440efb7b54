/**
 * A Bloom filter that supports removal: a counter in each place, and beside the counters the plain bits, always up to date,
 * so that they can be sent to clients without being built (the thesis's materialised counting filter, 3.5).
 *
 * Invariant: a bit is set exactly while its counter is above 0.
 *
 * Counters saturate: one that has reached its highest value is never lowered again. It can no longer know how many keys it
 * counts, and lowering it could clear a bit that is still in use; a client would then trust a stale copy. The
 * price is a place that stays set until `clear`. Four bits saturate once in about 10^15 places at the usual load.
 */
import { indexScale, writeIndexes } from '../hashing/bit-array.js'
import { hashKey, type Key, keyHash } from '../hashing/key-hash.js'
import { checkSeed, type Seed, seedHigh, seedLow } from '../hashing/seed.js'
import { Bloom, type BloomOptions, type BloomView, resolveSize } from '../plain/bloom.js'
import { BITS_MAX, type FilterSize, invalid } from '../plain/sizing.js'

const COUNTER_WIDTHS = [2, 4, 8, 16] as const

/** Bits in each counter. */
export type CounterBits = (typeof COUNTER_WIDTHS)[number]
export type CountingBloomOptions = BloomOptions & { readonly counterBits?: CounterBits }

export function createCountingBloom(options: CountingBloomOptions): CountingBloom {
  const counterBits = options?.counterBits ?? 4
  if (!COUNTER_WIDTHS.includes(counterBits)) {
    throw invalid(`counterBits must be 2, 4, 8 or 16, not ${counterBits}.`)
  }
  const size = resolveSize(options)
  if (size.bits * counterBits > BITS_MAX) {
    throw invalid(
      `${size.bits} counters of ${counterBits} bits exceed ${BITS_MAX} bits (512 MiB). Pass fewer entries or a narrower counter.`,
    )
  }
  return new CountingBloom(size, checkSeed(options.seed ?? 0n), counterBits)
}

export class CountingBloom {
  readonly counterBits: CounterBits
  /** The counters, packed lowest first, 32 / counterBits to a word. */
  readonly counters: Int32Array
  readonly #bloom: Bloom
  readonly #scale: number
  readonly #seedLow: number
  readonly #seedHigh: number
  readonly #highest: number
  readonly #indexes: Uint32Array

  /** Use `createCountingBloom`. The filter takes ownership of `counters`. */
  constructor(size: FilterSize, seed: Seed, counterBits: CounterBits, counters?: Int32Array, count = 0) {
    this.counterBits = counterBits
    this.counters = counters ?? new Int32Array(Math.ceil((size.bits * counterBits) / 32))
    this.#bloom = new Bloom(size, seed, undefined, count)
    this.#scale = indexScale(size.bits)
    this.#seedLow = seedLow(seed)
    this.#seedHigh = seedHigh(seed)
    this.#highest = 2 ** counterBits - 1
    this.#indexes = new Uint32Array(size.hashes)
    if (counters) for (let place = 0; place < size.bits; place++) if (this.#counter(place) > 0) this.#setBit(place)
  }

  get bits(): number {
    return this.#bloom.bits
  }

  get hashes(): number {
    return this.#bloom.hashes
  }

  get seed(): Seed {
    return this.#bloom.seed
  }

  /** Keys added and not removed. */
  get count(): number {
    return this.#bloom.count
  }

  /** The plain filter of the same keys, always up to date. It changes with this one: `clone` it to keep it. */
  get bloom(): BloomView {
    return this.#bloom
  }

  add(key: Key): void {
    for (const place of this.#placesOf(key)) {
      const counter = this.#counter(place)
      if (counter === 0) this.#setBit(place)
      if (counter < this.#highest) this.#setCounter(place, counter + 1)
    }
    this.#bloom.count++
  }

  has(key: Key): boolean {
    return this.#bloom.has(key)
  }

  /**
   * Takes back one `add` of this key. Returns false, and changes nothing, if the key is certainly not in the filter. Remove only
   * keys that were added: removing a key that is a mere false positive takes bits away from others.
   */
  remove(key: Key): boolean {
    if (this.multiplicity(key) === 0) return false
    for (const place of this.#indexes) {
      const counter = this.#counter(place)
      // A counter is 0 here only if a mere false positive is being removed; it must not wrap around.
      if (counter === 0 || counter === this.#highest) continue
      this.#setCounter(place, counter - 1)
      if (counter === 1) this.#clearBit(place)
    }
    this.#bloom.count--
    return true
  }

  /** How often the key was added, at most: the lowest of its counters (minimum selection). */
  multiplicity(key: Key): number {
    let least = this.#highest
    for (const place of this.#placesOf(key)) least = Math.min(least, this.#counter(place))
    return least
  }

  clear(): void {
    this.counters.fill(0)
    this.#bloom.clear()
  }

  clone(): CountingBloom {
    return new CountingBloom(this, this.seed, this.counterBits, this.counters.slice(), this.count)
  }

  #placesOf(key: Key): Uint32Array {
    hashKey(key, this.#seedLow, this.#seedHigh)
    writeIndexes(this.#indexes, this.#scale, keyHash[0]!, keyHash[1]!)
    return this.#indexes
  }

  // A width divides 32, so that a counter never lies across two words. Bit positions can exceed 2^32: divide, don't shift.
  #counter(place: number): number {
    const perWord = 32 / this.counterBits
    return (this.counters[Math.floor(place / perWord)]! >>> ((place % perWord) * this.counterBits)) & this.#highest
  }

  #setCounter(place: number, value: number): void {
    const perWord = 32 / this.counterBits
    const word = Math.floor(place / perWord)
    const shift = (place % perWord) * this.counterBits
    this.counters[word] = (this.counters[word]! & ~(this.#highest << shift)) | (value << shift)
  }

  #setBit(place: number): void {
    this.#bloom.words[place >>> 5]! |= 1 << place
  }

  #clearBit(place: number): void {
    this.#bloom.words[place >>> 5]! &= ~(1 << place)
  }
}
