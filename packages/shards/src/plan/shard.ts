/**
 * What a shard and the arbitrator's log must do, for whoever coordinates: like `Store`, a contract that adapters keep. All
 * methods may be called at the same time, by several servers.
 */
import type { Catalog } from './catalog.js'
import type { Cell, CellType } from './final-expression.js'
import type { ParameterValue } from './locality.js'
import type { ShardRows } from './merge-rows.js'
import type { Statement } from './render-sql.js'
import type { Dialect, PlacedShard, ShardMap } from './shard-map.js'
import type { TableEffects } from './table-effects.js'
import type { ShardVersions } from './version-matrix.js'

/** One global write, as the log has it. */
export interface GlobalWrite {
  /** From 1, without gaps. */
  readonly position: number
  readonly text: string
  readonly values: readonly ParameterValue[]
  /** The tables that it changes. */
  readonly aspects: readonly string[]
  readonly isSchemaChange: boolean
  /** It changes no rows but moves some. Where rows are counts as a part of the schema. */
  readonly move?: Move
}

/** Rows with keys from `low` to before `high` go from one shard to another. */
export interface Move {
  readonly from: string
  readonly to: string
  readonly low: number
  /** Null: to the end. */
  readonly high: number | null
  /** Where rows are afterwards. */
  readonly placed: readonly PlacedShard[]
}

/** What a shard has to do for a move. */
export type MovePart =
  | { readonly kind: 'give'; readonly tables: ShardMap['sharded'] }
  | { readonly kind: 'take'; readonly rows: readonly TableRows[] }
  /** It is none of its rows. */
  | { readonly kind: 'note' }

