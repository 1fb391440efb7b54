/**
 * What a store over a log needs of whatever keeps it: a log that is appended to slot by slot, rows that follow it, and small numbers.
 * `../cassandra` has them in tables, `../quorum` over several stores. Errors: `EngineLost` if it does not answer, or not
 * yet; what was asked for may have been done. All of it may be asked for twice.
 */
import type { BucketChange, Key, LogEntry, Position, StoredValue } from '@freshet/core/store'
import type { EntriesRange, KeyedValue, KeyRange } from '@freshet/store/engine'
import type { LogRecord } from './log-record.js'

export interface LogPage {
  /** In order. */
  readonly records: readonly LogRecord[]
  /** There are no more. */
  readonly isEnd: boolean
  /**
   * Whatever was appended before this was asked is in this slot or before it; undefined: that is not known. Where others keep appending there
   * may never be an end to be seen: whoever has read up to here has seen what he must.
   */
  readonly reaches?: number | undefined
}

/** Slots from 0, without gaps, each written once. They are deleted in parts of consecutive slots. */
export interface ChangeLog {
  /**
   * Undefined: it is appended, and whoever reads from now on reads it. Else the slot that the log has reached instead: this one was
   * taken, maybe by this very record, if its append was tried before; or, if it is less, the log has lost what it had.
   */
  append(record: LogRecord): Promise<number | undefined>
  /** Some of the records after a slot. Throws SlotsGone if the next was deleted. */
  read(after: number): Promise<LogPage>
  /** Undefined: there is no log. */
  last(): Promise<LogRecord | undefined>
  /** At least so many entries after a position, if there are, up to a slot. `firstPart`: no part before it is needed. */
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

/** The slots that follow have been deleted: whoever slept for so long begins at the log's end. */
export class SlotsGone extends Error {
  override readonly name = 'SlotsGone'

  constructor(after: number) {
    super(`What follows slot ${after} of the log was deleted.`)
  }
}

/**
 * What the log comes to, as far as it was applied. A read has at least what every `apply` that has ended before it began has written, and maybe
 * some of what is in the log beyond.
 */
export interface Rows {
  /** `nearest`: from one copy, which may be behind, where there is a difference. */
  object(key: Key, at?: 'rows' | 'nearest'): Promise<StoredValue | undefined>
  /** Those that are there. */
  objects(keys: Iterable<Key>): Promise<Map<Key, StoredValue>>
  /** In the order of the range; fewer than its limit: there are no more. The bucket's own record is not among them. */
  page(bucket: Key, range: KeyRange): Promise<KeyedValue[]>
  /** About how many objects a bucket has. */
  count(bucket: Key): Promise<number>
  allBuckets(): Promise<BucketChange[]>
  buckets(names: Iterable<Key>): Promise<Map<Key, Position>>
  /** Windows of clients, or what came of operations of others. */
  records(table: RecordTable, ids: Iterable<string>): Promise<Map<string, string>>
  allRecords(table: RecordTable): AsyncGenerator<{ readonly id: string; readonly record: string }>
  /** Unless it was written after this stamp. */
  dropRecord(table: RecordTable, id: string, stamp: number): Promise<void>
  memory(name: string): Promise<Buffer | undefined>
  /** The indexes of buckets that have any, or had. */
  indexes(buckets: Iterable<Key>): Promise<Map<Key, Buffer>>
  allIndexes(): Promise<Map<Key, Buffer>>
  /** By `tagKey`: the position of the last change that carries the tag. */
  tags(tags: Iterable<string>): Promise<Map<string, Position>>
  /** In the order of the range, which is one of a single index; fewer than its limit: there are no more. */
  entries(range: EntriesRange): Promise<Buffer[]>
  /** Whatever a record says. Any number of times, by anybody, in any order: what is there is that of the highest stamp. */
  apply(record: LogRecord): Promise<void>
}

export type RecordTable = 'clients' | 'operations'

/** Numbers that only grow, and who holds what. */
export interface Registers {
  /** Each is then at least so high. */
  raise(values: ReadonlyMap<string, number>): Promise<void>
  /** All there are, at least as high as any was when this was asked. */
  highest(): Promise<ReadonlyMap<string, number>>
  /** See `Store.hold`; `nowMs` is the store's time. */
  hold(name: string, holder: string, ms: number, nowMs: () => number): Promise<boolean>
}
