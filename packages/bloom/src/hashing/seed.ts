import { FilterError } from '../filter-error.js'

/**
 * A seed is an unsigned 64-bit number. Draw one at random per deployment and keep it: filters can only be compared under
 * the same seed, and an attacker who knows it can craft keys that collide. The default, 0, protects against nothing.
 */
export type Seed = bigint

export function checkSeed(seed: unknown): Seed {
  if (typeof seed === 'bigint' && seed >= 0n && seed < 1n << 64n) return seed
  throw new FilterError(
    'FILTER_OPTIONS_INVALID',
    `seed must be a bigint from 0n to 2n ** 64n - 1n, not ${typeof seed === 'bigint' ? seed : `a ${typeof seed}`}.`,
  )
}

export function seedLow(seed: Seed): number {
  return Number(BigInt.asIntN(32, seed))
}

export function seedHigh(seed: Seed): number {
  return Number(BigInt.asIntN(32, seed >> 32n))
}

/**
 * The salt of slice `generation` of a windowed filter: the same key falls on unrelated bits in each slice, although it is
 * hashed only once. (A multiplication by the golden ratio and a shift: neighbours differ in half of their bits.)
 */
export function sliceSalt(generation: number): number {
  const mixed = Math.imul(generation + 1, 0x9e3779b1)
  return Math.imul(mixed ^ (mixed >>> 15), 0x85ebca77)
}
