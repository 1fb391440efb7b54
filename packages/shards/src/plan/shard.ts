/**
 * What a shard and the arbitrator's log must do for the coordinators: like `Store`, a contract that adapters keep. All methods
 * may be called at the same time, by several servers.
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
  /** For a write that moves rows instead of changing them. The placement of rows counts as a part of the schema. */
  readonly move?: Move
}

/** Moves rows with keys from `low` to before `high` from one shard to another. */
export interface Move {
  readonly from: string
  readonly to: string
  readonly low: number
  /** Null: no upper end. */
  readonly high: number | null
  /** Where rows are afterwards. */
  readonly placed: readonly PlacedShard[]
}

/** What a shard has to do for a move. */
export type MovePart =
  | { readonly kind: 'give'; readonly tables: ShardMap['sharded'] }
  | { readonly kind: 'take'; readonly rows: readonly TableRows[] }
  /** The shard neither gives nor takes these rows. */
  | { readonly kind: 'note' }

/** Rows of a table as text that the engine can insert again. */
export interface TableRows {
  readonly table: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly Cell[])[]
}

export interface ShardCopy extends ShardVersions {
  readonly tables: readonly TableRows[]
}

export interface CopyRequest {
  /** The tables, in this order; with their key columns, if not whole tables are wanted. */
  readonly tables: Readonly<Record<string, string | undefined>>
  readonly range?: Pick<Move, 'low' | 'high'>
  readonly timeoutMs: number
}

export interface ShardAnswer extends ShardRows, ShardVersions {}

export interface ShardRead {
  readonly statement: Statement
  /** The tables that it reads: their schema does not change during the read. */
  readonly tables: readonly string[]
  readonly timeoutMs: number
  /**
   * Called with the number of bytes that arrive, as they arrive. If it throws, reading stops, and the read fails with that error.
   */
  readonly onBytes?: (bytes: number) => void
}

export interface SnapshotRequest extends Pick<ShardRead, 'tables' | 'timeoutMs'> {
  /** How long it is held at most. Some time after that the engine releases a snapshot whose reader is stuck. */
  readonly heldMsMax: number
}

/** One state of a shard, in a read-only transaction that stays open until `close`. */
export interface ShardSnapshot extends ShardVersions {
  /** May be called once. Throws SHARD_UNAVAILABLE, SQL_INVALID, LIMIT_EXCEEDED. */
  query(statement: Statement, options: CursorOptions): Promise<ShardCursor>
  /** Ends the transaction, whatever is under way; calls that wait for rows then fail. May be called again. Never throws. */
  close(): Promise<void>
}

export interface CursorOptions {
  /** How long the next rows may take to arrive. */
  readonly timeoutMs: number
  /** How large the rows that are read ahead may be. */
  readonly bytesMax: number
}

/** Rows as they are requested. Only a few are read ahead: the engine waits. */
export interface ShardCursor {
  readonly types: readonly CellType[]
  /**
   * The next few rows; none if there are no more. Throws SHARD_UNAVAILABLE, also if they take too long; LIMIT_EXCEEDED if they
   * are too large.
   */
  next(): Promise<readonly (readonly Cell[])[]>
}

export interface ShardState extends ShardVersions {
  /** Why the next global write could not be applied, if it could not. */
  readonly obstacle?: string
  /** The shard waits to be filled: it has applied nothing, and has no rows. */
  readonly isWaiting: boolean
}

