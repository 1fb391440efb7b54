/**
 * CRC-32 (ISO-HDLC, as in zlib and gzip): detects every change of up to 32 bits in a row, and all but one in 2^32 of the
 * others. It is no defence against tampering: an attacker who can write to the file can also write a matching checksum.
 *
 * A native call costs as much as some 400 bytes in JavaScript, so shorter inputs are summed here, eight bytes at a time
 * (slicing-by-8: Kounavis and Berry, 2005). Both give the same sum.
 */
import { crc32 } from 'node:zlib'

const NATIVE_FROM_BYTES = 400
const POLYNOMIAL = 0xedb88320
const SLICES = 8
const TABLE = createTable()

/** The sum of the bytes that `sum` covers, followed by these bytes. */
export function addToSum(sum: number, bytes: Uint8Array, start: number, end: number): number {
  if (end - start >= NATIVE_FROM_BYTES) {
    return crc32(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), sum)
  }
  let c = ~sum
  let i = start
  for (; i + SLICES <= end; i += SLICES) {
    c ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24)
    c =
      TABLE[0x700 + (c & 0xff)]! ^
      TABLE[0x600 + ((c >>> 8) & 0xff)]! ^
      TABLE[0x500 + ((c >>> 16) & 0xff)]! ^
      TABLE[0x400 + (c >>> 24)]! ^
      TABLE[0x300 + bytes[i + 4]!]! ^
      TABLE[0x200 + bytes[i + 5]!]! ^
      TABLE[0x100 + bytes[i + 6]!]! ^
      TABLE[bytes[i + 7]!]!
  }
  for (; i < end; i++) c = TABLE[(c ^ bytes[i]!) & 0xff]! ^ (c >>> 8)
  return ~c >>> 0
}

function createTable(): Int32Array {
  const table = new Int32Array(256 * SLICES)
  for (let i = 0; i < 256; i++) {
    let c = i
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ POLYNOMIAL : c >>> 1
    table[i] = c
  }
  for (let i = 256; i < table.length; i++) table[i] = table[table[i - 256]! & 0xff]! ^ (table[i - 256]! >>> 8)
  return table
}
