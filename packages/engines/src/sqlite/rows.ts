/**
 * Rows of the tables. Each object and each batch of the log has a checksum: SQLite notices a page that does not fit into its
 * tree, but not a flipped bit within a value.
 */
import { crc32 } from 'node:zlib'
import type { Key, Position, StoredValue, Version } from '@freshet/core/store'
import type { Row, Value } from './connection.js'
import { fileDamaged } from './sqlite-errors.js'

export function valueRow(key: Key, { version, contentType, body }: StoredValue): readonly Value[] {
  return [key, version, contentType, body, sumOf(`${key}\0${version}\0${contentType}`, body)]
}

/** Throws STORE_DAMAGED. */
export function toValue(place: string, [key, version, contentType, bytes, sum]: Row): StoredValue {
  const body = toBuffer(bytes)
  if (sumOf(`${key}\0${version}\0${contentType}`, body) !== sum) {
    throw fileDamaged(place, `the object ${JSON.stringify(key)} does not match its checksum`)
  }
  return { version: version as Version, contentType: contentType as string, body }
}

export function toValues(place: string, rows: readonly Row[]): Map<Key, StoredValue> {
  return new Map(rows.map(row => [row[0] as Key, toValue(place, row)]))
}

export function logRow(position: Position, batch: string, record: Uint8Array): readonly Value[] {
  return [position, batch, record, sumOf(`${position}\0${batch}`, record)]
}

/** Position and record, in the form of `../sql/log-rows.ts`. Throws STORE_DAMAGED. */
export function toLogRows(place: string, rows: readonly Row[]): readonly Row[] {
  return rows.map(([position, bytes, batch, sum]) => {
    const record = toBuffer(bytes)
    if (sumOf(`${position}\0${batch}`, record) !== sum) {
      throw fileDamaged(place, `the log at position ${position} does not match its checksum`)
    }
    return [position, record]
  })
}

/** The binding returns newly allocated bytes. */
export function toBuffer(bytes: unknown): Buffer {
  const { buffer, byteOffset, byteLength } = bytes as Uint8Array
  return Buffer.from(buffer, byteOffset, byteLength)
}

function sumOf(name: string, bytes: Uint8Array): number {
  return crc32(bytes, crc32(name))
}
