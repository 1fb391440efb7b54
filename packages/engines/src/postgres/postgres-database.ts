/**
 * PostgreSQL as a `Database`. Four kinds of connections, each pipelined: one for all reads of a single statement, which also
 * listens for commits (LISTEN); one for transactions, one at a time; one for all other writes; and a few for reads of several
 * statements, as REPEATABLE READ transactions, each of which sees one state.
 *
 * A transaction takes two round trips: BEGIN, the lock of the head and all reads are sent together; once it is decided, all
 * writes and COMMIT. Each statement of READ COMMITTED sees what was committed before it began, so the statements after the
 * lock see everything up to the head's position.
 *
 * Nothing is visible before it is durable: with synchronous_commit on, a transaction is removed from the list of running
 * transactions only after its commit record is flushed (RecordTransactionCommit before ProcArrayEndTransaction,
 * src/backend/access/transam/xact.c; https://www.postgresql.org/docs/15/wal-async-commit.html).
 */

import type { BucketChange, Key, Position, StoredValue, Write } from '@freshet/core/store'
import type { Changes, Database, Head, HeadOfLog, LockedState, Needs } from '@freshet/store/database'
import { type AsyncView, EngineBusy, type LogPart, retrying, type View } from '@freshet/store/engine'
import { decodeNumbers, entriesUnder, indexPrefix } from '@freshet/store/indexes'
import type pg from 'pg'
import { entriesOf } from '../sql/log-rows.js'
import { StateLines } from '../sql/state-lines.js'
import type { ExposedTable } from '../sql/tables/exposed-table.js'
import { SharedTables } from '../sql/tables/shared-tables.js'
import { texts } from './arrays.js'
import { BEGIN, lockAndRead } from './locked-state.js'
import type { PostgresConnection, Row } from './postgres-connection.js'
import { type Ask, readState, type StandbyLines, toHead, toValues, viewOf } from './postgres-views.js'
import { writesOf } from './postgres-writes.js'
import type { StatementName } from './statements.js'
import { isAboutNames, type TableWrites, toRefusal, writesOf as writesToTable } from './tables/table-writes.js'

const DELETE_MAX = 1000
/** How long to wait for a row that another program has locked: during the wait no server can commit. */
const ROW_WAIT_MS = 250

export interface PostgresDatabaseOptions extends StandbyLines {
  /** For transactions. */
  readonly writes: PostgresConnection
  /** For all other writes: on the connection for transactions, a rollback would undo them. */
  readonly others: PostgresConnection
  /** The channel of notifications. */
  readonly channel: string
  readonly waitMsMax: number
  /** Called after a statement about tables that are buckets has failed. */
  readonly describeTablesAgain: () => Promise<void>
}

export class PostgresDatabase implements Database {
  readonly place: string
  readonly #options: PostgresDatabaseOptions
  readonly view: AsyncView
  readonly #states: StateLines<PostgresConnection>
  #tables = new SharedTables('')
  #sharesTables = false

