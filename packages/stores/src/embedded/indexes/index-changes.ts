/**
 * What a batch does to indexes: declarations, entries, tags. Decided like all of the batch before any of it is written, and
 * nothing here throws over what an object holds: what cannot be parsed has no fields.
 *
 * Entries are put and removed without regard to how far an index is built: whoever writes an object removes the entry of the
 * value before, if it has one yet, and puts that of the value after; the build puts those of all that was there. Either order
 * ends the same.
 */
import { addTags, parseFields, valueAt } from '@freshet/core/queries'
import { declaredAt, type IndexDeclaration, type Key, type Position, type Tag, type Version } from '@freshet/core/store'
import { type Content, decodeNumber, encodeNumber } from '../records.js'
import { entriesUnder, entryKey, indexPrefix } from './index-keys.js'
import {
  decodeIndexes,
  decodeNumbers,
  encodeIndexes,
  encodeNumbers,
  type IndexNumbers,
  type IndexRecord,
  tagKey,
} from './index-records.js'

/** So many objects are indexed, or entries removed, in one transaction: commits that wait behind it hardly notice. */
export const STEP_OBJECTS = 500

export interface ObjectWrite {
  readonly bucket: Key
  readonly id: string
  /** Undefined: not there. */
  readonly before: Content | undefined
  readonly after: Content | undefined
}

/** Where indexes are kept: tables of a store, seen from within a transaction. */
export interface IndexTables {
  readonly indexes: RecordTable
  readonly tags: RecordTable
  readonly meta: {
    get(name: string): Buffer | undefined
    put(name: string, record: Uint8Array, epoch: number): unknown
  }
  readonly entries: {
    getKeys(range: { readonly start: Buffer; readonly end: Buffer; readonly limit: number }): Iterable<Buffer>
    put(key: Buffer, record: Uint8Array): unknown
    remove(key: Buffer): unknown
  }
}

interface RecordTable {
  get(key: string): Buffer | undefined
  put(key: string, record: Uint8Array): unknown
}

export class IndexChanges {
  readonly #tables: IndexTables
  readonly #indexes = new Map<Key, readonly IndexRecord[]>()
  readonly #changed = new Set<Key>()
  readonly #tags = new Map<Tag, Position>()
  /** In the order in which they are to be done. */
  readonly #entries: { readonly key: Buffer; readonly isThere: boolean }[] = []
  #numbers: IndexNumbers | undefined

  constructor(tables: IndexTables) {
    this.#tables = tables
  }

