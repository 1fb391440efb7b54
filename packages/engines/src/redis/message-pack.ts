/**
 * Arguments of scripts in MessagePack (msgpack.org): Lua reads them faster than many arguments, and the driver writes them
 * faster.
 */

/** Numbers, texts, bytes, and arrays of them. */
export type Part = string | number | Uint8Array | readonly Part[]

/** The mark and the length of the longest text, bytes or array; a number takes 9. */
const MARK_BYTES = 5
const NUMBER_BYTES = 9
export const ARRAY_BYTES: number = MARK_BYTES

/** How many bytes an array takes at most. */
export function sizeOf(parts: readonly Part[]): number {
  let bytes = MARK_BYTES
  for (const part of parts) {
    if (typeof part === 'number') bytes += NUMBER_BYTES
    else if (typeof part === 'string') bytes += MARK_BYTES + 3 * part.length
    else bytes += part instanceof Uint8Array ? MARK_BYTES + part.length : sizeOf(part)
  }
  return bytes
}

/** Packs an array, which takes at most `bytes` bytes. */
export function packParts(parts: readonly Part[], bytes: number = sizeOf(parts)): Buffer {
  const target = Buffer.allocUnsafe(bytes)
  return target.subarray(0, packArray(target, 0, parts))
}

const ARRAY_32 = 0xdd
const STRING_32 = 0xdb
const DOUBLE = 0xcb
const SHORT_STRING = 0xa0
const SHORT_MAX = 31

function packArray(target: Buffer, start: number, parts: readonly Part[]): number {
  let at = mark(target, start, ARRAY_32, parts.length)
  for (const part of parts) at = packPart(target, at, part)
  return at
}

function packPart(target: Buffer, at: number, part: Part): number {
  if (typeof part === 'number') {
    target[at] = DOUBLE
    return target.writeDoubleBE(part, at + 1)
  }
  if (typeof part === 'string') {
    const isShort = 3 * part.length <= SHORT_MAX
    const start = isShort ? at + 1 : at + MARK_BYTES
    const length = target.write(part, start)
    if (isShort) target[at] = SHORT_STRING + length
    else mark(target, at, STRING_32, length)
    return start + length
  }
  if (!(part instanceof Uint8Array)) return packArray(target, at, part)
  const start = mark(target, at, STRING_32, part.length)
  target.set(part, start)
  return start + part.length
}

function mark(target: Buffer, at: number, kind: number, length: number): number {
  target[at] = kind
  return target.writeUInt32BE(length, at + 1)
}