  constructor(options: PostgresDatabaseOptions) {
    this.place = options.place
    this.#options = options
    this.#states = new StateLines(options.states)
    this.view = viewOf((name, values) => this.#read(name, values))
  }

  latest(keys: readonly Key[]): Promise<ReadonlyMap<Key, StoredValue>> {
    return this.#read('lockedValues', [texts(keys)]).then(toValues)
  }

  async buckets(): Promise<BucketChange[]> {
    return (await this.#read('buckets')).map(([bucket, version]) => ({ bucket, version }) as BucketChange)
  }

  async isTable(bucket: Key): Promise<boolean> {
    return (await this.#read('tables')).some(
      ([record]) => (JSON.parse(record as string) as ExposedTable).bucket === bucket,
    )
  }

  get sharesTables(): boolean {
    return this.#sharesTables
  }

  async head(): Promise<HeadOfLog> {
    const [row] = await this.#read('head')
    this.#sharesTables = row![4] as boolean
    return { ...toHead(row!), isPending: row![3] as boolean, log: row![5] as string }
  }

  async changes(after: Position, batches: number): Promise<LogPart> {
    const rows = await this.#read('changes', [after, batches])
    const [log, trimmedTo] = rows[0] as [string, Position]
    const entries = entriesOf(
      rows.map(row => row.slice(2)),
      after,
    )
    return { log, trimmedTo, entries }
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    return (await this.#read('recall', [name]))[0]?.[0] as Buffer | undefined
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    await this.#again(() => this.#options.others.rows('remember', [name, value]))
  }

  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    const rows = await this.#again(() => this.#options.others.rows('hold', [name, holder, ms]))
    return rows.length === 1
  }

  async trim(upTo: Position): Promise<void> {
    const { others } = this.#options
    await this.#again(() => others.rows('trim', [upTo]))
    // `trim` has moved the beginning of the log, so no reader needs these.
    await this.#whileMany(() => others.rows('deleteTrimmed', [DELETE_MAX]))
  }

  async forgetOperations({ clientsMs, foreignMs }: { clientsMs: number; foreignMs: number }): Promise<void> {
    const { others } = this.#options
    await this.#whileMany(() => others.rows('forgetClients', [clientsMs, DELETE_MAX]))
    await this.#whileMany(() => others.rows('forgetForeign', [foreignMs, DELETE_MAX]))
  }

  async countOperations(): Promise<{ clients: number; foreign: number; diskBytes: number }> {
    const [clients, foreign, diskBytes] = (await this.#read('countOperations'))[0] as [number, number, number]
    return { clients, foreign, diskBytes }
  }

  async unfinishedIndexes(): Promise<{ buckets: readonly Key[]; dropped: readonly number[] }> {
    const [numbers, buckets] = (await this.#read('unfinished'))[0] as [string, string[]]
    return { buckets, dropped: decodeNumbers(Buffer.from(numbers)).dropped }
  }

  async removeEntries(index: number, limit: number): Promise<number> {
    const { low, high } = entriesUnder(indexPrefix(index))
    const rows = await this.#again(() => this.#options.others.rows('removeEntries', [low, high, limit]))
    return rows.length
  }

  async inOneState<Result>(read: (view: View) => Promise<Result>): Promise<Result> {
    return this.#states.use(line => this.#again(() => readState(line, read)))
  }

  async transact(
    needs: Needs,
    nowMs: number,
    decide: (state: LockedState) => Promise<Changes | undefined>,
  ): Promise<void> {
    const { writes } = this.#options
    const client = await writes.connected()
    const ask: Ask = (name, values) => writes.rowsOn(client, name, values)
    try {
      const { state, engineMs, taken, tablesText } = await lockAndRead(writes, client, ask, needs, nowMs, this.#tables)
      if (tablesText !== this.#tables.text) {
        this.#tables = new SharedTables(tablesText)
        throw new EngineBusy(new Error('The list of tables that are buckets has changed.'))
      }
      const changes = await decide(state)
      if (changes !== undefined) await this.#write(client, changes, engineMs, state.incoming.writes)
      // Not COMMIT, unless notes were taken: it would flush the lock to the disk.
      else if (taken === 0) writes.command(client, 'ROLLBACK').catch(() => {})
      else await writes.command(client, 'COMMIT', true)
    } catch (error) {
      // If the transaction is already gone, an error of ROLLBACK does not matter.
      writes.command(client, 'ROLLBACK').catch(() => {})
      if (this.#tables.isEmpty || !isAboutNames(error)) throw error
      // Another program has dropped or renamed columns, or a table.
      await this.#options.describeTablesAgain().catch(() => {
        throw error
      })
      this.#tables = new SharedTables('')
      throw new EngineBusy(error)
    }
  }

  async isCommitted(position: Position, batch: string): Promise<boolean | undefined> {
    const { writes } = this.#options
    const client = await writes.connected()
    const answers = await Promise.all([
      writes.command(client, BEGIN),
      writes.rowsOn(client, 'lock'),
      writes.rowsOn(client, 'isCommitted', [position, batch]),
      writes.command(client, 'COMMIT'),
    ])
    const [isThere, isDecidable] = answers[2][0] as [boolean, boolean]
    return isThere || isDecidable ? isThere : undefined
  }

  async tick(nowMs: number): Promise<Head> {
    const { writes } = this.#options
    const client = await writes.connected()
    // No wait for the disk: if this is lost, the clock continues from the times in the log.
    const answers = await Promise.all([
      writes.command(client, `${BEGIN}; SET LOCAL synchronous_commit = off`),
      writes.rowsOn(client, 'lock'),
      writes.rowsOn(client, 'tick', [nowMs]),
      writes.command(client, 'COMMIT'),
    ])
    return toHead(answers[2][0]!)
  }

  async close(): Promise<void> {
    const { reads, writes, others, states } = this.#options
    await Promise.all([reads, writes, others, ...states].map(line => line.close()))
  }

  async #write(client: pg.Client, changes: Changes, engineMs: number, taken: readonly Write[]): Promise<void> {
    const { writes, channel } = this.#options
    const toTables = this.#tables.isEmpty ? [] : this.#tables.changesOf(changes.values, taken).map(writesToTable)
    if (toTables.length > 0) await this.#writeTables(client, toTables)
    const sent = writesOf(changes, engineMs, channel).map(([name, values]) => writes.rowsOn(client, name, values, true))
    const committing = writes.command(client, 'COMMIT', true).catch(error => {
      // Deferred constraints.
      throw toTables.length > 0 ? toRefusal(toTables[0]!.table, error) : error
    })
    const outcomes = await Promise.allSettled([...sent, committing])
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    if ((await committing) !== 'COMMIT') throw new EngineBusy(new Error('The transaction was rolled back.'))
  }

  /** Rows to put come first, in the order in which the tables were first written to; then rows to remove, in reverse order. */
  async #writeTables(client: pg.Client, toTables: readonly TableWrites[]): Promise<void> {
    const { writes } = this.#options
    const run = (kind: 'put' | 'remove') => (each: TableWrites) =>
      each.statements
        .filter(({ name }) => name.startsWith(kind))
        .map(async statement =>
          writes.rowsOfText(client, statement).catch(error => Promise.reject(toRefusal(each.table, error))),
        )
    const limiting = writes.command(client, `SET LOCAL lock_timeout = ${ROW_WAIT_MS}`)
    const sent = [limiting, ...toTables.flatMap(run('put')), ...toTables.toReversed().flatMap(run('remove'))]
    const settling = toTables.map(({ settling }) => writes.rowsOfText(client, settling))
    const outcomes = await Promise.allSettled([...sent, ...settling])
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    for (const [row] of await Promise.all(settling)) {
      if (row![0] === true)
        throw new EngineBusy(new Error('Another program has changed the same rows in the meantime.'))
    }
  }

  #read(name: StatementName, values?: unknown[]): Promise<readonly Row[]> {
    const { reads } = this.#options
    return this.#again(() => reads.rows(name, values))
  }

  /** Only for work that may be repeated. */
  #again<Result>(work: () => Promise<Result>): Promise<Result> {
    return retrying(this.#options, work)
  }

  async #whileMany(remove: () => Promise<readonly Row[]>): Promise<void> {
    while ((await this.#again(remove)).length === DELETE_MAX);
  }
}
