/**
 * The bytes of an embedded store. It is thirteen ordered tables in one LMDB file; every number is little-endian unless it
 * is part of a key, where big-endian makes the order of bytes the order of numbers. Each record ends with a checksum
 * (integrity/checked-records.ts), which is left out here.
 *
 *     table     key                        record
 *     values    key, UTF-8                 value, below
 *     buckets   bucket, UTF-8              8: position of its last change (double)
 *     log       8: position, big-endian    8: time (double) | the keys of a batch of commits, below
 *     memory    name, UTF-8                bytes, as remembered
 *     indexes   bucket, UTF-8              its indexes, and how far they are built: JSON, an array of IndexRecord
 *     entries   drawn in indexes/          nothing
 *               index-keys.ts
 *     tags      tag, UTF-8, or # and its   8: position of the last change that carries it (double)
 *               SHA-256 if it is long
 *     clients, journal, operations, operationTimes, hashes: drawn in operations/
 *     meta      (each record: 8: the epoch that wrote it (double, LMDB's "version"), then)
 *               'format'                   4: format version
 *               'log'                      the id of the log, ASCII
 *               'trimmed'                  8: position that the log begins after (double)
 *               'relaxed'                  the id of the machine's boot, while open without flushes
 *               'indexes'                  IndexNumbers, JSON
 *               'head'                     8: epoch | 8: position | 8: time (doubles)
 *
 *     value     0  1  content type: its number in CONTENT_TYPES, or 0: spelled out at 8
 *               1  7  version
 *               8  n  only if it is spelled out: one byte for its length, then the content type, UTF-8
 *               …     the body, as written
 *
 *     batch     The log has one record for all commits of one transaction, under the position of the last. Positions within
 *               it are consecutive. The keys of one commit are separated by a byte 0, the commits by a byte 1. If a commit carries
 *               tags, they follow its keys after a byte 2, separated by a byte 0. UTF-8.
 *
 * Formats 1 to 3 have no checksums, and format 1 has no indexes, no tags and no operations either. All are read, except the
 * operations of format 2, which had another form. A writer adds the checksums when it opens such a store
 * (integrity/add-checksums.ts): while it does, the record of the format has no checksum yet, and says 4.
 *
 * The head goes with every write transaction: the epoch names the process that may write, the position is that of the
 * last commit, and the time is the store's clock when it was written.
 */
import type { Commit, Key, LogEntry, Position, StoredValue, Tag, Version } from '@freshet/core/store'

export const FORMAT_VERSION = 4
/** LMDB's own limit is 1978. The longest key that the protocol allows has 640. */
export const KEY_BYTES_MAX = 1024

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

/** Throws TypeError for what cannot be stored, so that nothing is left that could fail half way. */
export function checkStorable({ reads, lists, writes, adds }: Commit): void {
  if (reads) for (const { key } of reads) checkKey(key)
  if (lists) for (const { bucket } of lists) checkKey(bucket)
  if (adds) for (const { key } of adds) checkKey(key)
  for (const write of writes) {
    checkKey(write.key)
    if (!('delete' in write)) checkContentType(write.contentType)
  }
}

const KEY_SEPARATOR = '\0'
const COMMIT_SEPARATOR = '\u0001'
const TAGS_MARK = '\u0002'
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the separators
const SEPARATORS = /[\u0000-\u0002]/

function checkKey(key: Key): void {
  if (key === '' || SEPARATORS.test(key)) throw new TypeError(`${JSON.stringify(key)} cannot be a key.`)
  if (isTooLong(key)) throw new TypeError(`A key may have ${KEY_BYTES_MAX} bytes, not ${Buffer.byteLength(key)}.`)
}

/** A key that cannot have been written, and that must not reach the engine. */
export function isTooLong(key: Key): boolean {
  return key.length * 3 > KEY_BYTES_MAX && Buffer.byteLength(key) > KEY_BYTES_MAX
}

function checkContentType(contentType: string): void {
  if (NUMBER_OF_CONTENT_TYPE.has(contentType)) return
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
 * Reads the first `size` bytes of a buffer that the engine will use again: what it returns is a copy. Undefined if this
 * is no value.
 */
export function decodeValue(buffer: Uint8Array, size: number): StoredValue | undefined {
  const found = bodyOf(buffer, size)
  if (found === undefined) return undefined
  const body = Buffer.allocUnsafe(found.body.length)
  body.set(found.body)
  return { version: versionOf(buffer), contentType: found.contentType, body }
}

export type Content = Omit<StoredValue, 'version'>

/** The content type and the body, not copied, in the first `size` bytes. Undefined if this is no value. */
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

/** What the log has of one commit. */
export interface Changed {
  readonly keys: readonly Key[]
  readonly tags: readonly Tag[]
}

/** One record for all commits of a batch, in order. */
export function encodeLogBatch(timeMs: number, commits: readonly Changed[]): Uint8Array {
  const text = commits.map(spellChanged).join(COMMIT_SEPARATOR)
  const record = Buffer.allocUnsafe(8 + Buffer.byteLength(text))
  record.writeDoubleLE(timeMs)
  record.write(text, 8)
  return record
}

function spellChanged({ keys, tags }: Changed): string {
  const text = keys.join(KEY_SEPARATOR)
  return tags.length === 0 ? text : text + TAGS_MARK + tags.join(KEY_SEPARATOR)
}

function readChanged(text: string): Changed {
  const mark = text.indexOf(TAGS_MARK)
  if (mark === -1) return { keys: text.split(KEY_SEPARATOR), tags: [] }
  return { keys: text.slice(0, mark).split(KEY_SEPARATOR), tags: text.slice(mark + 1).split(KEY_SEPARATOR) }
}

export function decodeLogBatch(last: Position, record: Buffer): LogEntry[] {
  const timeMs = record.readDoubleLE()
  const commits = record.toString('utf8', 8).split(COMMIT_SEPARATOR)
  const first = last - commits.length + 1
  return commits.map((text, i) => ({ position: first + i, timeMs, ...readChanged(text) }))
}

const FORMAT_BYTES = 4

export function encodeFormat(version: number): Uint8Array {
  const record = Buffer.alloc(FORMAT_BYTES)
  record.writeUInt32LE(version)
  return record
}

/** 0 if this is no format. */
export function decodeFormat(record: Buffer): number {
  return record.length === FORMAT_BYTES ? record.readUInt32LE() : 0
}

/** Whether the records of a store have checksums, by its format as the engine has it; a new store's will. */
export function hasChecksums(record: Buffer | undefined): boolean {
  return record?.length !== FORMAT_BYTES
}

export interface Head {
  readonly epoch: number
  readonly position: Position
  readonly timeMs: number
}

const HEAD_BYTES = 24

export function encodeHead({ epoch, position, timeMs }: Head): Uint8Array {
  const record = Buffer.allocUnsafe(HEAD_BYTES)
  record.writeDoubleLE(epoch, 0)
  record.writeDoubleLE(position, 8)
  record.writeDoubleLE(timeMs, 16)
  return record
}

export function decodeHead(record: Buffer): Head {
  return { epoch: record.readDoubleLE(0), position: record.readDoubleLE(8), timeMs: record.readDoubleLE(16) }
}

export function encodeNumber(value: number): Uint8Array {
  const record = Buffer.allocUnsafe(8)
  record.writeDoubleLE(value)
  return record
}

export function decodeNumber(record: Buffer): number {
  return record.readDoubleLE()
}
