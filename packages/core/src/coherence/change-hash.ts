/**
 * A path's hash where changes are listed one by one: 20 bits of it, which is the space it has on the wire (see
 * `packed-changes.ts`). Two paths with the same hash get the later position of the two, so a reader asks for one of them under
 * another URL than necessary, and so does every other reader. Of the thousand changes that 10 writes a second make in a
 * window of 100 seconds, that affects one path in a thousand, as often as in a segment's filter.
 */
import type { KeyHash } from '@freshet/bloom'

export const CHANGE_HASH_BITS = 20

export function changeHashOf({ low }: KeyHash): number {
  return low >>> (32 - CHANGE_HASH_BITS)
}

export function formatSeed(seed: bigint): string {
  return seed.toString(16).padStart(16, '0')
}

export function parseSeed(text: string): bigint | undefined {
  return /^[0-9a-f]{16}$/.test(text) ? BigInt(`0x${text}`) : undefined
}
