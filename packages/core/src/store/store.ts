/**
 * The Store: one way in (`commit`), few ways out. Everything above it is the same on every engine.
 *
 * A store keeps values under keys (`shop/products/42`), and an ordered, durable **change log**. One commit takes one
 * position; the version of everything it writes is that position. So versions grow per key, even across deletion and
 * re-creation, and no tombstones are needed for that.
 *
 * What every store promises, and `conformance.ts` checks:
 * - A commit is atomic: its reads are validated, its writes applied and its log entry appended in one step, or none is.
 * - When `commit` resolves, the commit is durable, as far as the store's `durability` says.
 * - Commits are strictly ordered. A reader of the state at position p sees every commit up to p, and no part of a later one.
 * - A position is never given twice, not even after a crash, nor by a new store in the place of an old one: positions continue
 *   from the time of day (`first-position.ts`). They may have gaps.
 * - `position()` is at least the position of every commit acknowledged, by any process, before it was called.
 * - Nothing is visible to `get`, `scan`, `changes` or `position` before it is durable.
 *
 * Errors: TypeError for mistakes that the caller could have avoided; STORE_CLOSED from every method after `close`; STORE_FULL
 * when the disk is full; STORE_DAMAGED when stored data cannot be right; STORE_TAKEN_OVER when another process has become the
 * writer. A commit that fails leaves no trace.
 */
import type {
  IdRange,
  IndexDeclaration,
  Key,
  OperationCounts,
  Position,
  Query,
  QueryPlan,
  Tag,
  Version,
} from '@freshet/protocol'
import type { Addition, CounterRefusal, Operation, OperationRefusal } from './operations.js'

export type { IndexDeclaration, Key, Position, Query, Tag, Version } from '@freshet/protocol'

export type MaybePromise<T> = T | Promise<T>

export interface StoredValue {
  readonly version: Version
  readonly contentType: string
  /** As written, byte for byte. The reader owns it. */
  readonly body: Uint8Array
}

export interface StoredEntry extends StoredValue {
  readonly id: string
}

/** A place in a log. */
export interface LogPlace {
  /** The id of the log. */
  readonly log: string
  readonly position: Position
}

export interface Store {
  readonly supports: StoreSupports
  /** The id of the change log: drawn at random when the store is created, and kept with it. */
  readonly log: string

  /**
   * The latest durable value of a key. Embedded stores answer at once, others with a promise: the read path is too hot to
   * wait where there is nothing to wait for. With `atLeast`, which `position` has reached, the value may come from any state
   * that includes that position; a store may ignore it.
   */
  get(key: Key, atLeast?: Position): MaybePromise<StoredValue | undefined>

  /** The values of all keys in one state, in the requested order. */
  getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>>

  /** One page of a bucket (`shop/products`), from one state, by ascending id in UTF-8 byte order. */
  scan(bucket: Key, range?: ScanRange): Promise<ScanPage>

  /**
   * One page of the entries that a query finds in a bucket, from one state. Throws QUERY_INVALID, and QUERY_TOO_BROAD if it
   * would have to look at more entries than the store's `scanMax`.
   */
  query(bucket: Key, query: StoreQuery): Promise<QueryPage>

  /** The version that the result of a query has now, without running it. */
  queryVersion(bucket: Key, query: StoreQuery): Promise<QueryVersion>

  /**
   * The indexes of a bucket, as declared with its own record (`PutWrite.indexes`). The store indexes older objects in the
   * background; an index finds nothing until it is ready, but its tags are written from its declaration on.
   */
  indexes(bucket: Key): MaybePromise<readonly IndexState[]>

  /** Every bucket that was ever written to, by name, and the position of the last change within it. */
  buckets(): Promise<readonly BucketChange[]>

  /** Validates, applies and appends in one durable step; a conflict is an answer, not an error, and changes nothing. */
  commit(commit: Commit): Promise<CommitResult>

  /** Forgets operations that are too old to be accepted. Resolves when done. */
  forgetOperations(): Promise<void>

  operationCounts(): MaybePromise<OperationCounts>

  /** The position that a read would see now. */
  position(): MaybePromise<Position>

  /**
   * The log after a position, in order, as far as it is durable; at most `limit` entries (default 1000). Throws
   * LOG_TRIMMED if part of the log after `after` is gone.
   */
  changes(after: Position, limit?: number): MaybePromise<readonly LogEntry[]>

  /** The position that the log begins after: `changes` of anything before it throws. In a new store, its position. */
  trimmedTo(): MaybePromise<Position>

