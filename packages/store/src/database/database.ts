/**
 * What `DatabaseEngine` needs of a database that handles one transaction at a time. `DatabaseEngine` decides; a database has
 * the connections and the statements.
 *
 * The tables of an SQL database, in a schema of their own. Texts are compared byte by byte.
 *
 *     head         one row: the log's id, its position, the store's time and when that was set by the database's clock, where
 *                  the log begins, the numbers of indexes. Each writer locks it first, so it orders commits.
 *     skipped      stretches of positions that no commit was given (attachment.ts)
 *     started      which database this is, and since when; gone when it may have lost something
 *     objects      key, version, content type, body
 *     buckets      bucket, position of its last change
 *     log          position of the last commit of a batch, the batch's own id, the record (../records/log-batch.ts)
 *     memory       name, bytes
 *     holders      name, who holds it, until when; it need not survive anything
 *     indexes      bucket, its indexes: JSON, an array of IndexRecord
 *     entries      the bytes that ../indexes/index-keys.ts draws
 *     tags         tag, or # and its SHA-256 if it is long; position of the last change that carries it
 *     clients      client, when its window was last changed, its window: JSON
 *     operations   id, when it was done, its result: JSON
 *
 * Errors: a database throws `EngineLost` when the connection is lost, `EngineBusy` when the request was refused in favour of
 * another transaction; all other errors are those of `docs/errors.md`.
 */
import type { IndexNumbers } from '@freshet/core/commit'
import type { ClientWindow, ForeignOperation } from '@freshet/core/counters'
import type {
  BucketChange,
  Key,
  LogEntry,
  MaybePromise,
  Position,
  StoredValue,
  Tag,
  Version,
  Write,
} from '@freshet/core/store'
import type { AsyncView, BucketPage, KeyRange, LogPart, View } from '../engine/engine.js'
import type { Changed } from '../records/log-batch.js'

export interface Database {
  /** Where it is, for messages; without a password. */
  readonly place: string
  /** For single reads of pages, values and indexes: each read is of one durable state, and returns that state's position. */
  readonly view: AsyncView
  /** Several reads of one state. */
  inOneState<Result>(read: (view: View) => Promise<Result>): Promise<Result>
  /** Whether tables of other programs are buckets, so that `head` may find changes pending. */
  readonly sharesTables: boolean
  /** The latest values. A key that is not in the map does not exist; a promised value is not durable yet. */
  latest(keys: readonly Key[]): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>>
  buckets(): Promise<BucketChange[]>
  /** Whether a bucket is now a table of other programs. */
  isTable(bucket: Key): Promise<boolean>
  head(): Promise<HeadOfLog>
  /** Entries after a position, from at most `batches` batches. */
  changes(after: Position, batches: number): Promise<LogPart>
  recall(name: string): Promise<Uint8Array | undefined>
  remember(name: string, value: Uint8Array): Promise<void>
  /** See `Store.hold`; by the store's time. */
  hold(name: string, holder: string, ms: number): Promise<boolean>
  /** Sets where the log begins, and deletes what is before. */
  trim(upTo: Position): Promise<void>
  forgetOperations(before: { readonly clientsMs: number; readonly foreignMs: number }): Promise<void>
  countOperations(): Promise<{ readonly clients: number; readonly foreign: number; readonly diskBytes: number }>
  /** The buckets whose indexes are not ready, and the dropped indexes whose entries are still to be removed. */
  unfinishedIndexes(): Promise<{ readonly buckets: readonly Key[]; readonly dropped: readonly number[] }>
  /** Removes at most `limit` entries of an index, and returns how many it removed. */
  removeEntries(index: number, limit: number): Promise<number>

  /**
   * One transaction: locks the head, reads what `needs` names, calls `decide`, writes the changes, commits. One call at a
   * time. Throws `EngineLost` with `isUnknown` if it may have been committed; after any other error it was not.
   */
  transact(needs: Needs, nowMs: number, decide: (state: LockedState) => Promise<Changes | undefined>): Promise<void>
  /**
   * Whether the batch of a lost transaction was committed. The transaction had locked the head, so the next one that gets the
   * lock knows that it has ended. Undefined if that part of the log is gone.
   */
  isCommitted(position: Position, batch: string): Promise<boolean | undefined>
  /** Advances the store's time, at least to `nowMs`. */
  tick(nowMs: number): Promise<Head>
  close(): Promise<void>
}

export interface Head {
  readonly position: Position
  /** Other programs have changed tables that are buckets, and the changes are not in the log yet. */
  readonly isPending: boolean
  /** The store's time when this was read. */
  readonly timeMs: number
  readonly trimmedTo: Position
}

export interface HeadOfLog extends Head {
  /** The id of the log. */
  readonly log: string
}

/** What a transaction reads at once. */
export interface Needs {
  readonly keys: Iterable<Key>
  /** Whose versions. */
  readonly buckets: Iterable<Key>
  /** Whose indexes. */
  readonly indexes: Iterable<Key>
  readonly tags: Iterable<string>
  readonly clients: Iterable<string>
  readonly foreign: Iterable<string>
  /**
   * What to take of tables that are buckets: the changes of other programs, or also the rows that were there before.
   * Undefined: nothing, which leaves it for the next transaction.
   */
  readonly taking?: 'changes' | 'backfill'
}

export interface LockedState {
  readonly head: Omit<Head, 'isPending'> & { readonly numbers: IndexNumbers }
  /**
   * What other programs have written to tables that are buckets, if `taking` named it: it comes before everything that is
   * decided now.
   */
  readonly incoming: Incoming
  readonly values: Map<Key, StoredValue>
  readonly buckets: ReadonlyMap<Key, Version>
  readonly indexes: ReadonlyMap<Key, Buffer>
  readonly tags: ReadonlyMap<string, Version>
  readonly windows: ReadonlyMap<string, ClientWindow>
  readonly foreign: ReadonlyMap<string, ForeignOperation>
  /** More values. */
  more(keys: readonly Key[]): Promise<ReadonlyMap<Key, StoredValue>>
  page(bucket: Key, range: KeyRange): Promise<BucketPage>
  count(low: Key, high: Key): Promise<number>
  /** The changes after a position; after a later one, if `batches` batches do not reach back that far. */
  changedAfter(position: Position, batches: number): Promise<ChangedBefore>
}

export interface Incoming {
  readonly writes: readonly Write[]
  /** How many changes were noted; some may have had no effect. */
  readonly noted: number
  /** There is more. */
  readonly isFull: boolean
}

export const NOTHING_INCOMING: Incoming = { writes: [], noted: 0, isFull: false }

/** The entries of the log after a position, as far back as the lists of the commits need them and as the log was read. */
export interface ChangedBefore {
  readonly after: Position
  readonly entries: readonly LogEntry[]
}

/** What a transaction writes. */
export interface Changes {
  readonly position: Position
  readonly timeMs: number
  readonly values: ReadonlyMap<Key, StoredValue | undefined>
  readonly buckets: ReadonlyMap<Key, Position>
  /** Undefined: nothing has taken a position. */
  readonly log: { readonly batch: string; readonly commits: readonly Changed[] } | undefined
  readonly indexes: ReadonlyMap<Key, Uint8Array>
  readonly numbers: IndexNumbers | undefined
  /** Whether each entry is to exist. */
  readonly entries: ReadonlyMap<string, { readonly key: Buffer; readonly isThere: boolean }>
  readonly tags: ReadonlyMap<Tag, Position>
  readonly windows: ReadonlyMap<string, ClientWindow>
  readonly foreign: ReadonlyMap<string, ForeignOperation>
}
