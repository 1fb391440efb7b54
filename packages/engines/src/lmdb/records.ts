/**
 * The bytes of an embedded store: thirteen ordered tables in one LMDB file. All numbers are little-endian, except in keys,
 * where big-endian makes the order of bytes the order of numbers. Each record ends with a checksum
 * (integrity/checked-records.ts), which is omitted here.
 *
 *     table     key                        record
 *     values    key, UTF-8                 value: value-record.ts of @freshet/store
 *     buckets   bucket, UTF-8              8: position of its last change (double)
 *     log       8: position, big-endian    a batch of commits: log-batch.ts of @freshet/store
 *     memory    name, UTF-8                bytes, as remembered
 *     indexes   bucket, UTF-8              its indexes, and how far they are built: JSON, an array of IndexRecord
 *     entries   index-keys.ts of           nothing
 *               @freshet/store
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
 * Formats 1 to 3 have no checksums, and format 1 has no indexes, tags or operations. All of them can be read, except the
 * operations of format 2, which had another form. A writer adds the checksums when it opens such a store
 * (integrity/add-checksums.ts): until it has finished, the record of the format has no checksum, and says 4.
 *
 * Each write transaction writes the head: the epoch identifies the process that may write, the position is that of the last
 * commit, and the time is the store's clock at the time of writing.
 */
import type { Position } from '@freshet/core/store'

export const FORMAT_VERSION = 4

const FORMAT_BYTES = 4

export function encodeFormat(version: number): Uint8Array {
  const record = Buffer.alloc(FORMAT_BYTES)
  record.writeUInt32LE(version)
  return record
}

/** 0 if the record is not a format. */
export function decodeFormat(record: Buffer): number {
  return record.length === FORMAT_BYTES ? record.readUInt32LE() : 0
}

/** Whether the records of a store have checksums, by its format as LMDB stores it; a new store's will. */
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
