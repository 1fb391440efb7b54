/**
 * The bytes of a value, the same on every engine that stores it as bytes:
 *
 *     0  1  content type: its number in CONTENT_TYPES; 0 if it is spelled out at 8
 *     1  7  version, little-endian
 *     8  n  only if spelled out: one byte for the length, then the content type, UTF-8
 *     …     the body, as written
 */
import type { Commit, Key, StoredValue, Version } from '@freshet/core/store'

/** LMDB's own limit is 1978. The longest key that the protocol allows has 640. */
const KEY_BYTES_MAX = 1024

/** Their order is part of the format: only ever append. */
const CONTENT_TYPES = [
  'application/json',
  'application/octet-stream',
  'text/plain',
  'text/plain; charset=utf-8',
  'text/html',
  'text/html; charset=utf-8',
  'text/css',
  'text/javascript',
  'image/png',
  'image/jpeg',
  'image/svg+xml',
  'image/webp',
  'application/problem+json',
  'application/merge-patch+json',
]
const NUMBER_OF_CONTENT_TYPE: ReadonlyMap<string, number> = new Map(CONTENT_TYPES.map((type, i) => [type, i + 1]))
const HEADER_BYTES = 8
const CONTENT_TYPE_BYTES_MAX = 255
const TWO_TO_32 = 2 ** 32

/** Throws TypeError for anything that cannot be stored, so that nothing can fail half way through a commit. */
export function checkStorable({ reads, lists, writes, adds }: Commit): void {
  if (reads) for (const { key } of reads) checkKey(key)
  if (lists) for (const { bucket } of lists) checkKey(bucket)
  if (adds) for (const { key } of adds) checkKey(key)
  for (const write of writes) {
    checkKey(write.key)
    if (!('delete' in write)) checkContentType(write.contentType)
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they separate keys in log-batch.ts
const SEPARATORS = /[\u0000-\u0002]/

function checkKey(key: Key): void {
  if (key === '' || SEPARATORS.test(key)) throw new TypeError(`${JSON.stringify(key)} cannot be a key.`)
  if (isTooLong(key)) throw new TypeError(`A key may have ${KEY_BYTES_MAX} bytes, not ${Buffer.byteLength(key)}.`)
}

/** Whether a key, or a bucket, can have been written; a name that cannot must not reach an engine. */
export function isStorable(key: Key): boolean {
  return key !== '' && !isTooLong(key) && !key.includes('\0')
}

export function isTooLong(key: Key): boolean {
  return key.length * 3 > KEY_BYTES_MAX && Buffer.byteLength(key) > KEY_BYTES_MAX
}

function checkContentType(contentType: string): void {
  if (NUMBER_OF_CONTENT_TYPE.has(contentType)) return
  if (contentType.includes('\0')) throw new TypeError(`${JSON.stringify(contentType)} cannot be a content type.`)
  const bytes = Buffer.byteLength(contentType)
  if (bytes > CONTENT_TYPE_BYTES_MAX) {
    throw new TypeError(`A content type may have ${CONTENT_TYPE_BYTES_MAX} bytes, not ${bytes}.`)
  }
}

export function encodeValue(
  version: Version,
  { contentType, body }: Content,
  allocate: (bytes: number) => Uint8Array = Buffer.allocUnsafe,
): Uint8Array {
  const number = NUMBER_OF_CONTENT_TYPE.get(contentType) ?? 0
  const spelled = number === 0 ? Buffer.from(contentType) : undefined
  const bodyStart = HEADER_BYTES + (spelled ? 1 + spelled.length : 0)
  const record = allocate(bodyStart + body.length)
  record[0] = number
  setVersion(record, version)
  if (spelled) {
    record[HEADER_BYTES] = spelled.length
    record.set(spelled, HEADER_BYTES + 1)
  }
  record.set(body, bodyStart)
  return record
}

function setVersion(record: Uint8Array, version: Version): void {
  const high = Math.floor(version / TWO_TO_32)
  record[1] = version
  record[2] = version >>> 8
  record[3] = version >>> 16
  record[4] = version >>> 24
  record[5] = high
  record[6] = high >>> 8
  record[7] = high >>> 16
}

export function versionOf(record: Uint8Array): Version {
  const low = record[1]! + record[2]! * 0x100 + record[3]! * 0x10000 + record[4]! * 0x1000000
  return low + (record[5]! + record[6]! * 0x100 + record[7]! * 0x10000) * TWO_TO_32
}

/**
 * Reads the first `size` bytes of a buffer that the engine will reuse: the result is a copy. Undefined if the bytes are not a
 * value.
 */
export function decodeValue(buffer: Uint8Array, size: number): StoredValue | undefined {
  const found = bodyOf(buffer, size)
  if (found === undefined) return undefined
  const body = Buffer.allocUnsafe(found.body.length)
  body.set(found.body)
  return { version: versionOf(buffer), contentType: found.contentType, body }
}

export type Content = Omit<StoredValue, 'version'>

/** The content type and the body, not copied, in the first `size` bytes. Undefined if the bytes are not a value. */
export function bodyOf(buffer: Uint8Array, size: number = buffer.length): Content | undefined {
  if (size < HEADER_BYTES) return undefined
  const number = buffer[0]!
  let contentType = CONTENT_TYPES[number - 1]
  let bodyStart = HEADER_BYTES
  if (number === 0 && size > HEADER_BYTES) {
    bodyStart += 1 + buffer[HEADER_BYTES]!
    contentType = Buffer.from(buffer.subarray(HEADER_BYTES + 1, bodyStart)).toString()
  }
  if (contentType === undefined || bodyStart > size) return undefined
  return { contentType, body: new Uint8Array(buffer.buffer, buffer.byteOffset + bodyStart, size - bodyStart) }
}
