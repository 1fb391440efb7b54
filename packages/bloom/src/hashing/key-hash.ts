/**
 * One seeded 64-bit hash of a key; every index a filter uses is derived from it.
 *
 * The hash is HalfSipHash-1-3 (Aumasson, Bernstein; the Linux kernel's `hsiphash` on 32-bit machines) of the key's UTF-8
 * bytes: without the seed an attacker cannot craft keys that collide, and it needs only 32-bit additions, rotations and
 * xors, so it runs the same in Node and in browsers. It departs from the reference in one thing: the second word of the
 * result is v0 ^ v2 of the same final state, which saves three rounds of finalisation.
 *
 * A key of more than 4,096 bytes is hashed in parts, and then the hashes of its parts are hashed.
 *
 * A string and its UTF-8 bytes have the same hash. A lone surrogate counts as U+FFFD, as everywhere on the web.
 *
 * Speed: reading the string is the bottleneck, not the mixing. In Node one native `encodeInto` beats `charCodeAt` from
 * about two dozen characters on; in browsers `charCodeAt` always wins. Both fill the same scratch words.
 */
import { FilterError } from '../filter-error.js'

export type Key = string | Uint8Array

/** The hash of the last key: written by `hashKey`, read at once by its caller. An array, so that nothing is boxed. */
export const keyHash: Int32Array = new Int32Array(2)

const SCRATCH_BYTES = 4096
/** Below this, reading the characters one by one beats the encoder. */
const ENCODED_CHARS_MIN = 24
/** A UTF-16 unit becomes at most three bytes. */
const ENCODED_CHARS_MAX = Math.floor(SCRATCH_BYTES / 3)

const encoder = new TextEncoder()
const host = globalThis as { process?: { versions?: { node?: string } } }
// The scratch is read as little-endian words; a big-endian machine packs them by hand instead.
const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1
const encoderIsFast = host.process?.versions?.node !== undefined && isLittleEndian

// The bytes of the key, and room for one more word. Never replaced by a larger one: a constant address is worth 4%.
const scratch = new Uint8Array(SCRATCH_BYTES + 4)
const scratchWords = new Int32Array(scratch.buffer)

/** Hashes `key` under the 64-bit seed into `keyHash`. Short, so that V8 inlines it; the rest is below. */
export function hashKey(key: Key, seedLow: number, seedHigh: number): void {
  if (encoderIsFast && typeof key === 'string' && key.length >= ENCODED_CHARS_MIN && key.length <= ENCODED_CHARS_MAX) {
    halfSipHash(encoder.encodeInto(key, scratch).written, seedLow, seedHigh)
  } else {
    hashOtherwise(key, seedLow, seedHigh)
  }
}

function hashOtherwise(key: Key, seedLow: number, seedHigh: number): void {
  if (typeof key === 'string') {
    if (key.length <= SCRATCH_BYTES && packAscii(key)) halfSipHash(key.length, seedLow, seedHigh)
    else hashBytes(encoder.encode(key), seedLow, seedHigh)
  } else if (key instanceof Uint8Array) {
    hashBytes(key, seedLow, seedHigh)
  } else {
    throw new FilterError('FILTER_KEY_INVALID', `A key is a string or a Uint8Array, not ${describe(key)}. Convert it.`)
  }
}

/** Packs four characters to a word. Returns false, and leaves the scratch in any state, if a character is not ASCII. */
function packAscii(text: string): boolean {
  const words = scratchWords
  const length = text.length
  const whole = length & ~3
  let seen = 0
  let at = 0
  for (; at < whole; at += 4) {
    const a = text.charCodeAt(at)
    const b = text.charCodeAt(at + 1)
    const c = text.charCodeAt(at + 2)
    const d = text.charCodeAt(at + 3)
    seen |= a | b | c | d
    words[at >> 2] = a | (b << 8) | (c << 16) | (d << 24)
  }
  let last = 0
  for (let shift = 0; at < length; at++, shift += 8) {
    const c = text.charCodeAt(at)
    seen |= c
    last |= c << shift
  }
  words[length >> 2] = last
  return seen < 0x80
}

function hashBytes(bytes: Uint8Array, seedLow: number, seedHigh: number): void {
  let short = bytes
  while (short.length > SCRATCH_BYTES) short = digestOfParts(short, seedLow, seedHigh)
  packBytes(short)
  halfSipHash(short.length, seedLow, seedHigh)
}

/** Replaces a long key: the hashes of its parts of 4,096 bytes, then its length as a 64-bit number. */
function digestOfParts(bytes: Uint8Array, seedLow: number, seedHigh: number): Uint8Array {
  const digest = new Uint8Array(8 * Math.ceil(bytes.length / SCRATCH_BYTES) + 8)
  const view = new DataView(digest.buffer)
  for (let part = 0; part * SCRATCH_BYTES < bytes.length; part++) {
    hashBytes(bytes.subarray(part * SCRATCH_BYTES, (part + 1) * SCRATCH_BYTES), seedLow, seedHigh)
    view.setInt32(8 * part, keyHash[0]!, true)
    view.setInt32(8 * part + 4, keyHash[1]!, true)
  }
  view.setBigUint64(digest.length - 8, BigInt(bytes.length), true)
  return digest
}

function packBytes(bytes: Uint8Array): void {
  const words = scratchWords
  const length = bytes.length
  const whole = length & ~3
  let at = 0
  for (; at < whole; at += 4) {
    words[at >> 2] = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
  }
  let last = 0
  for (let shift = 0; at < length; at++, shift += 8) last |= bytes[at]! << shift
  words[length >> 2] = last
}

/**
 * HalfSipHash-1-3 over the first `length` bytes of the scratch.
 *
 * The round is written out four times, two words per iteration of the loop. JavaScript has no way to share it without leaving
 * registers, since a function would have to return four numbers; and one word per iteration costs 2% of a lookup.
 */
function halfSipHash(length: number, seedLow: number, seedHigh: number): void {
  const words = scratchWords
  // The `| 0` matters: without it V8 cannot know that these are 32-bit integers, and the whole loop runs 1.5x slower.
  let v0 = seedLow | 0
  let v1 = seedHigh | 0
  let v2 = 0x6c796765 ^ seedLow
  let v3 = 0x74656462 ^ seedHigh

  // The last word holds the left-over bytes and, on top, the length. Bytes left there by an earlier key are masked away;
  // shift counts are taken modulo 32, so that `length << 3` is eight times the number of left-over bytes.
  const lastWord = length >> 2
  words[lastWord] = (words[lastWord]! & ~(-1 << (length << 3))) | (length << 24)

  let at = 0
  if ((lastWord & 1) === 0) {
    const only = words[at++]!
    v3 ^= only
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= only
  }
  while (at < lastWord) {
    const first = words[at]!
    const second = words[at + 1]!
    at += 2
    v3 ^= first
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= first
    v3 ^= second
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= second
  }
  v2 ^= 0xff
  for (let round = 0; round < 3; round++) {
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
  }
  keyHash[0] = v1 ^ v3
  keyHash[1] = v0 ^ v2
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'object' ? `an object (${value.constructor?.name ?? 'no prototype'})` : `a ${typeof value}`
}
