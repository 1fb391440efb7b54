/**
 * A database that does one transaction at a time: what `DatabaseEngine` needs of it. Everything that decides is there; here are
 * the connections and the statements.
 *
 * The tables of a database in SQL, in a schema of their own. Texts are compared byte by byte.
 *
 *     head         one row: the log's id, its position, the store's time and when that was set by the database's clock, where
 *                  the log begins, the numbers of indexes. Whoever writes locks it first, so it is what orders commits.
 *     skipped      stretches of positions that were given to nobody (attachment.ts)
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
 *     operations   id, when it was done, what came of it: JSON
 *
 * Errors: a database throws `EngineLost` when the connection is gone, `EngineBusy` when it was refused for the sake of another
 * transaction; everything else is what `docs/errors.md` has.
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
  /** For messages: where it is, without a password. */
  readonly place: string
  /** For single reads of pages, values and indexes: each is of one state of its own, durable, with that state's position. */
  readonly view: AsyncView
  /** Several reads of one state. */
  inOneState<Result>(read: (view: View) => Promise<Result>): Promise<Result>
  /** Whether tables of others are buckets, so that `head` may find something pending. */
  readonly sharesTables: boolean
  /** The latest values. What is not in the map is not there; what is promised is not durable yet. */
  latest(keys: readonly Key[]): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>>
  buckets(): Promise<BucketChange[]>
  /** Whether a bucket is a table of other programs, as of now. */
  isTable(bucket: Key): Promise<boolean>
  head(): Promise<HeadOfLog>
  /** Entries after a position, of so many batches. */
  changes(after: Position, batches: number): Promise<LogPart>
  recall(name: string): Promise<Uint8Array | undefined>
  remember(name: string, value: Uint8Array): Promise<void>
  /** See `Store.hold`; by the store's time. */
  hold(name: string, holder: string, ms: number): Promise<boolean>
  /** Sets where the log begins, and deletes what is before. */
  trim(upTo: Position): Promise<void>
  forgetOperations(before: { readonly clientsMs: number; readonly foreignMs: number }): Promise<void>
  countOperations(): Promise<{ readonly clients: number; readonly foreign: number; readonly diskBytes: number }>
  /** The buckets whose indexes are not ready, and the indexes whose entries are to be removed. */
  unfinishedIndexes(): Promise<{ readonly buckets: readonly Key[]; readonly dropped: readonly number[] }>
  /** Removes some entries of an index. Says how many. */
  removeEntries(index: number, limit: number): Promise<number>

  /**
   * One transaction: locks the head, reads what is needed, lets it be decided, writes, commits. Only one at a time. Throws
   * `EngineLost` with `isUnknown` if it may have been committed; else it was not.
   */
  transact(needs: Needs, nowMs: number, decide: (state: LockedState) => Promise<Changes | undefined>): Promise<void>
  /**
   * Whether a batch was committed whose transaction was lost: it had locked the head, so whoever gets the head next knows that it
   * is over. Undefined if that part of the log is gone.
   */
  isCommitted(position: Position, batch: string): Promise<boolean | undefined>
  /** Brings the store's time forward, at least to `nowMs`. */
  tick(nowMs: number): Promise<Head>
  close(): Promise<void>
}

export interface Head {
  readonly position: Position
  /** Others have changed tables that are buckets, and that is not in the log yet. */
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
  /** Their versions. */
  readonly buckets: Iterable<Key>
  /** Their indexes. */
  readonly indexes: Iterable<Key>
  readonly tags: Iterable<string>
  readonly clients: Iterable<string>
  readonly foreign: Iterable<string>
  /** Of tables that are buckets: what others have changed; also what was there before. Undefined: nothing, so that it is there for the next. */
  readonly taking?: 'changes' | 'backfill'
}

export interface LockedState {
  readonly head: Omit<Head, 'isPending'> & { readonly numbers: IndexNumbers }
  /** What others have written to tables that are buckets, if it was asked for: it comes before all that is decided now. */
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
  /** What was changed after a position, or after a later one, if that is all that so many batches hold. */
  changedAfter(position: Position, batches: number): Promise<ChangedBefore>
}

export interface Incoming {
  readonly writes: readonly Write[]
  /** How many changes were noted; some may have come to nothing. */
  readonly noted: number
  /** There is more. */
  readonly isFull: boolean
}

export const NOTHING_INCOMING: Incoming = { writes: [], noted: 0, isFull: false }

/** What the log has, as far as any list of the commits needs it, and as far as it was looked back. */
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
  /** None: nothing has taken a position. */
  readonly log: { readonly batch: string; readonly commits: readonly Changed[] } | undefined
  readonly indexes: ReadonlyMap<Key, Uint8Array>
  readonly numbers: IndexNumbers | undefined
  /** Whether each is to be there. */
  readonly entries: ReadonlyMap<string, { readonly key: Buffer; readonly isThere: boolean }>
  readonly tags: ReadonlyMap<Tag, Position>
  readonly windows: ReadonlyMap<string, ClientWindow>
  readonly foreign: ReadonlyMap<string, ForeignOperation>
}
