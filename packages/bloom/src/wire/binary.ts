/**
 * The binary form. All numbers are little-endian; the README of this package has the same drawing for other languages.
 *
 *      0        4    5    6    7    8               16              24              32             32 + n
 *      | magic  |ver |kind|hash|wid | bits (64)     | seed (64)     | count (64)    | payload (n)  | check (32) |
 *      | "FRSH" | 1  |    | es |th  |               |               |               |              |            |
 *
 *      kind   1 plain, 2 counting          width  bits per place: 1 for plain; 2, 4, 8 or 16 for counting
 *      n      ceil(bits * width / 8); place p is at bit (p * width) of the payload, lowest bit of a byte first;
 *             bits after the last place are 0
 *      check  first word of the key hash, under the filter's seed, of all bytes before it. It detects damage, not malice:
 *             a bit lost on the way would make a client trust a stale copy.
 */
import { hashKey, keyHash } from '../hashing/key-hash.js'
import { seedHigh, seedLow } from '../hashing/seed.js'
import {
  bytesFromWords,
  checkHeader,
  type DecodeOptions,
  type EncodedFilter,
  type FilterKind,
  malformed,
  payloadBytes,
  wordsFromBytes,
} from './encoded-filter.js'

const MAGIC = [0x46, 0x52, 0x53, 0x48] as const
const VERSION = 1
const HEADER_BYTES = 32
const CHECK_BYTES = 4
const KIND_CODES = { bloom: 1, counting: 2 } as const

export function encodeParts(parts: EncodedFilter): Uint8Array {
  const payload = bytesFromWords(parts)
  const bytes = new Uint8Array(HEADER_BYTES + payload.length + CHECK_BYTES)
  const view = new DataView(bytes.buffer)
  bytes.set(MAGIC)
  bytes.set([VERSION, KIND_CODES[parts.kind], parts.hashes, parts.bitsPerPlace], 4)
  view.setBigUint64(8, BigInt(parts.bits), true)
  view.setBigUint64(16, parts.seed, true)
  view.setBigUint64(24, BigInt(parts.count), true)
  bytes.set(payload, HEADER_BYTES)
  view.setInt32(bytes.length - CHECK_BYTES, check(bytes, parts.seed), true)
  return bytes
}

export function decodeParts(bytes: Uint8Array, kindWanted: FilterKind, options: DecodeOptions): EncodedFilter {
  if (!(bytes instanceof Uint8Array)) throw malformed('it is not a Uint8Array')
  if (bytes.length < HEADER_BYTES + CHECK_BYTES) {
    throw malformed(`it has ${bytes.length} bytes, fewer than the ${HEADER_BYTES + CHECK_BYTES} of an empty one`)
  }
  if (MAGIC.some((byte, i) => bytes[i] !== byte)) throw malformed('it does not start with "FRSH"')
  if (bytes[4] !== VERSION) throw malformed(`its format version is ${bytes[4]}; this library reads version ${VERSION}`)
  const header = readHeader(bytes)
  checkHeader(header, kindWanted, options)
  const length = HEADER_BYTES + payloadBytes(header) + CHECK_BYTES
  if (bytes.length !== length) throw malformed(`it has ${bytes.length} bytes where its header calls for ${length}`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.getInt32(length - CHECK_BYTES, true) !== check(bytes, header.seed))
    throw malformed('its check word is wrong')
  return { ...header, words: wordsFromBytes(bytes.subarray(HEADER_BYTES, length - CHECK_BYTES), header) }
}

function readHeader(bytes: Uint8Array): Omit<EncodedFilter, 'words'> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const kind = (['bloom', 'counting'] as const).find(name => KIND_CODES[name] === bytes[5])
  if (!kind) throw malformed(`its kind is ${bytes[5]}; known are 1 (plain) and 2 (counting)`)
  return {
    kind,
    hashes: bytes[6]!,
    bitsPerPlace: bytes[7]!,
    bits: Number(view.getBigUint64(8, true)),
    seed: view.getBigUint64(16, true),
    count: Number(view.getBigUint64(24, true)),
  }
}

function check(bytes: Uint8Array, seed: bigint): number {
  hashKey(bytes.subarray(0, bytes.length - CHECK_BYTES), seedLow(seed), seedHigh(seed))
  return keyHash[0]!
}
