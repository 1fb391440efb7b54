/** One Bloom filter among several that take turns. Its salt makes a key's bits unrelated to those in other slices. */
import { countBits, indexScale, setBits, testBits } from '../hashing/bit-array.js'
import type { FilterSize } from '../plain/sizing.js'

export class Slice {
  count = 0
  /** The time of the newest key that no younger slice holds as well. */
  newestMs: number = Number.NEGATIVE_INFINITY
  salt: number
  readonly #words: Int32Array
  readonly #scale: number
  readonly #hashes: number

  constructor(size: FilterSize, salt: number) {
    this.salt = salt
    this.#words = new Int32Array(Math.ceil(size.bits / 32))
    this.#scale = indexScale(size.bits)
    this.#hashes = size.hashes
  }

  add(h0: number, h1: number): void {
    setBits(this.#words, this.#scale, this.#hashes, salted(h0, this.salt), h1 ^ this.salt)
    this.count++
  }

  has(h0: number, h1: number): boolean {
    return testBits(this.#words, this.#scale, this.#hashes, salted(h0, this.salt), h1 ^ this.salt)
  }

  /** Empties the slice for another turn. */
  reuse(salt: number): void {
    this.#words.fill(0)
    this.count = 0
    this.newestMs = Number.NEGATIVE_INFINITY
    this.salt = salt
  }

  /** The rate of false positives of this slice alone, from its bits. */
  rate(): number {
    return (countBits(this.#words) / (this.#words.length * 32)) ** this.#hashes
  }

  get sizeBytes(): number {
    return this.#words.byteLength
  }
}

function salted(h0: number, salt: number): number {
  const x = Math.imul(h0 ^ salt, 0x9e3779b1)
  return x ^ (x >>> 15)
}
