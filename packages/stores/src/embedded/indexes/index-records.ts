/** The records that say which indexes there are, and how far each is built; drawn in `../records.ts`. */
import { createHash } from 'node:crypto'
import type { IndexState, Tag } from '@freshet/core/store'
import { isTooLong } from '../records.js'

export interface IndexRecord extends IndexState {
  /** Never given twice in this store: what is left of a dropped index is not taken for its successor's. */
  readonly number: number
  /** While it is built: the id that it has come to. */
  readonly cursor?: string
}

export function encodeIndexes(indexes: readonly IndexRecord[]): Uint8Array {
  return Buffer.from(JSON.stringify(indexes))
}

export function decodeIndexes(record: Buffer | undefined): readonly IndexRecord[] {
  return record === undefined ? [] : (JSON.parse(record.toString()) as readonly IndexRecord[])
}

export function toState({ name, fields, declaredAt, isReady, done, total }: IndexRecord): IndexState {
  return { name, fields, declaredAt, isReady, done, total }
}

/** What all indexes of the store share. */
export interface IndexNumbers {
  /** The last one given. */
  readonly last: number
  /** Those whose entries are still to be removed. */
  readonly dropped: readonly number[]
}

export function encodeNumbers(numbers: IndexNumbers): Uint8Array {
  return Buffer.from(JSON.stringify(numbers))
}

export function decodeNumbers(record: Buffer | undefined): IndexNumbers {
  return record === undefined ? { last: 0, dropped: [] } : (JSON.parse(record.toString()) as IndexNumbers)
}

/** The key of a tag. One too long for the engine goes by its hash: should two ever share it, both only change more often. */
export function tagKey(tag: Tag): string {
  return isTooLong(tag) ? `#${createHash('sha256').update(tag).digest('hex')}` : tag
}
