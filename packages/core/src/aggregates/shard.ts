/**
 * What a shard and the arbitrator's log must do, for whoever coordinates: like `Store`, a contract that adapters keep. All
 * methods may be called at the same time, by several servers.
 */
import type { Catalog } from './catalog.js'
import type { ParameterValue } from './locality.js'
import type { ShardRows } from './merge-rows.js'
import type { Statement } from './render-sql.js'
import type { Dialect } from './shard-map.js'
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
}

export interface ShardAnswer extends ShardRows, ShardVersions {}

export interface ShardRead {
  readonly statement: Statement
  /** The tables that it reads: nobody changes their schema meanwhile. */
  readonly tables: readonly string[]
  readonly timeoutMs: number
}

export interface ShardState extends ShardVersions {
  /** Why the next global write could not be applied, if that is so. */
  readonly obstacle?: string
}

export interface Shard {
  readonly name: string
  readonly dialect: Dialect
  /**
   * Rows and versions from one snapshot, in a read-only transaction. Throws SHARD_UNAVAILABLE (gone, or not answering in time),
   * SQL_INVALID (the engine refuses the statement), each with the shard's name.
   */
  read(read: ShardRead): Promise<ShardAnswer>
  /** The tables there are. */
  catalog(): Promise<Catalog>
  /** Throws SHARD_UNAVAILABLE, SHARD_UNUSABLE if `init` was never called. */
  state(): Promise<ShardState>
  /**
   * Applies it if it is the next one, in one transaction with the versions and the place in the log; does nothing if it was
   * applied before. So it may be called again, by anybody, after any failure. True if it is applied now. Where the engine
   * cannot change a schema within a transaction it is noted beforehand, and found out afterwards whether it was done.
   * Throws SHARD_UNAVAILABLE, GLOBAL_REFUSED (the engine refuses it; this is noted as the obstacle).
   */
  apply(write: GlobalWrite, timeoutMs: number): Promise<boolean>
  /** Does it and undoes it. Throws GLOBAL_REFUSED if the engine refuses it. A schema change is only parsed, where it could not be undone. */
  rehearse(write: Omit<GlobalWrite, 'position'>, timeoutMs: number): Promise<void>
  /** Creates the tables that versions are kept in; those that are there are left as they are. */
  init(): Promise<void>
  close(): Promise<void>
}

export interface Appended {
  readonly position: number
  /** It was there before, under the same id. */
  readonly isReplayed: boolean
}

export interface AppendOptions {
  /** An operation with the same id is appended once. */
  readonly id: string | undefined
  /** The same for the same request. */
  readonly fingerprint: string
}

export interface LogChanges {
  readonly head: number
  /** Of each aspect that was written, the last position. */
  readonly aspects: ReadonlyMap<string, number>
}

/** The ordered, durable log of global writes. */
export interface GlobalLog {
  /** Durable when it resolves. Throws SHARD_UNAVAILABLE, OPERATION_MISMATCHED (another write under the same id). */
  append(write: Omit<GlobalWrite, 'position'>, options: AppendOptions): Promise<Appended>
  /** Those after a position, in order, without gaps, at most `limit`. */
  writesAfter(position: number, limit: number): Promise<readonly GlobalWrite[]>
  head(): Promise<number>
  /** The last position, and the aspects of all writes after another one. All of it is durable. */
  changesAfter(position: number): Promise<LogChanges>
  /** Nobody appends until it is released, or until this process is gone. Gives the last position. Throws SHARD_UNAVAILABLE. */
  hold(timeoutMs: number): Promise<{ readonly head: number; release(): Promise<void> }>
  /** Whether this server is the one that brings shards up to date. Held until `resign`, or until its connection is gone. */
  lead(): Promise<boolean>
  resign(): Promise<void>
  init(): Promise<void>
  close(): Promise<void>
}
