/**
 * The five kinds of key on which the thesis tests hash functions. A number is hashed as its decimal digits, as in the
 * thesis's own library.
 */
import type { KeySource } from '../../harness/keys.js'
import type { Random } from '../../harness/random.js'

export const KEY_KINDS = [
  'random strings',
  'random integers',
  'increasing integers',
  'increasing ids',
  'random bytes',
] as const
export type KeyKind = (typeof KEY_KINDS)[number]

const ID_PREFIX = '/db/shop/products/'
const RANDOM_BYTES_LENGTH = 200
const encoder = new TextEncoder()

/** The same `random` gives the same keys. */
export function keySource(kind: KeyKind, random: Random): KeySource<Uint8Array> {
  let counter = random.below(1_000_000)
  switch (kind) {
    case 'random strings':
      return () => encoder.encode(hex(random) + hex(random) + hex(random) + hex(random))
    case 'random integers':
      return () => encoder.encode(String(random.uint32()))
    case 'increasing integers':
      return () => encoder.encode(String(counter++))
    case 'increasing ids':
      return () => encoder.encode(ID_PREFIX + String(counter++))
    case 'random bytes':
      return () => random.bytes(RANDOM_BYTES_LENGTH)
  }
}

/** 32 random bits. */
function hex(random: Random): string {
  return random.uint32().toString(16).padStart(8, '0')
}
