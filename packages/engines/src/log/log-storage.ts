/**
 * What a store over a log needs from its storage: a log that is appended to slot by slot, rows that follow it, and small numbers.
 * `../cassandra` keeps them in tables, `../quorum` over several stores. All methods throw `EngineLost` if the storage does not
 * answer, or not yet; the work may have been done all the same. All of them may be repeated.
 */
import type { BucketChange, Key, LogEntry, Position, StoredValue } from '@freshet/core/store'
import type { EntriesRange, KeyedValue, KeyRange } from '@freshet/store/engine'
import type { LogRecord } from './log-record.js'

export interface LogPage {
  /** In order. */
  readonly records: readonly LogRecord[]
  /** No records follow these. */
  readonly isEnd: boolean
  /**
   * Every record that was appended before this call is in this slot or an earlier one; undefined: that is not known. While
   * other servers keep appending, a reader may never find an end. It has read all it must when it has read up to here.
   */
  readonly reaches?: number | undefined
}

/** Slots from 0, without gaps, each written once. They are deleted in parts of consecutive slots. */
export interface ChangeLog {
  /**
   * Undefined: it is appended, and every read from now on returns it. Otherwise the slot that the log has reached. Then this
   * slot was taken, perhaps by this very record in an earlier attempt; or, if the number is lower than the slot, the log has
   * lost records.
   */
  append(record: LogRecord): Promise<number | undefined>
  /** Some of the records after a slot. Throws SlotsGone if the next was deleted. */
  read(after: number): Promise<LogPage>
  /** Undefined: there is no log. */
  last(): Promise<LogRecord | undefined>
  /** At least `limit` entries after a position, if there are that many, up to a slot. `firstPart`: no earlier part is needed. */
  changes(
    after: Position,
    limit: number,
    within: { readonly firstPart: number; readonly lastSlot: number },
  ): Promise<LogEntry[]>
  partOf(slot: number): number
  /** The last part that begins at or before a position. */
  partBefore(position: Position, firstPart: number, lastPart: number): Promise<number>
  dropPart(part: number): Promise<void>
}

/** The next slots were deleted: a server that slept that long begins again at the log's end. */
export class SlotsGone extends Error {
  override readonly name = 'SlotsGone'

  constructor(after: number) {
    super(`The records after slot ${after} of the log were deleted.`)
  }
}

/**
 * The state that results from the log, as far as it was applied. A read sees the writes of every `apply` that ended before the
 * read began, and perhaps some of later records.
 */
export interface Rows {
  /** `nearest`: from one copy, which may be behind, if the storage keeps several. */
  object(key: Key, at?: 'rows' | 'nearest'): Promise<StoredValue | undefined>
  /** The objects that exist. */
  objects(keys: Iterable<Key>): Promise<Map<Key, StoredValue>>
  /** In the order of the range. Fewer than its limit: there are no more. The bucket's own record is left out. */
  page(bucket: Key, range: KeyRange): Promise<KeyedValue[]>
  /** About how many objects a bucket has. */
  count(bucket: Key): Promise<number>
  allBuckets(): Promise<BucketChange[]>
  buckets(names: Iterable<Key>): Promise<Map<Key, Position>>
  /** Windows of clients, or the results of foreign operations. */
  records(table: RecordTable, ids: Iterable<string>): Promise<Map<string, string>>
  allRecords(table: RecordTable): AsyncGenerator<{ readonly id: string; readonly record: string }>
  /** Deletes the record, unless it was written after this stamp. */
  dropRecord(table: RecordTable, id: string, stamp: number): Promise<void>
  memory(name: string): Promise<Buffer | undefined>
  /** The indexes of the buckets that have indexes, or had some. */
  indexes(buckets: Iterable<Key>): Promise<Map<Key, Buffer>>
  allIndexes(): Promise<Map<Key, Buffer>>
  /** By `tagKey`: the position of the last change that carries the tag. */
  tags(tags: Iterable<string>): Promise<Map<string, Position>>
  /** In the order of the range, which lies in one index. Fewer than its limit: there are no more. */
  entries(range: EntriesRange): Promise<Buffer[]>
  /** Writes the changes of a record. Any server may call it, any number of times, in any order: the highest stamp wins. */
  apply(record: LogRecord): Promise<void>
}

export type RecordTable = 'clients' | 'operations'

/** Numbers that only grow, and which process holds which name. */
export interface Registers {
  /** Afterwards each number is at least this value. */
  raise(values: ReadonlyMap<string, number>): Promise<void>
  /** All numbers, each at least as high as it was when this was called. */
  highest(): Promise<ReadonlyMap<string, number>>
  /** See `Store.hold`; `nowMs` is the store's time. */
  hold(name: string, holder: string, ms: number, nowMs: () => number): Promise<boolean>
}
