/**
 * Keys for filters and hash functions, from a seeded generator.
 *
 * Strings are decoded from bytes. V8 keeps a concatenated string as a tree of its parts until the first read, and the
 * first reader would pay for flattening it.
 */
import type { Random } from './random.js'

const decoder = new TextDecoder()
const encoder = new TextEncoder()
const HEX = encoder.encode('0123456789abcdef')
const UUID_DASHES_AT = [8, 13, 18, 23]

export type KeySource<Key> = () => Key

/** `/db/shop/products/<uuid>`, as a server would see them; duplicates are practically impossible. */
export function productKeys(random: Random): KeySource<string> {
  const prefix = encoder.encode('/db/shop/products/')
  const bytes = new Uint8Array(prefix.length + 36)
  bytes.set(prefix)
  const uuid = bytes.subarray(prefix.length)
  return () => {
    writeHex(uuid, random)
    for (const at of UUID_DASHES_AT) uuid[at] = 0x2d
    return decoder.decode(bytes)
  }
}

/** `count` keys of one source. */
export function takeKeys<Key>(source: KeySource<Key>, count: number): Key[] {
  const keys = new Array<Key>(count)
  for (let i = 0; i < count; i++) keys[i] = source()
  return keys
}

function writeHex(into: Uint8Array, random: Random): void {
  let bits = 0
  for (let i = 0; i < into.length; i++) {
    if (i % 8 === 0) bits = random.uint32()
    into[i] = HEX[bits & 15]!
    bits >>>= 4
  }
}