  /**
   * Forgets the log up to and including a position, or to its end if that is nearer; not the data. Never undone, never
   * goes back.
   */
  trim(upTo: Position): Promise<void>

  /**
   * The store's clock, in milliseconds. It never goes back, and never runs faster than real time: it stands still while no
   * process has the store open. So an age by this clock is never more than the true one. It is not a time of day. (After a
   * crash it continues from where it was last stored: some seconds may come twice, but none that the log has seen.)
   */
  nowMs(): number

  /**
   * Calls the listener soon after a commit became visible, including a commit of another process; once for several that
   * come together, with the position of the last. Returns a function that stops it.
   */
  onCommit(listener: (position: Position) => void): () => void

  /** Small values that must survive a restart and are not data: seeds, promises made, cursors. Durable when resolved. */
  remember(name: string, value: Uint8Array): Promise<void>
  recall(name: string): MaybePromise<Uint8Array | undefined>

  /**
   * Makes the caller the only one of several processes that does something: true, for `ms` by the store's clock, if no other
   * process holds the name. The holder renews it before its time is over; 0 gives it up. It is a way to share work, not a lock:
   * a holder that hangs may wake up after its time, beside the next holder. It need not survive a restart of the store.
   */
  hold(name: string, holder: string, ms: number): MaybePromise<boolean>

  /**
   * Whether a bucket is a table of other programs, whose rows are deleted with its objects; checked now, never from memory.
   * Absent if no bucket can be such a table.
   */
  isTable?(bucket: Key): Promise<boolean>

  /** How many reads each source has answered since the store was opened, where there are replicas that may answer. */
  readCounts?(): readonly ReadCount[]

  /** For a store made of several nodes: the recent state of each node. Sends no requests. */
  nodes?(): readonly StoreNode[]

  /** Waits for operations under way. Idempotent. */
  close(): Promise<void>
}

export interface ReadCount {
  /** `primary`, or the address of a replica. */
  readonly source: string
  /** Objects, each by itself; a list counts as one, and so do objects read from one state. */
  readonly reads: number
  /** Of a replica: how many of its answers were not used because it was behind. */
  readonly behind?: number
  /** Of a replica: whether reads go to it: it answers, and is not too far behind. */
  readonly isUsed?: boolean
  /** Of a replica: how long it took to answer recently. */
  readonly answerMs?: number
}

export interface StoreNode {
  /** Its address, for people: without a password. */
  readonly place: string
  /**
   * silent: it does not answer. emptied: it answers, and has lost its contents, or is not of this store; it has no vote.
   * rebuilding: its values are being copied from another node.
   */
  readonly state: 'well' | 'silent' | 'emptied' | 'rebuilding'
  /** How many records of the log are not in its values yet, as far as is known; absent for a node that must be rebuilt. */
  readonly behind?: number
  /** Absent while it has never answered. */
  readonly durability?: StoreSupports['durability']
  /** Why it does not answer, if that is known. */
  readonly trouble?: string
}

export interface StoreSupports {
  /** 'disk': acknowledged means on disk. 'relaxed': survives the process, maybe not the machine. 'none': memory. */
  readonly durability: 'disk' | 'relaxed' | 'none'
  /** How long an operation is remembered, and how long after it was made an operation of one of our clients is accepted. */
  readonly retentionMs: number
}

export interface Snapshot<Value> {
  readonly value: Value
  readonly position: Position
}

export interface ScanRange extends IdRange {
  /** Default 100. */
  readonly limit?: number
  /** Entries for which it returns false are left out and do not count towards the limit. */
  readonly filter?: (entry: StoredEntry) => boolean
}

export interface ScanPage {
  readonly entries: readonly StoredEntry[]
  /** Pass it as `after` to continue; undefined when the range is exhausted. With a filter, nothing may follow after all. */
  readonly next?: string
  /** The position of the last change in the bucket; 0 if there never was one. */
  readonly version: Version
  readonly position: Position
}

export interface StoreQuery extends Query {
  /**
   * The names of the indexes that may be used for the result and give it tags; empty: the bucket is read by id. Absent: any. For
   * callers whose reads must not touch entries that they may not see.
   */
  readonly through?: readonly string[]
}

export interface IndexState extends IndexDeclaration {
  /** The commit that declared it. */
  readonly declaredAt: Position
  /** Queries use it only then. */
  readonly isReady: boolean
  /** How many of the older objects are in it, and how many there were when the build began. */
  readonly done: number
  readonly total: number
}

