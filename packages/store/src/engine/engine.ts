/**
 * What the store needs of whatever keeps its data. `EngineStore` checks arguments, keeps leases and listeners, scans and
 * queries over a view, and waits for what is under way before it closes; so none of that is repeated in an engine.
 * docs/guides/add-an-engine.md shows how to write one.
 *
 * An engine is asked only with checked arguments, and never after `close`. The caller owns the bytes that it gets, and the
 * engine owns the bytes that it is given. A method that needs no waiting may answer at once instead of with a promise: the
 * read path is too hot to wait where there is nothing to wait for. Errors are those of docs/errors.md.
 *
 * An engine that can do one transaction at a time (`Database`) need not implement all of this: `DatabaseEngine` does.
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
  /** Where it is, for messages: without a password. */
  readonly place: string
  readonly supports: StoreSupports
  /** The id of its log. If it begins another one, `changes` and `begin` say so. */
  readonly log: string
  /** Whether commits wait for leases in this process; false if they wait elsewhere, or nowhere. */
  readonly hasLeases: boolean
  /** The engine calls them soon after a commit, its own or one of another process, has become visible. */
  readonly listeners: CommitListeners

  /** The latest durable value; with `atLeast`, a value from any state that includes this position, which was reported before. */
  get(key: Key, atLeast?: Position): MaybePromise<StoredValue | undefined>
  /**
   * Calls `read` with a view of one durable state, the latest or one that does not differ from it in what `subject` names.
   * An engine without snapshots may call it again with a later state. The view is good until `read` has ended.
   */
  inOneState<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result>
  /** In any order. */
  buckets(): Promise<BucketChange[]>

  /** Decides (`decide` of core), applies and appends to the log in one atomic step, which is durable when this resolves. */
  commit(commit: Commit): Promise<CommitResult>

  /** The position that a read would see now: not before any commit that was acknowledged. */
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

  /** First `stop`: no commit waits or begins any more. Then, when no read is under way, `close`. */
  stop?(): Promise<void>
  close(): Promise<void>
}

/** What a read is about. By it an engine may read ahead, or find a replica that is current in this. */
export interface Subject {
  /** Undefined: these keys are read. */
  readonly bucket?: Key
  readonly keys?: readonly Key[]
  /** Of the bucket; undefined: it is scanned, or its indexes are looked at. */
  readonly query?: StoreQuery
  /** How many entries of the bucket are expected to be read; 0: none, only versions and indexes. */
  readonly expected?: number
  /** The view is asked only once, so that any single read is of one state. */
  readonly isOneRead: boolean
}

/** Reads of one state. A value may be read only when it is first looked at, so look at it before `read` ends. */
export interface View {
  page(bucket: Key, range: KeyRange): MaybePromise<BucketPage>
  /** Of the keys, those that are there. */
  values(keys: readonly Key[]): MaybePromise<Snapshot<Values>>
  indexes(bucket: Key): MaybePromise<Snapshot<{ readonly indexes: readonly IndexRecord[]; readonly version: Version }>>
  /** By `tagKey`; a tag that is not there has version 0, or is left out. */
  tagVersions(tags: readonly string[]): MaybePromise<ReadonlyMap<string, Version>>
  /** Keys of index entries, from `low` up to, not including, `high`; behind `after` in the direction of reading. */
  entries(range: EntriesRange): MaybePromise<readonly Buffer[]>
}

/** As a Map has them. */
export interface Values {
  get(key: Key): StoredValue | undefined
}

/** A view of what is not at hand: every read waits. */
export type AsyncView = {
  [Name in Exclude<keyof View, 'values'>]: (...args: Parameters<View[Name]>) => Promise<Awaited<ReturnType<View[Name]>>>
} & { values(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> }

/** Of keys, in the order of their UTF-8 bytes; neither bound has a character 0. */
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
