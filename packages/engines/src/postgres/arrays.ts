/**
 * Arrays as parameters, in PostgreSQL's binary form (array_send), so that bytes and texts need no escaping. Big-endian.
 *
 *     4: dimensions, 1 | 4: whether there are nulls | 4: type of the elements | 4: how many | 4: first index, 1 | elements
 *     element: 4: bytes, -1: null | the value in the binary form of its type
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

export function textsOrNulls(values: Iterable<string | undefined>): Buffer {
  return array(
    TEXT,
    Array.from(values, value => (value === undefined ? undefined : Buffer.from(value))),
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

function array(type: number, elements: readonly (Uint8Array | undefined)[]): Buffer {
  const bytes = elements.reduce((sum, element) => sum + 4 + (element?.length ?? 0), HEADER_BYTES)
  const buffer = Buffer.allocUnsafe(bytes)
  let at = 0
  const hasNulls = elements.includes(undefined) ? 1 : 0
  for (const word of [1, hasNulls, type, elements.length, 1]) at = buffer.writeInt32BE(word, at)
  for (const element of elements) {
    at = buffer.writeInt32BE(element?.length ?? -1, at)
    if (element === undefined) continue
    buffer.set(element, at)
    at += element.length
  }
  return buffer
}