  of(bucket: Key): readonly IndexRecord[] {
    let found = this.#indexes.get(bucket)
    if (found === undefined) {
      found = decodeIndexes(this.#tables.indexes.get(bucket))
      this.#indexes.set(bucket, found)
    }
    return found
  }

  declare(bucket: Key, declarations: readonly IndexDeclaration[], position: Position): void {
    const before = this.of(bucket)
    if (before.length + declarations.length === 0) return
    const numbers = this.#readNumbers()
    let { last } = numbers
    const after = declarations.map(({ name, fields }): IndexRecord => {
      const kept = before.find(index => index.name === name && index.fields.join() === fields.join())
      return kept ?? { number: ++last, name, fields, declaredAt: position, isReady: false, done: 0, total: 0 }
    })
    const dropped = before.filter(index => !after.includes(index)).map(({ number }) => number)
    if (dropped.length === 0 && last === numbers.last) return
    this.#numbers = { last, dropped: [...numbers.dropped, ...dropped] }
    this.#set(bucket, after)
  }

  /** Adds the tags that a write carries. Only for buckets that have indexes. */
  write({ bucket, id, before, after }: ObjectWrite, position: Position, tags: Set<Tag>): void {
    const indexes = this.of(bucket)
    const own = new Set<Tag>()
    const valueBefore = fieldsOf(before)
    const valueAfter = fieldsOf(after)
    if (before) addTags(own, bucket, indexes, valueBefore)
    if (after) addTags(own, bucket, indexes, valueAfter)
    for (const index of indexes) {
      const keyBefore = before && keyOf(index, valueBefore, id)
      const keyAfter = after && keyOf(index, valueAfter, id)
      const isSame = keyBefore && keyAfter?.equals(keyBefore)
      if (keyBefore && !isSame) this.#entries.push({ key: keyBefore, isThere: false })
      // While it is built, even the same entry may not be there yet.
      if (keyAfter && !(isSame && index.isReady)) this.#entries.push({ key: keyAfter, isThere: true })
    }
    for (const tag of own) {
      tags.add(tag)
      this.#tags.set(tag, position)
    }
  }

  tagVersion(tag: Tag): Version {
    const written = this.#tags.get(tag)
    if (written !== undefined) return written
    const record = this.#tables.tags.get(tagKey(tag))
    return record ? decodeNumber(record) : 0
  }

  declaredAt(bucket: Key, fields: readonly string[]): Position | undefined {
    return declaredAt(this.of(bucket), fields)
  }

  /** The indexes of a bucket that the next step of a build is for: those that have come to the same place. */
  unbuilt(bucket: Key): readonly IndexRecord[] {
    const unready = this.of(bucket).filter(({ isReady }) => !isReady)
    return unready.filter(({ cursor }) => cursor === unready[0]!.cursor)
  }

  /** Indexes some more objects. Without any, the indexes are ready. */
  build(
    bucket: Key,
    indexes: readonly IndexRecord[],
    objects: Iterable<readonly [id: string, content: Content | undefined]>,
    progress: { readonly cursor: string | undefined; readonly total: number },
  ): void {
    let done = 0
    for (const [id, content] of objects) {
      if (content === undefined) continue
      const value = fieldsOf(content)
      for (const index of indexes) this.#entries.push({ key: keyOf(index, value, id), isThere: true })
      done++
    }
    const after = this.of(bucket).map(index => (indexes.includes(index) ? advance(index, done, progress) : index))
    this.#set(bucket, after)
  }

  /** Removes some more entries of indexes that are no longer declared. */
  sweep(): void {
    const { last, dropped } = this.#readNumbers()
    const [number] = dropped
    if (number === undefined) return
    const { low, high } = entriesUnder(indexPrefix(number))
    const keys = [...this.#tables.entries.getKeys({ start: low, end: high, limit: STEP_OBJECTS })]
    for (const key of keys) this.#entries.push({ key, isThere: false })
    if (keys.length === 0) this.#numbers = { last, dropped: dropped.slice(1) }
  }

  apply(epoch: number): void {
    const { indexes, entries, tags, meta } = this.#tables
    for (const { key, isThere } of this.#entries) isThere ? entries.put(key, NOTHING) : entries.remove(key)
    for (const [tag, position] of this.#tags) tags.put(tagKey(tag), encodeNumber(position))
    for (const bucket of this.#changed) indexes.put(bucket, encodeIndexes(this.of(bucket)))
    if (this.#numbers !== undefined) meta.put('indexes', encodeNumbers(this.#numbers), epoch)
  }

  #readNumbers(): IndexNumbers {
    return this.#numbers ?? decodeNumbers(this.#tables.meta.get('indexes'))
  }

  #set(bucket: Key, indexes: readonly IndexRecord[]): void {
    this.#indexes.set(bucket, indexes)
    this.#changed.add(bucket)
  }
}

const NOTHING = new Uint8Array(0)

function advance(
  index: IndexRecord,
  done: number,
  { cursor, total }: { readonly cursor: string | undefined; readonly total: number },
): IndexRecord {
  const { cursor: _, ...rest } = index
  const soFar = index.done + done
  // Some may have come and gone since they were counted.
  if (cursor === undefined) return { ...rest, isReady: true, done: soFar, total: soFar }
  return { ...rest, cursor, done: soFar, total: Math.max(total, soFar) }
}

function fieldsOf(content: Content | undefined): object | undefined {
  return content && parseFields(content.contentType, content.body)
}

function keyOf({ number, fields }: IndexRecord, value: object | undefined, id: string): Buffer {
  return entryKey(
    number,
    fields.map(field => valueAt(value, field)),
    id,
  )
}