/** Rows of a table as text, such as the engine takes them in again. */
export interface TableRows {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

export interface ShardCopy extends ShardVersions {
  readonly tables: readonly TableRows[]
}

export interface CopyRequest {
  /** With their keys, if not whole tables are wanted; in this order. */
  readonly tables: Readonly<Record<string, string | undefined>>
  readonly range?: Pick<Move, 'low' | 'high'>
  readonly timeoutMs: number
}

export interface ShardAnswer extends ShardRows, ShardVersions {}

export interface ShardRead {
  readonly statement: Statement
  /** The tables that it reads: nobody changes their schema meanwhile. */
  readonly tables: readonly string[]
  readonly timeoutMs: number
  /** Is told of all bytes that come, as they come. If it throws, no more are read, and the read fails with that. */
  readonly onBytes?: (bytes: number) => void
}

export interface SnapshotRequest extends Pick<ShardRead, 'tables' | 'timeoutMs'> {
  /** So long it will be held, at most: who does not read, and cannot be told, is let go of by the engine some time after that. */
  readonly heldMsMax: number
}

/** One state of a shard, in a read-only transaction that is open until it is closed. */
export interface ShardSnapshot extends ShardVersions {
  /** May be called once. Throws SHARD_UNAVAILABLE, SQL_INVALID, LIMIT_EXCEEDED. */
  query(statement: Statement, options: CursorOptions): Promise<ShardCursor>
  /** Ends the transaction, whatever is under way; what waits for rows then fails. May be called again. Never throws. */
  close(): Promise<void>
}

export interface CursorOptions {
  /** So long the next rows may take to come. */
  readonly timeoutMs: number
  /** So large they may be, of those that are read ahead. */
  readonly bytesMax: number
}

/** Rows as they are asked for. A few are read ahead, and no more: it is the engine that waits. */
export interface ShardCursor {
  readonly types: readonly CellType[]
  /** The next few; none: there are no more. Throws SHARD_UNAVAILABLE, also if they take too long; LIMIT_EXCEEDED if they are too large. */
  next(): Promise<readonly (readonly Cell[])[]>
}

export interface ShardState extends ShardVersions {
  /** Why the next global write could not be applied, if that is so. */
  readonly obstacle?: string
  /** It is not one of the others yet: nothing was applied, and it has no rows. */
  readonly isWaiting: boolean
}

export interface Shard {
  readonly name: string
  readonly dialect: Dialect
  /**
   * Rows and versions from one snapshot, in a read-only transaction. Throws SHARD_UNAVAILABLE (gone, or not answering in time),
   * SQL_INVALID (the engine refuses the statement), each with the shard's name.
   */
  read(read: ShardRead): Promise<ShardAnswer>
  /** Like `read`, for rows that are read piece by piece, from the snapshot that the versions are of. Throws SHARD_UNAVAILABLE, SQL_INVALID. */
  snapshot(request: SnapshotRequest): Promise<ShardSnapshot>
  /** The tables there are. */
  catalog(): Promise<Catalog>
  /** What its tables do by themselves when they are written to. */
  effects(): Promise<TableEffects>
  /** Throws SHARD_UNAVAILABLE, SHARD_UNUSABLE if `init` was never called. */
  state(): Promise<ShardState>
  /**
   * Applies it if it is the next one, in one transaction with the versions and the place in the log; does nothing if it was
   * applied before. So it may be called again, by anybody, after any failure. True if it is applied now. Where the engine
   * cannot change a schema within a transaction it is noted beforehand, and found out afterwards whether it was done.
   * Throws SHARD_UNAVAILABLE, GLOBAL_REFUSED (the engine refuses it; this is noted as the obstacle).
   */
  apply(write: GlobalWrite, timeoutMs: number): Promise<boolean>
  /** Does it and undoes it. Throws GLOBAL_REFUSED if the engine refuses it. Where a schema change could not be undone it is tried on a copy without rows. */
  rehearse(write: Omit<GlobalWrite, 'position'>, timeoutMs: number): Promise<void>
  /** All rows, or those with such keys, with the versions of the same snapshot. Throws SHARD_UNAVAILABLE, SHARD_UNUSABLE. */
  copy(request: CopyRequest): Promise<ShardCopy>
  /**
   * Like `apply`, for a move: rows are taken or given away in the transaction that says so. Whoever calls it takes care that rows
   * were taken before they are given away. What is in the way is noted as the obstacle.
   */
  applyMove(write: GlobalWrite, part: MovePart, timeoutMs: number): Promise<boolean>
  /** Does it and undoes it. Throws SHARD_UNAVAILABLE, GLOBAL_REFUSED, SHARD_DRIFT. */
  rehearseMove(move: Move, part: MovePart, timeoutMs: number): Promise<void>
  /** Makes a shard that waits one of the others, in the state of the one that these tables are from. In one transaction. */
  fill(copy: ShardCopy, timeoutMs: number): Promise<void>
  /** Whether it has applied the log up to there, and will have after a crash: an engine may show what is not on disk yet. */
  hasDurably(position: number): Promise<boolean>
  /** Whether a table has any row. Answers also where `init` was never called. Throws SHARD_UNAVAILABLE, SHARD_UNUSABLE. */
  hasRows(table: string): Promise<boolean>
  /** The `count`-th largest key of a table in a range; undefined if there are fewer. */
  keyFromEnd(table: string, key: string, range: Pick<Move, 'low' | 'high'>, count: number): Promise<number | undefined>
  /** Creates the tables that versions are kept in; those that are there are left as they are. `isWaiting`: it is to be filled. */
  init(options?: { readonly isWaiting?: boolean }): Promise<void>
  close(): Promise<void>
}

export interface Appended {
  readonly position: number
  /** As the log has them. */
  readonly aspects: readonly string[]
  /** It was there before, under the same id. */
  readonly isReplayed: boolean
}

export interface AppendOptions {
  /** An operation with the same id is appended once. */
  readonly id: string | undefined
  /** The same for the same request. */
  readonly fingerprint: string
  /** Only as the next one after this position. */
  readonly after?: number
}

export interface LogChanges {
  readonly head: number
  /** Of each aspect that was written, the last position. */
  readonly aspects: ReadonlyMap<string, number>
}

/** The ordered, durable log of global writes. */
export interface GlobalLog {
  /** Durable when it resolves. Throws SHARD_UNAVAILABLE, OPERATION_MISMATCHED (another write under the same id), SHARDS_UNSETTLED (`after` is not the last). */
  append(write: Omit<GlobalWrite, 'position'>, options: AppendOptions): Promise<Appended>
  /** What was appended under this id before, durably. Throws SHARD_UNAVAILABLE, OPERATION_MISMATCHED. */
  find(operation: { readonly id: string; readonly fingerprint: string }): Promise<Appended | undefined>
  /** Those after a position, in order, without gaps, at most `limit`. */
  writesAfter(position: number, limit: number): Promise<readonly GlobalWrite[]>
  head(): Promise<number>
  /** The last position, and the aspects of all writes after another one. All of it is durable. */
  changesAfter(position: number): Promise<LogChanges>
  /** Where rows are as of a position; undefined: nothing was moved until then. */
  placedAt(position: number): Promise<readonly PlacedShard[] | undefined>
  /** Nobody appends until it is released, or until this process is gone. Gives the last position. Throws SHARD_UNAVAILABLE. */
  hold(timeoutMs: number): Promise<{ readonly head: number; release(): Promise<void> }>
  /** Whether this server is the one that brings shards up to date. Held until `resign`, or until its connection is gone. Throws SHARD_UNAVAILABLE. */
  lead(): Promise<boolean>
  resign(): Promise<void>
  init(): Promise<void>
  close(): Promise<void>
}
