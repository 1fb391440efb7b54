/**
 * The bits of a filter, and how a hash becomes indexes into them.
 *
 * Index i of a key with hash (h0, h1), in a filter of m bits:
 *
 *     x = h0 + i * h1                      modulo 2^32   (double hashing, Kirsch and Mitzenmacher)
 *     z = (x ^ (x >>> 15)) * 0x85ebca6b    modulo 2^32   (mixed, so that the indexes are not an arithmetic progression:
 *                                                         plain double hashing costs accuracy in small filters)
 *     index = floor(z * m / 2^32)          in IEEE double arithmetic
 *
 * Scaling instead of a remainder means that an index in a filter of m bits, halved, is the index in one of m/2 bits:
 * folding relies on this (`foldBits`). The bias is below m / 2^32.
 */

/** m / 2^32, exact: only the exponent changes. */
export function indexScale(bits: number): number {
  return bits / 0x1_0000_0000
}

/** From x to the index, as above. */
export function indexOf(x: number, scale: number): number {
  return ((Math.imul(x ^ (x >>> 15), 0x85ebca6b) >>> 0) * scale) >>> 0
}

export function setBits(words: Int32Array, scale: number, hashes: number, h0: number, h1: number): void {
  let x = h0
  for (let i = hashes; i > 0; i--) {
    const index = indexOf(x, scale)
    words[index >>> 5]! |= 1 << index
    x = (x + h1) | 0
  }
}

/** Two bits at a time: a bit is set about half of the time, and an unpredictable branch costs more than testing a bit. */
export function testBits(words: Int32Array, scale: number, hashes: number, h0: number, h1: number): boolean {
  let x = h0
  let left = hashes
  for (; left > 1; left -= 2) {
    const one = indexOf(x, scale)
    x = (x + h1) | 0
    const other = indexOf(x, scale)
    x = (x + h1) | 0
    if (((words[one >>> 5]! >>> one) & (words[other >>> 5]! >>> other) & 1) === 0) return false
  }
  if (left === 0) return true
  const last = indexOf(x, scale)
  return (words[last >>> 5]! & (1 << last)) !== 0
}

/** The same indexes, written out, for filters that keep more than a bit in each place. */
export function writeIndexes(into: Uint32Array, scale: number, h0: number, h1: number): void {
  let x = h0
  for (let i = 0; i < into.length; i++) {
    into[i] = indexOf(x, scale)
    x = (x + h1) | 0
  }
}

export function countBits(words: Int32Array): number {
  let total = 0
  for (let i = 0; i < words.length; i++) {
    let word = words[i]!
    word -= (word >>> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
    total += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return total
}

/** Halves an array: bit j of the result is bit 2j or bit 2j + 1 of the source. */
export function foldBits(words: Int32Array): Int32Array {
  const folded = new Int32Array((words.length + 1) >> 1)
  for (let i = 0; i < folded.length; i++) {
    folded[i] = squeeze(words[2 * i]!) | (squeeze(words[2 * i + 1] ?? 0) << 16)
  }
  return folded
}

/** ORs each pair of neighbouring bits and packs the sixteen results into the low half. */
function squeeze(word: number): number {
  let x = (word | (word >>> 1)) & 0x55555555
  x = (x | (x >>> 1)) & 0x33333333
  x = (x | (x >>> 2)) & 0x0f0f0f0f
  x = (x | (x >>> 4)) & 0x00ff00ff
  return (x | (x >>> 8)) & 0x0000ffff
}
