/**
 * What the store needs of an engine, which keeps its data. `EngineStore` checks arguments, keeps leases and listeners, scans
 * and queries over a view, and waits for work under way before it closes; so engines repeat none of that.
 * docs/guides/add-an-engine.md shows how to write one.
 *
 * An engine is called only with checked arguments, and never after `close`. The caller owns the bytes that it receives, and
 * the engine owns the bytes that it is given. A method that need not wait may return its result directly instead of a
 * promise: the read path is too hot for needless promises. Errors are those of docs/errors.md.
 *
 * An engine that handles one transaction at a time (`Database`) need not implement all of this: `DatabaseEngine` does.
 */
import type { IndexRecord } from '@freshet/core/commit'
import type {
  BucketChange,
  Commit,
  CommitResult,
  Key,
  LogEntry,
  MaybePromise,
  OperationCounts,
  Position,
  ReadCount,
  Snapshot,
  StoredValue,
  StoreNode,
  StoreQuery,
  StoreSupports,
  Version,
} from '@freshet/core/store'
import type { CommitListeners } from './commit-listeners.js'

export interface Engine {
  /** Where it is, for messages; without a password. */
  readonly place: string
  readonly supports: StoreSupports
  /** The id of its log. If it begins another log, `changes` and `begin` report that. */
  readonly log: string
  /** Whether commits wait for leases in this process; false if they wait elsewhere, or nowhere. */
  readonly hasLeases: boolean
  /** The engine calls them soon after a commit, of this process or of another, has become visible. */
  readonly listeners: CommitListeners

  /** The latest durable value. With `atLeast`: a value from any state that includes this position, which was reported earlier. */
  get(key: Key, atLeast?: Position): MaybePromise<StoredValue | undefined>
  /**
   * Calls `read` with a view of one durable state: the latest, or one that equals it in everything that `subject` names. An
   * engine without snapshots may call `read` again with a later state. The view is valid until `read` has ended.
   */
  inOneState<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result>
  /** In any order. */
  buckets(): Promise<BucketChange[]>

  /**
   * Decides (`decide` of core), applies and appends to the log in one atomic step, which is durable when the promise
   * resolves.
   */
  commit(commit: Commit): Promise<CommitResult>

  /** The position that a read would see now; it includes every acknowledged commit. */
  position(): MaybePromise<Position>
  /** Entries of the log after a position, in order; at least `limit` of them, or all. */
  changes(after: Position, limit: number): MaybePromise<LogPart>
  /** Where the log begins. */
  begin(): MaybePromise<LogBegin>
  /** As `Store.trim`. */
  trim(upTo: Position): Promise<void>
  /** As `Store.nowMs`; never before the time of an entry of the log that this process has read. */
  nowMs(): number

  /** Durable when resolved. */
  remember(name: string, value: Uint8Array): Promise<void>
  recall(name: string): MaybePromise<Uint8Array | undefined>
  /** As `Store.hold`. */
  hold(name: string, holder: string, ms: number): MaybePromise<boolean>
  forgetOperations(): Promise<void>
  operationCounts(): MaybePromise<OperationCounts>

  /** See `Store`. */
  isTable?(bucket: Key): Promise<boolean>
  readCounts?(): readonly ReadCount[]
  nodes?(): readonly StoreNode[]

  /** Call `stop` first: from then on no commit waits or begins. Call `close` when no read is under way. */
  stop?(): Promise<void>
  close(): Promise<void>
}

/** What a read is about. From this an engine may read ahead, or find a replica that is current for it. */
export interface Subject {
  /** Undefined: these keys are read. */
  readonly bucket?: Key
  readonly keys?: readonly Key[]
  /** A query of the bucket; undefined: the bucket is scanned, or its indexes are read. */
  readonly query?: StoreQuery
  /** How many entries of the bucket are expected to be read; 0: none, only versions and indexes. */
  readonly expected?: number
  /** The view is used for one read only, so it is enough that each single read is of one state. */
  readonly isOneRead: boolean
}

/** Reads of one state. A value may be loaded when it is first accessed, so access it before `read` ends. */
export interface View {
  page(bucket: Key, range: KeyRange): MaybePromise<BucketPage>
  /** The values of those keys that exist. */
  values(keys: readonly Key[]): MaybePromise<Snapshot<Values>>
  indexes(bucket: Key): MaybePromise<Snapshot<{ readonly indexes: readonly IndexRecord[]; readonly version: Version }>>
  /** By `tagKey`; a tag that does not exist has version 0, or is left out. */
  tagVersions(tags: readonly string[]): MaybePromise<ReadonlyMap<string, Version>>
  /** Keys of index entries from `low` to `high`, which is excluded; beyond `after` in the direction of reading. */
  entries(range: EntriesRange): MaybePromise<readonly Buffer[]>
}

/** The part of `Map` that a reader of values needs. */
export interface Values {
  get(key: Key): StoredValue | undefined
}

/** A view of remote data: every read waits. */
export type AsyncView = {
  [Name in Exclude<keyof View, 'values'>]: (...args: Parameters<View[Name]>) => Promise<Awaited<ReturnType<View[Name]>>>
} & { values(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> }

/** A range of keys, in the order of their UTF-8 bytes; neither bound contains the character 0. */
export interface KeyRange {
  readonly low: Bound
  readonly high: Bound
  readonly isDescending: boolean
  readonly limit: number
}

export interface Bound {
  readonly key: Key
  readonly isIncluded: boolean
}

export interface KeyedValue extends StoredValue {
  readonly key: Key
}

export interface BucketPage {
  readonly values: readonly KeyedValue[]
  readonly version: Version
  readonly position: Position
}

export interface EntriesRange {
  readonly low: Buffer
  readonly high: Buffer
  readonly after: Buffer | undefined
  readonly isDescending: boolean
  readonly limit: number
}

export interface LogBegin {
  /** The id of the log. */
  readonly log: string
  /** The position that the log begins after. */
  readonly trimmedTo: Position
}

export interface LogPart extends LogBegin {
  readonly entries: readonly LogEntry[]
}
