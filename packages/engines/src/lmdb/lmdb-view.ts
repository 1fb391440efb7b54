/**
 * Reads of one state of an embedded store. A value is read when it is accessed, so that a query that stops early reads only
 * the values that it examines. Reads of many entries yield the thread to other work in between.
 */
import { setImmediate } from 'node:timers/promises'
import type { IndexRecord } from '@freshet/core/commit'
import {
  compareUtf8,
  type Key,
  type Position,
  type Snapshot,
  type StoredValue,
  type Version,
} from '@freshet/core/store'
import type { BucketPage, EntriesRange, KeyedValue, KeyRange, Values, View } from '@freshet/store/engine'
import { decodeIndexes } from '@freshet/store/indexes'
import { decodeNumber, isTooLong } from '@freshet/store/records'
import type { ReadOptions, ReadTransaction, Table, Tables } from './environment.js'
import { valueAt } from './stored-value.js'

/** A read yields the thread after this many entries. */
const ENTRIES_PER_TURN = 500
/** More than a key may have, and less than LMDB's limit. */
const BOUND_BYTES_MAX = 1200

export interface LmdbViewOptions {
  readonly path: string
  readonly tables: Tables
  readonly transaction: ReadTransaction
  /** The position of the state. */
  readonly position: Position
}

export class LmdbView implements View, Values {
  readonly #path: string
  readonly #tables: Tables
  readonly #position: Position
  readonly #options: ReadOptions
  /** How many entries were read since the thread was last yielded. */
  #read = 0

  constructor({ path, tables, transaction, position }: LmdbViewOptions) {
    this.#path = path
    this.#tables = tables
    this.#position = position
    this.#options = { transaction }
  }

  async page(bucket: Key, range: KeyRange): Promise<BucketPage> {
    const values = await this.#inTurns<PageValue>(range.limit, (last, limit) => {
      const found = this.#keys(range, last?.key, limit).map(key => new PageValue(this, key))
      // Otherwise they would all be read later, in one turn.
      if (range.limit > ENTRIES_PER_TURN) for (const value of found) value.read()
      return found
    })
    return { values, version: this.#versionIn(this.#tables.buckets, bucket), position: this.#position }
  }

  values(): Snapshot<Values> {
    return { value: this, position: this.#position }
  }

  get(key: Key): StoredValue | undefined {
    return valueAt(this.#path, this.#tables.values, key, this.#options)
  }

  indexes(bucket: Key): Snapshot<{ readonly indexes: readonly IndexRecord[]; readonly version: Version }> {
    const indexes = decodeIndexes(this.#tables.indexes.get(bucket, this.#options))
    return { value: { indexes, version: this.#versionIn(this.#tables.buckets, bucket) }, position: this.#position }
  }

  tagVersions(tags: readonly string[]): ReadonlyMap<string, Version> {
    return new Map(tags.map(tag => [tag, this.#versionIn(this.#tables.tags, tag)]))
  }

  entries({ low, high, after, isDescending, limit }: EntriesRange): Promise<readonly Buffer[]> {
    const { transaction } = this.#options
    return this.#inTurns<Buffer>(Buffer.compare(low, high) < 0 ? limit : 0, (last = after, limit) => {
      const bounds = isDescending
        ? { start: last ?? high, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
        : { start: last ?? low, end: high, exclusiveStart: last !== undefined }
      return [...this.#tables.entries.getKeys({ ...bounds, limit, transaction })]
    })
  }

  #keys({ low, high, isDescending }: KeyRange, last: Key | undefined, limit: number): Key[] {
    const [from, to] = isDescending ? [high, low] : [low, high]
    const [start, end] = [last ?? bounded(from.key), bounded(to.key)]
    if (compareUtf8(start, end) * (isDescending ? -1 : 1) > 0) return []
    const bounds = { start, exclusiveStart: last !== undefined || !from.isIncluded, end, inclusiveEnd: to.isIncluded }
    const { transaction } = this.#options
    return [...this.#tables.values.getKeys({ ...bounds, reverse: isDescending, limit, transaction })]
  }

  /** Up to `limit` entries, from calls of `read` that each continue after the last entry found. */
  async #inTurns<Entry>(
    limit: number,
    read: (last: Entry | undefined, limit: number) => Entry[],
  ): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    while (entries.length < limit) {
      if (this.#read === ENTRIES_PER_TURN) {
        await setImmediate()
        this.#read = 0
      }
      const size = Math.min(limit - entries.length, ENTRIES_PER_TURN - this.#read)
      const found = read(entries.at(-1), size)
      this.#read += found.length
      entries.push(...found)
      if (found.length < size) break
    }
    return entries
  }

  #versionIn(table: Table<string>, key: Key): Version {
    const record = table.get(key, this.#options)
    return record ? decodeNumber(record) : 0
  }
}

/** The part of a bound that LMDB accepts. No key is as long as that part, so the same keys lie on either side. */
function bounded(bound: Key): Key {
  if (!isTooLong(bound)) return bound
  return bound.slice(0, new TextEncoder().encodeInto(bound, new Uint8Array(BOUND_BYTES_MAX)).read)
}

/** A value of a page, read when it is first accessed. */
class PageValue implements KeyedValue {
  readonly key: Key
  readonly #view: LmdbView
  #value: StoredValue | undefined

  constructor(view: LmdbView, key: Key) {
    this.#view = view
    this.key = key
  }

  get version(): Version {
    return this.read().version
  }

  get contentType(): string {
    return this.read().contentType
  }

  get body(): Uint8Array {
    return this.read().body
  }

  read(): StoredValue {
    this.#value ??= this.#view.get(this.key)!
    return this.#value
  }
}
