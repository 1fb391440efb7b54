/** What differs between the engines that shards run on. */
import type { Catalog, Dialect, TableEffects } from '../plan/index.js'
import type { Session, SessionPool } from './session-pool.js'

/** Whoever holds a long read lets go of it by itself before the engine does. */
export const LONG_READ_MARGIN_MS = 60_000

export interface SchemaSteps {
  /** All that is known of how tables are made: the same as long as nobody changes it. */
  describeTables(session: Session, tables: readonly string[]): Promise<string>
  /** That a text is a statement the engine knows, and would do to these tables as far as it can be told, without doing it. */
  check(session: Session, text: string, tables: readonly string[]): Promise<void>
}

/** How a column is read so that nothing is lost, and written again; with a question mark. */
export interface CopiedColumn {
  readonly name: string
  readonly read: string
  readonly write: string
}

/** A column of text of which only the same bytes are equal. */
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
  /** Where a change of a schema commits by itself, and is not undone with its transaction. */
  readonly schemaSteps?: SchemaSteps
  /** For a transaction that sees one state, and changes nothing. */
  readonly beginRead: string
  /** After that, for one that is open for longer: what makes the engine put up with a slow reader for so long, and not much longer. */
  prepareLongRead(heldMsMax: number): string
  /** So that nobody changes their schema until the transaction ends; before the snapshot is taken. */
  lockSchemas(tables: readonly string[]): string
  readonly beginWrite: string
  /** `(aspect, version)`, whether it is there or not. */
  upsertVersion(): string
  /** Our own statements are written with question marks. */
  spell(text: string): string
  /** For text of any length. */
  readonly textType: string
  /** A type of text of which only the same bytes are equal. */
  exactText(type: string): string
  /** Makes columns of a table of our own so, if they were created when these were like the database's other ones. */
  makeExact?(session: Session, table: string, columns: readonly ExactColumn[]): Promise<void>
  /** Behind the columns of a table of our own: it must have transactions, whatever the server's default. */
  readonly tableOptions: string
  readCatalog(session: Session): Promise<Catalog>
  readEffects(session: Session): Promise<TableEffects>
  /** The columns that a row consists of, without those that are computed. */
  copiedColumns(session: Session, table: string): Promise<readonly CopiedColumn[]>
  /** Beside the columns of an INSERT of rows as they are, keys that the engine gives included. */
  readonly insertAsIs: string
  /** A lock by a name, held by the session until it gives it back or ends. `waitS` 0: now or not at all. */
  tryLock(session: Session, name: string, waitS: number): Promise<boolean>
  unlock(session: Session, name: string): Promise<void>
  /** How long a session waits for a row that another has locked. */
  lockWait(waitMs: number): string
  /** Says what the engine has against a statement; undefined: the connection is gone, or it is busy, and another try may do. */
  refusal(error: unknown): string | undefined
}