/** When the result of a query last changed, or may have. */
export interface QueryVersion {
  /** The same version means the same result: the highest position of what it depends on. */
  readonly version: Version
  readonly position: Position
  /** Only a write that carries one of these tags can change the result; 'bucket': any write to the bucket can. */
  readonly dependsOn: readonly Tag[] | 'bucket'
}

export interface QueryPage extends QueryVersion {
  readonly entries: readonly StoredEntry[]
  /** Pass it as `after` to continue; undefined when nothing follows. */
  readonly next?: string
  readonly plan: QueryPlan
  /** How many entries were looked at. */
  readonly examined: number
}

export interface BucketChange {
  readonly bucket: Key
  readonly version: Version
}

export interface Commit {
  /** Must still hold: the version of a key, or 0 for an absent one. */
  readonly reads?: readonly ReadVersion[]
  /** Ranges of buckets that must not have changed. */
  readonly lists?: readonly ReadList[]
  /** No key twice. Empty: no position is taken; the result is a position at which all reads and lists hold, or the conflicts. */
  readonly writes: readonly Write[]
  /** Additions to counters: no key twice, nor one that is written. Changes like any other. */
  readonly adds?: readonly Addition[]
  /**
   * With it, the commit takes effect once, however often it is sent. If it changes nothing, that is remembered too, so that a
   * late copy does not do what was refused.
   */
  readonly operation?: Operation
  /** A hint, which a store may ignore: it changes when a commit is validated, never its result. */
  readonly lease?: LeaseAsk
}

/** For keys that many want to write at once: asks to be the next who may. Designed in `transactions/lease-queue.ts`. */
export interface LeaseAsk {
  /** The lease that this commit was made under, which ends with it. */
  readonly id?: string
  /** If the commit is refused: lease the changed keys and those it writes, for this long. The answer waits for the lease. */
  readonly ms?: number
  /** At most these keys are leased. */
  readonly keys: readonly Key[]
}

/** Until it is used, or its time is over, others that would write these keys wait. */
export interface GrantedLease {
  readonly id: string
  readonly ms: number
  /** How long the answer has waited for others. */
  readonly waitedMs: number
  readonly keys: readonly Key[]
}

export interface ReadVersion {
  readonly key: Key
  readonly version: Version
}

/** Nothing in this range of a bucket was written after this version of it. */
export interface ReadList extends IdRange {
  readonly bucket: Key
  readonly version: Version
  /** The last id of the range, inclusive. */
  readonly through?: string
  /**
   * Only writes that carry one of these tags count; the range does not matter. A tag does not hold if its index is no longer
   * declared, or was declared after this version.
   */
  readonly tags?: readonly Tag[]
}

export type Write = PutWrite | DeleteWrite

export interface PutWrite {
  readonly key: Key
  readonly contentType: string
  /** The store takes ownership. */
  readonly body: Uint8Array
  /**
   * Only with a bucket's own key: the indexes it has from this commit on. Absent: unchanged. An index that keeps its name and
   * its fields is kept. Deleting the bucket's own record removes them all.
   */
  readonly indexes?: readonly IndexDeclaration[]
}

/** Deleting an absent key is a change like any other. */
export interface DeleteWrite {
  readonly key: Key
  readonly delete: true
}

export type CommitResult =
  | {
      readonly committed: true
      readonly position: Position
      /** The new values of the counters, in the order of `adds`; absent if the commit has no additions. */
      readonly units?: readonly number[]
      /** The operation was done before: all members are from then, and `note` was given with it. */
      readonly replayed?: { readonly note: string }
    }
  /** The reads that no longer hold, with the versions that do. */
  | {
      readonly committed: false
      readonly conflicts: readonly ReadVersion[]
      /** The buckets whose lists no longer hold, with their versions; absent if all lists hold. */
      readonly changedLists?: readonly ReadVersion[]
      /** If one was requested and granted; the conflicts may be from before it was. */
      readonly lease?: GrantedLease
      /** The counters that could not be added to. */
      readonly refusedAdds?: readonly CounterRefusal[]
      /** Why the operation was not even tried. */
      readonly refusedOperation?: OperationRefusal
    }

export interface LogEntry {
  readonly position: Position
  /**
   * The store's clock at the commit. Does not go back from one entry to the next. If it took longer than a second from then
   * until the commit was visible, the same keys are in a second entry, soon after, with a time at which it was visible.
   */
  readonly timeMs: number
  /** The keys that were written, added to or deleted. */
  readonly keys: readonly Key[]
  /** The tags of its writes: for each index, and each prefix of its fields, their values before and after. Each once. */
  readonly tags: readonly Tag[]
}
