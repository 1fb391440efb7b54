/** The records that list the indexes and how far each is built. */
import { createHash } from 'node:crypto'
import type { IndexNumbers, IndexRecord } from '@freshet/core/commit'
import type { IndexState, Tag } from '@freshet/core/store'
import { isTooLong } from '../records/value-record.js'

export function encodeIndexes(indexes: readonly IndexRecord[]): Uint8Array {
  return Buffer.from(JSON.stringify(indexes))
}

export function decodeIndexes(record: Buffer | undefined): readonly IndexRecord[] {
  return record === undefined ? [] : (JSON.parse(record.toString()) as readonly IndexRecord[])
}

export function toState({ name, fields, declaredAt, isReady, done, total }: IndexRecord): IndexState {
  return { name, fields, declaredAt, isReady, done, total }
}

export function encodeNumbers(numbers: IndexNumbers): Uint8Array {
  return Buffer.from(JSON.stringify(numbers))
}

export function decodeNumbers(record: Buffer | undefined): IndexNumbers {
  return record === undefined ? { last: 0, dropped: [] } : (JSON.parse(record.toString()) as IndexNumbers)
}

/**
 * The key of a tag. A tag too long for the engine is replaced by its hash; if two tags ever had the same hash, each would
 * only change more often than it needs to.
 */
export function tagKey(tag: Tag): string {
  return isTooLong(tag) ? `#${createHash('sha256').update(tag).digest('hex')}` : tag
}
