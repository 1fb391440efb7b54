/**
 * One connection to the file, with its settings and its statements, each prepared when it is first used. All methods are
 * synchronous, and throw the errors of the binding (`sqlite-errors.ts`).
 *
 * A commit is on disk when it is acknowledged, and no reader sees it earlier: with synchronous = FULL SQLite flushes the
 * write-ahead log, then writes the header of its index, which tells readers where the log ends (`sqlite3WalFrames`, then
 * `walIndexWriteHdr`, in wal.c; https://www.sqlite.org/pragma.html#pragma_synchronous). The binding's own default in WAL mode
 * is NORMAL, so each connection sets it.
 */
import { monotonicMs } from '@freshet/store/clock'
import { STATEMENTS, type StatementName, TIMED } from './statements.js'

export type Binding = typeof import('@photostructure/sqlite')
export type Value = string | number | null | Uint8Array
export type Row = readonly unknown[]

/** One statement, run once for each of these lists of parameters. */
export interface Step {
  readonly name: StatementName
  readonly each: readonly (readonly Value[])[]
}

type Database = InstanceType<Binding['DatabaseSync']>
type Statement = ReturnType<Database['prepare']>

/** A log file larger than this is truncated once it has been copied into the database. */
const LOG_FILE_BYTES_MAX = 64 * 1024 * 1024

export class Connection {
  readonly #database: Database
  readonly #statements = new Map<StatementName, Statement>()

  /** `isFlushed`: whether its commits are on disk when they return. */
  constructor({ DatabaseSync }: Binding, path: string, isFlushed: boolean) {
    this.#database = new DatabaseSync(path, { timeout: 0 })
    this.run(`
      PRAGMA synchronous = ${isFlushed ? 'FULL' : 'NORMAL'};
      PRAGMA fullfsync = ON;
      PRAGMA checkpoint_fullfsync = ON;
      PRAGMA journal_size_limit = ${LOG_FILE_BYTES_MAX};
      PRAGMA trusted_schema = OFF;
      PRAGMA cell_size_check = ON;
    `)
  }

  get isInTransaction(): boolean {
    return this.#database.isTransaction
  }

  rows(name: StatementName, ...values: readonly Value[]): readonly Row[] {
    return this.#prepared(name).all(...parametersOf(name, values)) as readonly Row[]
  }

  row(name: StatementName, ...values: readonly Value[]): Row | undefined {
    return this.#prepared(name).get(...parametersOf(name, values)) as Row | undefined
  }

  /** All rows of a step, over all its parameters. */
  step({ name, each }: Step): readonly Row[] {
    return each.length === 1 ? this.rows(name, ...each[0]!) : each.flatMap(values => this.rows(name, ...values))
  }

  /** Several reads of one state. */
  inOneState<Result>(read: () => Result): Result {
    if (this.isInTransaction) return read()
    this.rows('begin')
    try {
      return read()
    } finally {
      this.rows('commit')
    }
  }

  /** The value of a setting, or of any other query for a single value. */
  ask(sql: string): unknown {
    const statement = this.#database.prepare(sql)
    statement.setReturnArrays(true)
    return (statement.get() as Row | undefined)?.[0]
  }

  run(sql: string): void {
    this.#database.exec(sql)
  }

  rollBack(): void {
    if (this.isInTransaction) this.rows('rollback')
  }

  /** Copies the write-ahead log into the file and empties it, unless another connection is in the middle of a transaction. */
  emptyLog(): void {
    this.ask('PRAGMA wal_checkpoint(TRUNCATE)')
  }

  /** The binding finalizes statements when they are garbage-collected, and until then SQLite keeps the file open. */
  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }

  #prepared(name: StatementName): Statement {
    let statement = this.#statements.get(name)
    if (statement === undefined) {
      statement = this.#database.prepare(STATEMENTS[name])
      statement.setReturnArrays(true)
      this.#statements.set(name, statement)
    }
    return statement
  }
}

function parametersOf(name: StatementName, values: readonly Value[]): readonly Value[] {
  return TIMED.has(name) ? [monotonicMs(), ...values] : values
}

/** Undefined if the binding does not exist for this platform. */
export async function loadBinding(): Promise<Binding | undefined> {
  return import('@photostructure/sqlite').catch(() => undefined)
}
