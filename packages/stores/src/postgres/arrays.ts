/**
 * Arrays as parameters, in PostgreSQL's binary form (array_send): bytes need not be spelled out, nor texts escaped. Big-endian.
 *
 *     4: dimensions, 1 | 4: 0, no nulls | 4: type of the elements | 4: how many | 4: first index, 1 | elements
 *     element: 4: bytes | the value as its type has it
 */

const BYTEA = 17
const INT8 = 20
const TEXT = 25
const FLOAT8 = 701
const HEADER_BYTES = 20

export function texts(values: Iterable<string>): Buffer {
  return array(
    TEXT,
    Array.from(values, value => Buffer.from(value)),
  )
}

export function byteStrings(values: Iterable<Uint8Array>): Buffer {
  return array(BYTEA, [...values])
}

export function integers(values: Iterable<number>): Buffer {
  return array(
    INT8,
    Array.from(values, value => {
      const bytes = Buffer.allocUnsafe(8)
      bytes.writeBigInt64BE(BigInt(value))
      return bytes
    }),
  )
}

export function doubles(values: Iterable<number>): Buffer {
  return array(
    FLOAT8,
    Array.from(values, value => {
      const bytes = Buffer.allocUnsafe(8)
      bytes.writeDoubleBE(value)
      return bytes
    }),
  )
}

function array(type: number, elements: readonly Uint8Array[]): Buffer {
  const bytes = elements.reduce((sum, { length }) => sum + 4 + length, HEADER_BYTES)
  const buffer = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const word of [1, 0, type, elements.length, 1]) at = buffer.writeInt32BE(word, at)
  for (const element of elements) {
    at = buffer.writeInt32BE(element.length, at)
    buffer.set(element, at)
    at += element.length
  }
  return buffer
}
