/**
 * The ring that peers and keys lie on (Stoica and others, Chord, 2001): positions from 0 to 2^52 - 1, clockwise. The peer
 * responsible for a position is the first at or after it.
 *
 * A peer is the number that its messages are addressed by; a hash of that number is its position. A key has as many positions
 * as there are hash functions: one for its timestamps, the others for its replicas.
 */
export type Peer = number
export type RingPosition = number

/** 2^52: sums of two positions are still exact. */
export const RING_SIZE: number = 2 ** 52

/** The hash function of timestamps. Replicas have 1, 2, 3 and so on. */
export const TIMESTAMP_FUNCTION = 0

export function positionOfPeer(peer: Peer): RingPosition {
  return toPosition(stir(peer | 0, 0x9e3779b9), stir(Math.floor(peer / 2 ** 32) ^ peer, 0x85ebca6b))
}

/** cyrb53 of bryc, seeded by the hash function's number, and stirred once more. */
export function positionOfKey(key: string, hashFunction: number): RingPosition {
  let a = 0xdeadbeef ^ Math.imul(hashFunction + 1, 0x9e3779b1)
  let b = 0x41c6ce57 ^ Math.imul(hashFunction + 1, 0x85ebca77)
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  return toPosition(stir(a ^ (b >>> 16), 0x2c1b3c6d), stir(b ^ (a >>> 16), 0x297a2d39))
}

/** The clockwise distance from one position to the other. */
export function distance(from: RingPosition, to: RingPosition): number {
  return to >= from ? to - from : to - from + RING_SIZE
}

/** Whether it lies in (after, upTo]. If both are the same position that is the whole ring. */
export function isWithin(position: RingPosition, after: RingPosition, upTo: RingPosition): boolean {
  if (after === upTo) return true
  return position !== after && distance(after, position) <= distance(after, upTo)
}

function toPosition(high: number, low: number): RingPosition {
  return (high >>> 12) * 2 ** 32 + (low >>> 0)
}

/** The finaliser of MurmurHash3. */
function stir(word: number, seed: number): number {
  let bits = word ^ seed
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
