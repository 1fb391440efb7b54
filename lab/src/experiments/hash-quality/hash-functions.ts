/**
 * The hash functions of the thesis, from libraries, and ours: each turns the bytes of a key into indexes into a filter.
 *
 * As in the thesis (3.7.2), a function that yields one 32-bit value is called again with another salt for each index
 * ("modification"), the digest of a cryptographic function is cut into 32-bit blocks ("decomposition"), and a value is
 * accepted only below the largest multiple of the filter's bits ("rejection sampling"). Two of the thesis's functions are
 * left out: Java's generators are the LCG below, and Carter-Wegman is not used anywhere.
 */
import { hash as digest } from 'node:crypto'
import { keyIndexes } from '@freshet/bloom'
import adler32 from 'adler-32'
import crc32 from 'crc-32'
import fnv from 'fnv-plus'
import murmurhash from 'murmurhash'

export type HashInput = string | Uint8Array

export interface HashFunction {
  readonly name: string
  /** Fills `into` with indexes below `bits`. */
  writeIndexes(key: HashInput, bits: number, into: Uint32Array): void
}

const encoder = new TextEncoder()

export const OURS = 'ours'

export const hashFunctions: readonly HashFunction[] = [
  { name: OURS, writeIndexes: (key, bits, into) => into.set(keyIndexes(key, { bits, hashes: into.length })) },
  modified('Murmur', toBytes, (bytes, salt) => murmurhash.v3(bytes, salt)),
  { name: 'SimpleLCG', writeIndexes: writeByLcg },
  modified(
    'CRC32',
    key => crc32.buf(toBytes(key)),
    (checksum, salt) => crc32.buf([salt & 255], checksum),
  ),
  decomposed('MD5', 'md5', { rejects: true }),
  decomposed('SHA-1', 'sha1', { rejects: true }),
  decomposed('SHA-256', 'sha256', { rejects: true }),
  decomposed('SHA-512', 'sha512', { rejects: true }),
  modified(
    'Adler32',
    key => adler32.buf(toBytes(key)),
    (checksum, salt) => adler32.buf([salt & 255], checksum),
  ),
]

/** Skjegstad's filter, which the thesis compares with: blocks of MD5, reduced by the remainder alone. */
export const md5WithoutRejection: HashFunction = decomposed('MD5, no rejection', 'md5', { rejects: false })

export function hashFunction(name: string): HashFunction {
  return hashFunctions.find(candidate => candidate.name === name)!
}

/** Any sequence without repetition works; this one steps by the golden ratio. */
function saltOf(turn: number): number {
  return Math.imul(turn + 1, 0x9e3779b1) >>> 0
}

function acceptedBelow(bits: number): number {
  return 2 ** 32 - (2 ** 32 % bits)
}

/** The part that does not depend on the salt runs once per key: a checksum, for instance, can continue from the key's. */
function modified<Begun>(
  name: string,
  begin: (key: HashInput) => Begun,
  salted: (begun: Begun, salt: number) => number,
): HashFunction {
  return {
    name,
    writeIndexes(key, bits, into) {
      const limit = acceptedBelow(bits)
      const begun = begin(key)
      for (let found = 0, turn = 0; found < into.length; turn++) {
        const value = salted(begun, saltOf(turn)) >>> 0
        if (value < limit) into[found++] = value % bits
      }
    },
  }
}

function decomposed(name: string, algorithm: string, { rejects }: { rejects: boolean }): HashFunction {
  return {
    name,
    writeIndexes(key, bits, into) {
      const limit = rejects ? acceptedBelow(bits) : 2 ** 32
      const salted = withRoomForSalt(key)
      for (let found = 0, turn = 0; found < into.length; turn++) {
        writeSalt(salted, saltOf(turn))
        // A string of bytes, because Node takes three times as long to make a Buffer as to compute the digest.
        const blocks = digest(algorithm, salted, 'binary')
        for (let at = 0; at < blocks.length && found < into.length; at += 4) {
          const value = readWord(blocks, at)
          if (value < limit) into[found++] = value % bits
        }
      }
    },
  }
}

function readWord(bytes: string, at: number): number {
  const low = bytes.charCodeAt(at) | (bytes.charCodeAt(at + 1) << 8) | (bytes.charCodeAt(at + 2) << 16)
  return (low | (bytes.charCodeAt(at + 3) << 24)) >>> 0
}

/** The key, followed by room for four bytes of salt. */
function withRoomForSalt(key: HashInput): Uint8Array {
  const bytes = toBytes(key)
  const salted = new Uint8Array(bytes.length + 4)
  salted.set(bytes)
  return salted
}

function writeSalt(salted: Uint8Array, salt: number): void {
  const at = salted.length - 4
  salted[at] = salt
  salted[at + 1] = salt >>> 8
  salted[at + 2] = salt >>> 16
  salted[at + 3] = salt >>> 24
}

function toBytes(key: HashInput): Uint8Array {
  return typeof key === 'string' ? encoder.encode(key) : key
}

/**
 * x' = (25214903917 x + 11) mod 2^48, starting at the key's FNV-1a, without rejection; the upper 30 bits are used. It is
 * computed in halves of 24 bits, so that no product exceeds the range of exact numbers.
 */
function writeByLcg(key: HashInput, bits: number, into: Uint32Array): void {
  const HALF = 2 ** 24
  const seed = fnv.fast1a32(
    typeof key === 'string' ? key : Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1'),
  )
  let high = Math.floor(seed / HALF)
  let low = seed % HALF
  for (let i = 0; i < into.length; i++) {
    const product = low * 0xece66d + 11
    high = (high * 0xece66d + low * 0x5de + Math.floor(product / HALF)) % HALF
    low = product % HALF
    into[i] = (high * 64 + (low >>> 18)) % bits
  }
}
