/**
 * Queries over the tables of an embedded store, all from one state. An index leads to the ids, by ranges of its entries; the
 * values are read one by one, and the whole filter is asked of each. So a range may hold more than it should, never less.
 */
import { setImmediate } from 'node:timers/promises'
import {
  type Access,
  chooseAccess,
  combinations,
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
import { type Condition, type Place, QUERY_LIMIT_DEFAULT, type Query } from '@freshet/protocol'
import type { Engine, ReadTransaction } from '../engine.js'
import { decodeNumber, isTooLong } from '../records.js'
import {
  type EntryRange,
  earlier,
  encodeIndexValue,
  entriesUnder,
  indexPrefix,
  later,
  mayBeCut,
  narrow,
  valueEnds,
} from './index-keys.js'
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
    const stretches = access.index
      ? this.#stretchesOf(bucket, access, sortedValues(access, query, start), start)
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

  /** One for each combination of the values that are demanded. */
  #stretchesOf(bucket: Key, access: Access, seek: readonly Buffer[], start: Place | undefined): readonly Stretch[] {
    const index = this.#records(bucket).find(({ name }) => name === access.index!.name)!
    const prefixes = combinations(access.equal).map(values =>
      Buffer.concat([indexPrefix(index.number), ...values.map(encodeIndexValue)]),
    )
    // Texts that differ only behind the cut lead to the same entries, which must be met once.
    const places = new Map(prefixes.map(prefix => [prefix.toString('latin1'), prefix]))
    return [...places.values()].map(prefix => {
      const range = narrow(entriesUnder(prefix), prefix, access.range?.conditions ?? [])
      const isExact = access.sortedFields === undefined && !seek.some(mayBeCut)
      const place = Buffer.concat([prefix, ...seek, ...(isExact && start ? [Buffer.from(start.id)] : [])])
      const rest = start && access.isSorted ? beginAt(range, place, access.isDescending) : range
      return this.#stretchOf(index, access, rest)
    })
  }

  #stretchOf(index: IndexRecord, { isSorted, isDescending, sortedFields }: Access, range: EntryRange): Stretch {
    return (after, limit) => {
      const { low, high } = range
      const bounds = isDescending
        ? { start: after?.key ?? high, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
        : { start: after?.key ?? low, end: high, exclusiveStart: after !== undefined }
      if (Buffer.compare(low, high) >= 0) return []
      const keys = [...this.#engine.entries.getKeys({ ...bounds, limit, transaction: this.#transaction })]
      return keys.map(key => {
        const ends = valueEnds(key, index.fields.length)
        const id = key.toString('utf8', ends.at(-1))
        return { key, id, run: isSorted ? runOf(key, ends, sortedFields) : undefined }
      })
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

interface Step {
  readonly key: Buffer
  readonly id: string
  /** What it has in common with those that it is to be sorted with; undefined: it is in its place. */
  readonly run: string | undefined
}

const NO_KEY = Buffer.alloc(0)

/** The bytes of an entry up to where its order ends: the last field sorted by, or the first that may have been cut. */
function runOf(key: Buffer, ends: readonly number[], sortedFields: number | undefined): string | undefined {
  let begin = 4
  for (const [i, end] of ends.entries()) {
    if (i + 1 === sortedFields || mayBeCut(key.subarray(begin, end))) return key.toString('latin1', 0, end)
    begin = end
  }
  return undefined
}

/** The encoded values at which a sorted stretch goes on, up to the first that may have been cut. */
function sortedValues(access: Access, query: Query, start: Place | undefined): readonly Buffer[] {
  if (start === undefined || !access.isSorted) return []
  const sort = orderOf(query).fields.map(({ field }) => field)
  const fields = access.index!.fields.slice(access.equal.length, access.sortedFields)
  const values = fields.map(field => encodeIndexValue(start.values[sort.indexOf(field)]))
  const cut = values.findIndex(mayBeCut)
  return cut === -1 ? values : values.slice(0, cut + 1)
}

/** What is at the place itself is left in: whether it comes after the cursor is asked of its values. */
function beginAt({ low, high }: EntryRange, place: Buffer, isDescending: boolean): EntryRange {
  return isDescending ? { low, high: earlier(high, entriesUnder(place).high) } : { low: later(low, place), high }
}

/** Keys from `low` up to, not including, `high`; as narrow as is simple. */
function idBounds(folder: string, conditions: readonly Condition[]): { readonly low: string; readonly high: string } {
  let low = folder
  let high = `${folder.slice(0, -1)}0`
  const raise = (id: unknown) => {
    if (typeof id === 'string' && !isTooLong(folder + id) && compareUtf8(folder + id, low) > 0) low = folder + id
  }
  const lower = (id: unknown) => {
    const end = folder + id
    if (typeof id === 'string' && !isTooLong(end) && compareUtf8(end, high) < 0) high = end
  }
  for (const { $eq, $in, $gt, $gte, $lt, $lte, $prefix } of conditions) {
    const among = [...($in ?? []), ...($eq === undefined ? [] : [$eq])].filter(id => typeof id === 'string')
    among.sort(compareUtf8)
    for (const id of [$gt, $gte, $prefix, among[0]]) raise(id)
    lower($lt)
    // The least text that is greater.
    for (const id of [$lte, among.at(-1)]) if (id !== undefined) lower(`${id}\0`)
    if ($prefix) lower(textAfter($prefix))
  }
  return { low, high }
}

/** The least text that comes after all that begin so; undefined if there is none. */
function textAfter(prefix: string): string | undefined {
  const points = [...prefix]
  while (points.at(-1) === '\u{10ffff}') points.pop()
  const last = points.pop()?.codePointAt(0)
  if (last === undefined) return undefined
  // Beyond what stands for half a character only.
  return points.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1)
}
