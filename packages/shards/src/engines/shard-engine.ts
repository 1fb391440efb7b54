/** What differs between the engines that shards run on. */
import type { Catalog, Dialect, TableEffects } from '../plan/index.js'
import type { Session, SessionPool } from './session-pool.js'

/** The engine ends a long read this much later than its holder should have ended it. */
export const LONG_READ_MARGIN_MS = 60_000

export interface SchemaSteps {
  /** The full definition of the tables: the same text as long as their schema does not change. */
  describeTables(session: Session, tables: readonly string[]): Promise<string>
  /** Checks, without doing it, that the engine knows the statement and, as far as can be known, would do it to these tables. */
  check(session: Session, text: string, tables: readonly string[]): Promise<void>
}

/** How a column is read without loss, and written again, with a question mark for the value. */
export interface CopiedColumn {
  readonly name: string
  readonly read: string
  readonly write: string
}

/** A text column in which only equal bytes are equal. */
export interface ExactColumn {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
}

export interface ShardEngine {
  readonly dialect: Dialect
  /** For messages; without the password. */
  readonly place: string
  readonly pool: SessionPool
  /** For engines in which a schema change commits by itself, and is not undone with its transaction. */
  readonly schemaSteps?: SchemaSteps
  /** Begins a transaction that sees one state, and changes nothing. */
  readonly beginRead: string
  /** After `beginRead`, for a longer transaction: makes the engine wait for a slow reader for this long, and not much longer. */
  prepareLongRead(heldMsMax: number): string
  /** Locks the schemas of the tables until the transaction ends. Sent before the snapshot is taken. */
  lockSchemas(tables: readonly string[]): string
  readonly beginWrite: string
  /** Inserts or updates `(aspect, version)`. */
  upsertVersion(): string
  /** Turns the question marks of our own statements into what the engine takes. */
  spell(text: string): string
  /** The type for text of any length. */
  readonly textType: string
  /** The text type in which only equal bytes are equal. */
  exactText(type: string): string
  /** Gives columns of our own tables that type, if they were created before with the default of the database. */
  makeExact?(session: Session, table: string, columns: readonly ExactColumn[]): Promise<void>
  /** Goes after the columns of our own tables: they must be transactional, whatever the server's default. */
  readonly tableOptions: string
  readCatalog(session: Session): Promise<Catalog>
  readEffects(session: Session): Promise<TableEffects>
  /** The columns of a row, without computed ones. */
  copiedColumns(session: Session, table: string): Promise<readonly CopiedColumn[]>
  /** Goes after the columns of an INSERT that keeps all values, including keys that the engine would give. */
  readonly insertAsIs: string
  /** Takes a named lock, which the session holds until it unlocks it or ends. `waitS` 0: does not wait. */
  tryLock(session: Session, name: string, waitS: number): Promise<boolean>
  unlock(session: Session, name: string): Promise<void>
  /** Limits how long a session waits for a row that another one has locked. */
  lockWait(waitMs: number): string
  /**
   * Why the engine refuses a statement; undefined if the connection is gone or the engine is busy, so that a retry may succeed.
   */
  refusal(error: unknown): string | undefined
}
