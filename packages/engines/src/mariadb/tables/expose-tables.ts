/** Makes tables of a MariaDB server buckets of a store on that server, and undoes that. */
import type { Key } from '@freshet/core/store'
import {
  type ExposeTableOptions,
  type Exposure,
  expose,
  listExposed,
  type OpenedTables,
  placeAmong,
  type TablesDatabase,
  unexpose,
} from '../../sql/tables/expose-tables.js'
import type { ExposedTable } from '../../sql/tables/exposed-table.js'
import { tableIsLocked, unsuitable } from '../../sql/tables/table-errors.js'
import { openSqlStore } from '../open-mariadb-store.js'
import { SHARED_FORMAT_VERSION } from '../statements.js'
import { describeTable } from './describe-table.js'
import { nameOf } from './row-sql.js'
import {
  alone,
  connectTo,
  finishAdding,
  isUnnoted,
  noteUnnoted,
  readTables,
  type TablesConnection,
  toTableError,
  triggersThere,
  underHead,
  writeRecord,
} from './table-records.js'
import { dropTriggers, ownTable } from './table-statements.js'

export interface TablesOptions {
  /** The URL of the store, as for `openMariadbStore`. */
  readonly url: string
  readonly prefix?: string
}

export interface ExposeOptions extends TablesOptions, ExposeTableOptions {}

const WAIT_MS = 10_000

export function exposeTable(options: ExposeOptions): Promise<Exposure> {
  return expose(() => openTables(options), options)
}

export function unexposeTable(options: TablesOptions & { readonly bucket: Key }): Promise<void> {
  return unexpose(() => openTables(options), options.bucket)
}

export function exposedTables(options: TablesOptions): Promise<readonly Exposure[]> {
  return listExposed(() => openTables(options))
}

async function openTables({ url, prefix = 'freshet_' }: TablesOptions): Promise<OpenedTables> {
  const store = await openSqlStore({ url, prefix, onWarning: () => {} })
  try {
    return { store, database: databaseOf(await connectTo(url, prefix)) }
  } catch (error) {
    await store.close()
    throw error
  }
}

function databaseOf(tables: TablesConnection): TablesDatabase {
  return {
    tables: () => readTables(tables),
    add: options => inTurn(tables, () => addTable(tables, options)),
    noteRows: () => noteUnnoted(tables),
    isUnnoted: table => isUnnoted(tables, table),
    remove: table => inTurn(tables, () => removeTable(tables, table)),
    close: () => tables.connection.end(),
  }
}

async function inTurn<Result>(tables: TablesConnection, work: () => Promise<Result>): Promise<Result> {
  const done: Result[] = []
  const isMine = await alone(tables, WAIT_MS, async () => {
    done.push(await work())
  })
  if (!isMine) throw tableIsLocked(new Error('Another process is making a table a bucket.'))
  return done[0]!
}

/** If the process is killed between these steps, it leaves a table that is not used and whose record says so. */
async function addTable(tables: TablesConnection, options: ExposeTableOptions): Promise<ExposedTable> {
  const { connection, store } = tables
  const { bucket, table: name, columns } = options
  const described = await describeTable(connection, name, columns, store)
  const { table, before } = await underHead(tables, async () => {
    const found = placeAmong(await readTables(tables), described, options)
    if (!found.before) await checkEmpty(tables, bucket, name)
    const isUsed = found.before && !found.before.isGone && !found.before.phase
    const place: ExposedTable = isUsed ? found.before! : { ...found.table, phase: 'adding' }
    await writeRecord(tables, place)
    // An older Freshet, which does not know these tables, would write to the bucket, and not to the table.
    await connection.query(`UPDATE ${ownTable(store, 'head')} SET format = ?`, [SHARED_FORMAT_VERSION])
    return found
  })
  try {
    return await finishAdding(tables, table)
  } catch (error) {
    // If this cannot be undone now, the table remains one that is being added.
    if (!before) await undoAdding(tables, { ...table, phase: 'adding' }).catch(() => {})
    throw error
  }
}

/** Drops only triggers that exist: a user who may not create triggers may not drop any either, not even missing ones. */
async function undoAdding(tables: TablesConnection, table: ExposedTable): Promise<void> {
  const made = await triggersThere(tables, table)
  const drops = made.map(name => `DROP TRIGGER IF EXISTS ${nameOf({ schema: table.schema, name })}`)
  await removeTable(tables, table, drops)
}

/**
 * A table without triggers must not be used, so the record says that first; if the triggers cannot be dropped, the record is
 * restored.
 */
async function removeTable(
  tables: TablesConnection,
  table: ExposedTable,
  drops: readonly string[] = dropTriggers(tables.store, table),
): Promise<void> {
  const { connection, store } = tables
  await underHead(tables, () => writeRecord(tables, { ...table, phase: 'removing' }))
  for (const [i, drop] of drops.entries()) {
    await connection.query(drop).catch(async error => {
      if (i === 0) await underHead(tables, () => writeRecord(tables, table))
      throw toTableError(error)
    })
  }
  await underHead(tables, async () => {
    await connection.query(`DELETE FROM ${ownTable(store, 'exposed')} WHERE number = ?`, [table.number])
    await connection.query(`DELETE FROM ${ownTable(store, 'unnoted')} WHERE exposed = ?`, [table.number])
    // No transaction that has written notes is still running: otherwise the triggers could not have been dropped.
    const notes = `${ownTable(store, 'incoming')} n FORCE INDEX (ids)`
    await connection.query(`DELETE n FROM ${notes} WHERE n.exposed = ?`, [table.number])
  })
}

async function checkEmpty({ connection, store }: TablesConnection, bucket: Key, table: string): Promise<void> {
  const range = [Buffer.from(`${bucket}/`), Buffer.from(`${bucket}0`)]
  const found = `SELECT 1 FROM ${ownTable(store, 'objects')} WHERE object_key >= ? AND object_key < ? LIMIT 1`
  const isUsed = (await connection.query(found, range)).length > 0
  if (isUsed) throw unsuitable(table, `the bucket ${bucket} holds objects. Choose another bucket, or delete them`)
}