export interface Shard {
  readonly name: string
  readonly dialect: Dialect
  /**
   * Rows and versions from one snapshot, in a read-only transaction. Throws SHARD_UNAVAILABLE (down, or not answering in time),
   * SQL_INVALID (the engine refuses the statement), each with the shard's name.
   */
  read(read: ShardRead): Promise<ShardAnswer>
  /**
   * As `read`, for rows that are read piece by piece, from the same snapshot as the versions. Throws SHARD_UNAVAILABLE,
   * SQL_INVALID.
   */
  snapshot(request: SnapshotRequest): Promise<ShardSnapshot>
  /** The tables of the shard. */
  catalog(): Promise<Catalog>
  /** What its tables do by themselves when they are written to. */
  effects(): Promise<TableEffects>
  /** Throws SHARD_UNAVAILABLE, SHARD_UNUSABLE if `init` was never called. */
  state(): Promise<ShardState>
  /**
   * Applies the write if it is the next one, in one transaction with the versions and the position in the log; does nothing if it
   * was applied before. So any server may call it again, after any failure. Returns true if the write is applied now. If the
   * engine cannot change a schema within a transaction, the change is noted beforehand, and afterwards it is found out whether it
   * was done. Throws SHARD_UNAVAILABLE, GLOBAL_REFUSED (the engine refuses the write; this is noted as the obstacle).
   */
  apply(write: GlobalWrite, timeoutMs: number): Promise<boolean>
  /**
   * Does the write and undoes it. Throws GLOBAL_REFUSED if the engine refuses it. A schema change that could not be undone is
   * tried on a copy without rows.
   */
  rehearse(write: Omit<GlobalWrite, 'position'>, timeoutMs: number): Promise<void>
  /** All rows, or those with such keys, with the versions of the same snapshot. Throws SHARD_UNAVAILABLE, SHARD_UNUSABLE. */
  copy(request: CopyRequest): Promise<ShardCopy>
  /**
   * As `apply`, for a move: rows are taken or given away in the same transaction that records it. The caller must make sure that
   * rows were taken before they are given away. A refusal is noted as the obstacle.
   */
  applyMove(write: GlobalWrite, part: MovePart, timeoutMs: number): Promise<boolean>
  /** Does the move and undoes it. Throws SHARD_UNAVAILABLE, GLOBAL_REFUSED, SHARD_DRIFT. */
  rehearseMove(move: Move, part: MovePart, timeoutMs: number): Promise<void>
  /** Fills a shard that waits, with these tables and in the state of the shard that they are from. In one transaction. */
  fill(copy: ShardCopy, timeoutMs: number): Promise<void>
  /**
   * Whether it has applied the log up to there, and will have after a crash: an engine may show commits that are not on disk yet.
   */
  hasDurably(position: number): Promise<boolean>
  /** Whether a table has any row. Works even if `init` was never called. Throws SHARD_UNAVAILABLE, SHARD_UNUSABLE. */
  hasRows(table: string): Promise<boolean>
  /** The `count`-th largest key of a table in a range; undefined if there are fewer. */
  keyFromEnd(table: string, key: string, range: Pick<Move, 'low' | 'high'>, count: number): Promise<number | undefined>
  /** Creates the tables for versions; existing ones stay unchanged. `isWaiting`: the shard will be filled later. */
  init(options?: { readonly isWaiting?: boolean }): Promise<void>
  close(): Promise<void>
}

export interface Appended {
  readonly position: number
  /** The aspects, as the log has them. */
  readonly aspects: readonly string[]
  /** The log had it before, with the same id. */
  readonly isReplayed: boolean
}

export interface AppendOptions {
  /** An operation with the same id is appended once. */
  readonly id: string | undefined
  /** Equal for equal requests. */
  readonly fingerprint: string
  /** Appends only directly after this position. */
  readonly after?: number
}

export interface LogChanges {
  readonly head: number
  /** For each aspect that was written, the last position. */
  readonly aspects: ReadonlyMap<string, number>
}

/** The ordered, durable log of global writes. */
export interface GlobalLog {
  /**
   * Durable when it resolves. Throws SHARD_UNAVAILABLE, OPERATION_MISMATCHED (another write with the same id), SHARDS_UNSETTLED
   * (`after` is not the last position).
   */
  append(write: Omit<GlobalWrite, 'position'>, options: AppendOptions): Promise<Appended>
  /** The write that was appended with this id before, durably. Throws SHARD_UNAVAILABLE, OPERATION_MISMATCHED. */
  find(operation: { readonly id: string; readonly fingerprint: string }): Promise<Appended | undefined>
  /** The writes after a position, in order, without gaps, at most `limit`. */
  writesAfter(position: number, limit: number): Promise<readonly GlobalWrite[]>
  head(): Promise<number>
  /** The last position, and the aspects of all writes after another one. All of it is durable. */
  changesAfter(position: number): Promise<LogChanges>
  /** The placement of rows at a position; undefined if nothing was moved until then. */
  placedAt(position: number): Promise<readonly PlacedShard[] | undefined>
  /**
   * No server appends until it is released, or until this process is gone. Returns the last position. Throws SHARD_UNAVAILABLE.
   */
  hold(timeoutMs: number): Promise<{ readonly head: number; release(): Promise<void> }>
  /**
   * Whether this server is the one that brings shards up to date. It stays that until `resign`, or until its connection is gone.
   * Throws SHARD_UNAVAILABLE.
   */
  lead(): Promise<boolean>
  resign(): Promise<void>
  init(): Promise<void>
  close(): Promise<void>
}
