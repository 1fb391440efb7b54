/** Makes tables of a PostgreSQL database buckets of the store in the same database, and undoes that. */
import type { Key } from '@freshet/core/store'
import type pg from 'pg'
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
import { unsuitable } from '../../sql/tables/table-errors.js'
import { openSqlStore } from '../open-postgres-store.js'
import { SHARED_FORMAT_VERSION } from '../statements.js'
import { describeTable } from './describe-table.js'
import { nameOf, quoteText } from './row-sql.js'
import { connectTo, inTransaction, NOTE_SOON, noteUnnoted, readTables } from './table-records.js'
import { createTriggers, removeTriggers } from './table-statements.js'

export interface TablesOptions {
  /** The URL of the store, as for `openPostgresStore`. */
  readonly url: string
  readonly schema?: string
}

export interface ExposeOptions extends TablesOptions, ExposeTableOptions {}

export function exposeTable(options: ExposeOptions): Promise<Exposure> {
  return expose(() => openTables(options), options)
}

export function unexposeTable(options: TablesOptions & { readonly bucket: Key }): Promise<void> {
  return unexpose(() => openTables(options), options.bucket)
}

export function exposedTables(options: TablesOptions): Promise<readonly Exposure[]> {
  return listExposed(() => openTables(options))
}

async function openTables({ url, schema = 'freshet' }: TablesOptions): Promise<OpenedTables> {
  const store = await openSqlStore({ url, schema, onWarning: () => {} })
  try {
    return { store, database: databaseOf(await connectTo(url, schema), schema) }
  } catch (error) {
    await store.close()
    throw error
  }
}

function databaseOf(client: pg.Client, schema: string): TablesDatabase {
  return {
    tables: () => readTables(client),
    add: options => inTransaction(client, () => addTable(client, schema, options)),
    noteRows: () => noteUnnoted(client),
    isUnnoted: async ({ number }) =>
      (await client.query('SELECT FROM unnoted WHERE exposed = $1', [number])).rowCount !== 0,
    remove: table => inTransaction(client, () => removeTable(client, schema, table)),
    close: () => client.end(),
  }
}

async function addTable(client: pg.Client, schema: string, options: ExposeTableOptions): Promise<ExposedTable> {
  const { bucket, table: name, columns } = options
  const described = await describeTable(client, await fullName(client, schema, name), columns)
  if (described.schema === schema) throw unsuitable(name, 'it belongs to the store itself')
  // Waits for running writers and blocks new ones: from now on every change is noted.
  await client.query(`LOCK TABLE ${nameOf(described)} IN SHARE ROW EXCLUSIVE MODE`)
  await client.query('SELECT FROM head FOR UPDATE')
  const { table, before } = placeAmong(await readTables(client), described, options)
  if (!before) await checkEmpty(client, bucket, name)
  await client.query(
    'INSERT INTO exposed VALUES ($1, $2, $3) ON CONFLICT (number) DO UPDATE SET record = EXCLUDED.record',
    [table.number, bucket, JSON.stringify(table)],
  )
  await client.query(NOTE_SOON, [table.number])
  await client.query(createTriggers(schema, `freshet_${schema}`, table))
  // An older Freshet, which does not know these tables, would write to the bucket, and not to the table.
  await client.query('UPDATE head SET format = $1', [SHARED_FORMAT_VERSION])
  return table
}

async function removeTable(client: pg.Client, schema: string, table: ExposedTable): Promise<void> {
  const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS "isThere"', [nameOf(table)])
  await client.query('DELETE FROM unnoted WHERE exposed = $1', [table.number])
  await client.query('SELECT FROM head FOR UPDATE')
  await client.query(removeTriggers(schema, table, rows[0].isThere))
  await client.query('DELETE FROM exposed WHERE number = $1', [table.number])
  await client.query('DELETE FROM incoming WHERE exposed = $1', [table.number])
}

/** A name without a schema is resolved as in psql. */
async function fullName(client: pg.Client, schema: string, name: string): Promise<string> {
  await client.query('SET LOCAL search_path TO DEFAULT')
  const { rows } = await client.query(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = to_regclass($1)`,
    [name],
  )
  await client.query(`SET LOCAL search_path TO ${schema}`)
  return rows[0]?.name ?? name
}

async function checkEmpty(client: pg.Client, bucket: Key, table: string): Promise<void> {
  const { rows } = await client.query(
    `SELECT EXISTS (SELECT FROM objects WHERE key >= ${quoteText(`${bucket}/`)} AND key < ${quoteText(`${bucket}0`)}) AS "isUsed"`,
  )
  if (rows[0].isUsed)
    throw unsuitable(table, `the bucket ${bucket} holds objects. Choose another bucket, or delete them`)
}
