/**
 * The records of exposed tables, read and written over a connection of their own.
 *
 * MariaDB commits with each statement that creates or drops something, so the record and the triggers cannot be created
 * together. Therefore the record says that the triggers are not complete yet (`phase`), and until then the table is not used:
 * nothing is taken from it, and nothing is written to it. A process that is killed in between leaves that state, and `freshet
 * tables` or the next server that starts (`finishTables`) continues from there.
 */
import { FreshetError } from '@freshet/protocol'
import type { Connection } from 'mariadb'
import { type ExposedTable, fullName } from '../../sql/tables/exposed-table.js'
import { SharedTables } from '../../sql/tables/shared-tables.js'
import { tableIsLocked, unsuitable } from '../../sql/tables/table-errors.js'
import { dialOne } from '../mariadb-connection.js'
import { addressOf } from '../mariadb-hosts.js'
import { settle } from '../settle.js'
import type { Statement } from '../statements.js'
import { describeTable } from './describe-table.js'
import { nameOf } from './row-sql.js'
import { createTriggers, findTriggers, noteAll, ownTable, type StorePlace, TRIGGERS } from './table-statements.js'

const LOCK_MS_MAX = 5000
const DIAL_MS_MAX = 10_000
const BUSY = [1205, 1213]
const MAY_NOT = [1044, 1142, 1227]
const MAY_NOT_CREATE = 1419

/** A connection to the database that a store is in. */
export interface TablesConnection {
  readonly connection: Connection
  readonly store: StorePlace
}

export async function connectTo(url: string, prefix: string): Promise<TablesConnection> {
  const { hosts, place } = addressOf(url)
  const options = { place, patienceMs: DIAL_MS_MAX, isOneOfSeveral: hosts.isSeveral }
  const connection = await hosts.first(async config => (await dialOne(config, options)).connection)
  await settle(connection, 'READ COMMITTED', LOCK_MS_MAX)
  const [[database]] = await connection.query('SELECT DATABASE()')
  return { connection, store: { database, prefix } }
}

async function during<Result>(
  url: string,
  prefix: string,
  work: (tables: TablesConnection) => Promise<Result>,
): Promise<Result> {
  const tables = await connectTo(url, prefix)
  try {
    return await work(tables)
  } finally {
    await tables.connection.end().catch(() => {})
  }
}

/** One caller at a time. False: another process holds the lock. */
export async function alone(
  { connection, store }: TablesConnection,
  waitMs: number,
  work: () => Promise<void>,
): Promise<boolean> {
  const name = `freshet tables ${store.database}`.slice(0, 64)
  const [[isLocked]] = await connection.query('SELECT GET_LOCK(?, ?)', [name, waitMs / 1000])
  if (isLocked !== 1) return false
  try {
    await work()
    return true
  } finally {
    await connection.query('DO RELEASE_LOCK(?)', [name]).catch(() => {})
  }
}

/** In a transaction that has locked the head. */
export async function underHead<Result>(
  { connection, store }: TablesConnection,
  work: () => Promise<Result>,
): Promise<Result> {
  return inTransaction(connection, async () => {
    await connection.query(`SELECT position FROM ${ownTable(store, 'head')} FOR UPDATE`)
    return work()
  })
}

async function inTransaction<Result>(connection: Connection, work: () => Promise<Result>): Promise<Result> {
  try {
    await connection.query('START TRANSACTION READ WRITE')
    const result = await work()
    await connection.query('COMMIT')
    return result
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => {})
    throw toTableError(error)
  }
}

export function toTableError(error: unknown): unknown {
  const { errno } = error as { readonly errno?: number }
  return BUSY.includes(errno ?? 0) ? tableIsLocked(error) : error
}

export async function readTables({ connection, store }: TablesConnection): Promise<readonly ExposedTable[]> {
  const rows: [Buffer][] = await connection.query(`SELECT record FROM ${ownTable(store, 'exposed')} ORDER BY number`)
  return new SharedTables(rows.map(([record]) => record.toString()).join('\n')).tables
}

export async function writeRecord({ connection, store }: TablesConnection, table: ExposedTable): Promise<void> {
  const values = [table.number, Buffer.from(table.bucket), Buffer.from(JSON.stringify(table))]
  await connection.query(`REPLACE INTO ${ownTable(store, 'exposed')} VALUES (?, ?, ?)`, values)
}

/**
 * Creates the triggers; then the table is used, and all its present rows are queued to be noted. A table that is already in
 * use stays in use meanwhile.
 */
export async function finishAdding(tables: TablesConnection, table: ExposedTable): Promise<ExposedTable> {
  const { connection, store } = tables
  const { phase: _, ...used } = table
  await dropStrayTriggers(tables, table)
  for (const trigger of createTriggers(store, table)) {
    // This waits until running writers of the table have committed: from then on, every change is noted.
    await connection.query(trigger).catch(error => Promise.reject(toTriggerError(table, error)))
  }
  await underHead(tables, async () => {
    await writeRecord(tables, used)
    await noteSoon(tables, used)
  })
  return used
}

