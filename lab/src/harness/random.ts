/**
 * A seeded generator, so that every experiment can be repeated to the last digit.
 *
 * sfc32 of Chris Doty-Humphrey (PractRand): four 32-bit words of state, passes PractRand and BigCrush, and needs no
 * 64-bit arithmetic. Not for secrets.
 */
export interface Random {
  /** 0 to 2^32 - 1. */
  uint32(): number
  /** From 0 (inclusive) to 1 (exclusive), with 32 random bits. */
  float(): number
  /** A whole number from 0 to `limit` - 1; `limit` is at most 2^32. */
  below(limit: number): number
  /** The time until the next event, when there are `rate` events per unit of time. */
  exponential(rate: number): number
  /** How many events happen where `mean` are expected. */
  poisson(mean: number): number
  pick<Item>(items: readonly Item[]): Item
  /** A new array. */
  shuffle<Item>(items: readonly Item[]): Item[]
  bytes(length: number): Uint8Array
  /** A separate generator for a part of the experiment, so that what one part draws does not shift another part. */
  fork(label: string): Random
}

export function createRandom(seed: number): Random {
  const uint32 = sfc32(seed)
  const random: Random = {
    uint32,
    float: () => uint32() / 2 ** 32,
    below: limit => Math.floor((uint32() / 2 ** 32) * limit),
    exponential: rate => -Math.log1p(-uint32() / 2 ** 32) / rate,
    poisson: mean => poisson(random, mean),
    pick: items => items[random.below(items.length)]!,
    shuffle: items => shuffle(random, items),
    bytes: length => randomBytes(uint32, length),
    fork: label => createRandom(seedOf(seed, label)),
  }
  return random
}

function sfc32(seed: number): () => number {
  let a = seed | 0
  let b = Math.floor(seed / 2 ** 32) | 0
  let c = 0x9e3779b9 | 0
  let counter = 1
  function next(): number {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    c |= 0
    return sum >>> 0
  }
  // The reference implementation seeds by stirring: neighbouring seeds are unrelated after a dozen steps.
  for (let i = 0; i < 15; i++) next()
  return next
}

function randomBytes(uint32: () => number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let bits = 0
  for (let i = 0; i < length; i++) {
    bits = i % 4 === 0 ? uint32() : bits >>> 8
    bytes[i] = bits
  }
  return bytes
}

/** Knuth's product of uniforms, in steps, so that a large mean does not underflow. */
function poisson(random: Random, mean: number): number {
  const STEP = 500
  let left = mean
  let product = 1
  let count = -1
  do {
    count++
    product *= 1 - random.float()
    while (product < 1 && left > 0) {
      const step = Math.min(left, STEP)
      product *= Math.exp(step)
      left -= step
    }
  } while (product > 1)
  return count
}

/** Fisher and Yates. */
function shuffle<Item>(random: Random, items: readonly Item[]): Item[] {
  const shuffled = items.slice()
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const swapped = shuffled[i]!
    shuffled[i] = shuffled[j]!
    shuffled[j] = swapped
  }
  return shuffled
}

/** FNV-1a of the label on top of the seed, at most 53 bits because a seed is a number. */
function seedOf(seed: number, label: string): number {
  let hash = 0x811c9dc5 ^ seed
  for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193)
  return (hash >>> 0) + ((seed >>> 0) & 0x1fffff) * 2 ** 32
}
