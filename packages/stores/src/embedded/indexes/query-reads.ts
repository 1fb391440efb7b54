/**
 * Queries over the tables of an embedded store, all from one state. An index leads to the ids, by ranges of its entries; the
 * values are read one by one, and the whole filter is asked of each. So a range may hold more than it should, never less.
 */
import { setImmediate } from 'node:timers/promises'
import {
  type Access,
  chooseAccess,
  dependenciesOf,
  describeAccess,
  orderOf,
  queryTooBroad,
  startOf,
} from '@freshet/core/queries'
import {
  compareUtf8,
  declaredAt,
  type IndexState,
  type Key,
  type QueryPage,
  type QueryVersion,
  type StoredEntry,
} from '@freshet/core/store'
import { type Place, QUERY_LIMIT_DEFAULT, type Query } from '@freshet/protocol'
import type { Engine, ReadTransaction } from '../engine.js'
import { decodeNumber, isTooLong } from '../records.js'
import type { EntryRange } from './index-keys.js'
import { entryRangesOf, idBounds, type Step, stepAt } from './index-ranges.js'
import { decodeIndexes, type IndexRecord, tagKey, toState } from './index-records.js'
import { PageCollector } from './page-collector.js'

/** After so many entries a query lets others have the thread. */
const ENTRIES_PER_TURN = 500

export interface QueryReadsOptions {
  readonly engine: Engine
  readonly transaction: ReadTransaction
  readonly scanMax: number
  /** The entry that an index, or the bucket, has led to. */
  readonly readEntry: (bucket: Key, id: string) => StoredEntry
}

export class QueryReads {
  readonly #engine: Engine
  readonly #transaction: ReadTransaction
  readonly #scanMax: number
  readonly #readEntry: QueryReadsOptions['readEntry']

  constructor({ engine, transaction, scanMax, readEntry }: QueryReadsOptions) {
    this.#engine = engine
    this.#transaction = transaction
    this.#scanMax = scanMax
    this.#readEntry = readEntry
  }

  indexes(bucket: Key): readonly IndexState[] {
    return this.#records(bucket).map(toState)
  }

  version(bucket: Key, query: Query): Omit<QueryVersion, 'position'> {
    const transaction = this.#transaction
    const indexes = this.#records(bucket)
    const depends = dependenciesOf(bucket, query, indexes)
    if (depends === undefined) {
      const record = isTooLong(bucket) ? undefined : this.#engine.buckets.get(bucket, { transaction })
      return { version: record ? decodeNumber(record) : 0, dependsOn: 'bucket' }
    }
    const versions = depends.tags.map(tag => {
      const record = this.#engine.tags.get(tagKey(tag), { transaction })
      return record ? decodeNumber(record) : 0
    })
    return { version: Math.max(declaredAt(indexes, depends.fields)!, ...versions), dependsOn: depends.tags }
  }

  async page(bucket: Key, query: Query): Promise<Omit<QueryPage, 'position'>> {
    const indexes = this.#records(bucket)
    const access = chooseAccess(query, indexes)
    const order = orderOf(query)
    const start = startOf(query, order)
    const collector = new PageCollector({
      query,
      order,
      start,
      isSorted: access.isSorted,
      scanMax: this.#scanMax,
      tooBroad: () => queryTooBroad({ bucket, query, indexes, scanMax: this.#scanMax }),
    })
    const index = indexes.find(({ name }) => name === access.index?.name)
    const stretches = index
      ? entryRangesOf(index.number, access, query, start).map(range => this.#stretchOf(index, access, range))
      : [this.#stretchById(bucket, access, start)]
    const { limit = QUERY_LIMIT_DEFAULT } = query
    for (const stretch of stretches) {
      if (!(await this.#walk(bucket, stretch, collector, access.isSorted ? limit + 1 : ENTRIES_PER_TURN))) break
    }
    return { ...collector.finish(), ...this.version(bucket, query), plan: describeAccess(access) }
  }

  /** False if nothing more is wanted. */
  async #walk(bucket: Key, stretch: Stretch, collector: PageCollector, expected: number): Promise<boolean> {
    let size = Math.min(expected, ENTRIES_PER_TURN)
    for (let read = stretch(undefined, size); ; ) {
      for (const { id, run } of read) {
        if (!collector.wants(run)) return false
        collector.add(this.#readEntry(bucket, id), run)
      }
      const last = read.at(-1)
      if (last === undefined || read.length < size) return true
      size = ENTRIES_PER_TURN
      await setImmediate()
      read = stretch(last, size)
    }
  }

  #records(bucket: Key): readonly IndexRecord[] {
    if (isTooLong(bucket) || bucket === '') return []
    return decodeIndexes(this.#engine.indexes.get(bucket, { transaction: this.#transaction }))
  }

  #stretchOf(index: IndexRecord, access: Access, range: EntryRange): Stretch {
    const { isDescending } = access
    return (after, limit) => {
      const { low, high } = range
      const bounds = isDescending
        ? { start: after?.key ?? high, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
        : { start: after?.key ?? low, end: high, exclusiveStart: after !== undefined }
      if (Buffer.compare(low, high) >= 0) return []
      const keys = [...this.#engine.entries.getKeys({ ...bounds, limit, transaction: this.#transaction })]
      return keys.map(key => stepAt(key, index.fields.length, access))
    }
  }

  /** The bucket itself, by id. */
  #stretchById(bucket: Key, { range, isSorted, isDescending }: Access, start: Place | undefined): Stretch {
    const folder = `${bucket}/`
    const { low, high } = idBounds(folder, range?.conditions ?? [])
    const { values } = this.#engine
    return (after, limit) => {
      const from = after?.id ?? (isSorted ? start?.id : undefined)
      const place = from === undefined || isTooLong(folder + from) ? undefined : folder + from
      const transaction = this.#transaction
      const ascending = place !== undefined && compareUtf8(place, low) >= 0
      const descending = place !== undefined && compareUtf8(place, high) < 0
      const bounds = isDescending
        ? { start: descending ? place : high, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
        : { start: ascending ? place : low, end: high, exclusiveStart: ascending }
      if (isTooLong(folder) || compareUtf8(bounds.start, bounds.end) * (isDescending ? -1 : 1) > 0) return []
      const keys = [...values.getKeys({ ...bounds, limit, transaction })]
      return keys.map(key => ({ key: NO_KEY, id: key.slice(folder.length), run: undefined }))
    }
  }
}

/** Some more of what lies on the way, after what was read last. */
type Stretch = (after: Step | undefined, limit: number) => readonly Step[]

const NO_KEY = Buffer.alloc(0)