function toTriggerError(table: ExposedTable, error: unknown): unknown {
  const { errno, sqlMessage } = error as { readonly errno?: number; readonly sqlMessage?: string }
  if (MAY_NOT.includes(errno ?? 0))
    return unsuitable(nameOf(table), `the database reports: ${sqlMessage}. Grant that privilege`, error)
  if (errno !== MAY_NOT_CREATE) return toTableError(error)
  const why =
    'this user may not create triggers while there is a binary log. Set log_bin_trust_function_creators to 1, or grant it SUPER'
  return unsuitable(nameOf(table), why, error)
}

/** Runs in the transaction that makes the notes necessary, so that some server will write them in any case. */
async function noteSoon({ connection, store }: TablesConnection, { number }: ExposedTable): Promise<void> {
  await connection.query(`INSERT IGNORE INTO ${ownTable(store, 'unnoted')} VALUES (?)`, [number])
}

/**
 * Notes the rows of all queued tables, except those that another process is noting. Blocks no other program. Returns how many
 * rows.
 */
export async function noteUnnoted(tables: TablesConnection): Promise<number> {
  const { connection, store } = tables
  const unnoted = ownTable(store, 'unnoted')
  let noted = 0
  for (const table of await readTables(tables)) {
    if (table.isGone || table.phase) continue
    noted += await inTransaction(connection, async () => {
      const mine = `SELECT exposed FROM ${unnoted} WHERE exposed = ? FOR UPDATE SKIP LOCKED`
      if ((await connection.query(mine, [table.number])).length === 0) return 0
      const rows = await changed(connection, noteAll(store, table))
      await connection.query(`DELETE FROM ${unnoted} WHERE exposed = ?`, [table.number])
      return rows
    })
  }
  return noted
}

async function changed(connection: Connection, statements: readonly Statement[]): Promise<number> {
  let sum = 0
  for (const { text, values } of statements) sum += (await connection.query(text, [...values])).affectedRows
  return sum
}

export async function isUnnoted({ connection, store }: TablesConnection, { number }: ExposedTable): Promise<boolean> {
  const found = await connection.query(`SELECT 1 FROM ${ownTable(store, 'unnoted')} WHERE exposed = ?`, [number])
  return found.length > 0
}

/**
 * Finishes what was left when making a table a bucket, or describing it again, was interrupted. Warns of tables that have
 * lost their triggers.
 */
export async function finishTables(url: string, prefix: string, onWarning: (text: string) => void): Promise<void> {
  await during(url, prefix, async tables => {
    await alone(tables, 0, async () => {
      const unfinished = (await readTables(tables)).filter(({ phase }) => phase === 'adding')
      for (const table of unfinished) await finishAdding(tables, table)
    })
    await noteUnnoted(tables)
    for (const table of await readTables(tables)) {
      if (await hasLostTriggers(tables, table)) onWarning(lostTriggers(table))
    }
  })
}

/** For example, another table was renamed to this name. */
async function hasLostTriggers(tables: TablesConnection, table: ExposedTable): Promise<boolean> {
  if (table.isGone || table.phase) return false
  return (await triggersThere(tables, table)).length < TRIGGERS
}

/** The names of its triggers that exist. */
export async function triggersThere({ connection, store }: TablesConnection, table: ExposedTable): Promise<string[]> {
  const { text, values } = findTriggers(store, table)
  const found: [string, string][] = await connection.query(text, [...values])
  return found.filter(([, of]) => of === table.name).map(([name]) => name)
}

/** The triggers of a table that had this name and has been renamed. */
async function dropStrayTriggers({ connection, store }: TablesConnection, table: ExposedTable): Promise<void> {
  const { text, values } = findTriggers(store, table)
  const found: [string, string][] = await connection.query(text, [...values])
  for (const [name] of found.filter(([, of]) => of !== table.name)) {
    await connection.query(`DROP TRIGGER IF EXISTS ${nameOf({ schema: table.schema, name })}`)
  }
}

function lostTriggers(table: ExposedTable): string {
  const what = `The table ${fullName(table)}, which is the bucket ${table.bucket}, has lost triggers of Freshet`
  return `${what}: Freshet does not see what other programs write to it. Run freshet tables add again.`
}

/**
 * Reads the tables again, after a statement about them has failed because columns or tables no longer exist. Under a lock, so
 * that one server does it.
 */
export async function describeAgain(url: string, prefix: string): Promise<void> {
  await during(url, prefix, async tables => {
    await underHead(tables, async () => {
      for (const table of await readTables(tables)) {
        const described = await describeNow(tables, table)
        if (JSON.stringify(described) === JSON.stringify(table)) continue
        await writeRecord(tables, described)
        if (!described.isGone) await noteSoon(tables, described)
      }
    })
    await noteUnnoted(tables)
  })
}

async function describeNow({ connection }: TablesConnection, table: ExposedTable): Promise<ExposedTable> {
  const { number, bucket, asked, key, schema, name, phase } = table
  try {
    const rows: [string][] = await connection.query(
      'SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?',
      [schema, name],
    )
    const left = asked?.filter(column => rows.some(([each]) => each === column))
    const described = await describeTable(connection, `${schema}.${name}`, left)
    if (described.key.join() !== key.join()) throw unsuitable(name, 'its key has changed')
    return { number, bucket, ...described, ...(phase && { phase }) }
  } catch (error) {
    if (!(error instanceof FreshetError)) throw error
    // The next commit to the bucket reports it.
    return { ...table, isGone: true }
  }
}
