/**
 * Makes tables of a database buckets of the store that is in the same database, and undoes that. Servers that are running take notice with their
 * next transaction.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Key } from '@freshet/core/store'
import { checkName, FreshetError } from '@freshet/protocol'
import type pg from 'pg'
import type { SqlStore } from '../../sql/sql-store.js'
import { openSqlStore } from '../open-postgres-store.js'
import { SHARED_FORMAT_VERSION } from '../statements.js'
import { describeTable, unsuitable } from './describe-table.js'
import { type ExposedTable, nameOf, quoteText } from './exposed-table.js'
import { connectTo, inTransaction, NOTE_SOON, noteUnnoted, readTables } from './table-records.js'
import { createTriggers, removeTriggers } from './table-statements.js'

export interface TablesOptions {
  /** Of the store, as for `openPostgresStore`. */
  readonly url: string
  readonly schema?: string
}

export interface ExposeOptions extends TablesOptions {
  /** `shop/products`. */
  readonly bucket: Key
  /** `public.products` */
  readonly table: string
  /** All that there are, unless given. */
  readonly columns?: readonly string[]
  readonly onProgress?: (done: number, total: number) => void
}

export interface Exposure {
  readonly bucket: Key
  readonly table: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
  readonly isGone: boolean
}

const REMOVED_AT_ONCE = 1000
const PAUSE_MS = 100

/**
 * Resolves when all rows that were there are in the bucket. Of a table that is that bucket already, the columns are looked at anew. Throws CONFIG_INVALID for
 * what cannot be.
 */
export async function exposeTable(options: ExposeOptions): Promise<Exposure> {
  const { bucket, onProgress = () => {} } = options
  checkBucket(bucket)
  return withStore(options, async (store, client, schema) => {
    const table = await inTransaction(client, () => addTable(client, schema, options))
    const total = await noteRows(client, table)
    onProgress(0, total)
    for (let done = 0; ; ) {
      const { noted, isFull } = await store.takeBackfill()
      done += noted
      onProgress(Math.min(done, total), total)
      if (!isFull) return toExposure(table)
    }
  })
}

/** What is written from now on is noted. Says how many rows there were; none if a server that was opened meanwhile has noted them. */
async function noteRows(client: pg.Client, { number }: ExposedTable): Promise<number> {
  for (let noted = 0; ; await delay(PAUSE_MS)) {
    noted += await noteUnnoted(client)
    if ((await client.query('SELECT FROM unnoted WHERE exposed = $1', [number])).rowCount === 0) return noted
  }
}

/** The table stays as it is; what the bucket has is removed from the store. */
export async function unexposeTable(options: TablesOptions & { readonly bucket: Key }): Promise<void> {
  const { bucket } = options
  await withStore(options, async (store, client, schema) => {
    await inTransaction(client, async () => {
      const table = (await readTables(client)).find(each => each.bucket === bucket)
      if (table === undefined) throw new FreshetError('CONFIG_INVALID', `No table is the bucket ${bucket}.`)
      const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS "isThere"', [nameOf(table)])
      await client.query('DELETE FROM unnoted WHERE exposed = $1', [table.number])
      await client.query('SELECT FROM head FOR UPDATE')
      await client.query(removeTriggers(schema, table, rows[0].isThere))
      await client.query('DELETE FROM exposed WHERE number = $1', [table.number])
      await client.query('DELETE FROM incoming WHERE exposed = $1', [table.number])
    })
    for (;;) {
      const { entries } = await store.scan(bucket, { limit: REMOVED_AT_ONCE })
      if (entries.length === 0) return
      await store.commit({ writes: entries.map(({ id }) => ({ key: `${bucket}/${id}`, delete: true })) })
    }
  })
}

export async function exposedTables(options: TablesOptions): Promise<readonly Exposure[]> {
  return withStore(options, async (_store, client) => (await readTables(client)).map(toExposure))
}

async function addTable(
  client: pg.Client,
  schema: string,
  { bucket, table: name, columns }: ExposeOptions,
): Promise<ExposedTable> {
  const described = await describeTable(client, await fullName(client, schema, name), columns)
  if (described.schema === schema) throw unsuitable(name, 'it is one of the store itself')
  // Waits for those who are writing to it, and has others wait: from now on all is noted.
  await client.query(`LOCK TABLE ${nameOf(described)} IN SHARE ROW EXCLUSIVE MODE`)
  await client.query('SELECT FROM head FOR UPDATE')
  const tables = await readTables(client)
  const before = tables.find(each => each.bucket === bucket)
  const same = (each: ExposedTable) => each.schema === described.schema && each.name === described.name
  if (before ? !same(before) : tables.some(same)) {
    const other = before ?? tables.find(same)!
    throw unsuitable(name, `${nameOf(other)} is the bucket ${other.bucket} already. Remove that first`)
  }
  if (!before) await checkEmpty(client, bucket, name)
  const number = before?.number ?? Math.max(0, ...tables.map(each => each.number)) + 1
  const table: ExposedTable = { number, bucket, ...described }
  await client.query(
    'INSERT INTO exposed VALUES ($1, $2, $3) ON CONFLICT (number) DO UPDATE SET record = EXCLUDED.record',
    [number, bucket, JSON.stringify(table)],
  )
  await client.query(NOTE_SOON, [number])
  await client.query(createTriggers(schema, `freshet_${schema}`, table))
  // A Freshet that knows nothing of this would write to the bucket, and not to the table.
  await client.query('UPDATE head SET format = $1', [SHARED_FORMAT_VERSION])
  return table
}

/** A name without a schema is what it would be in psql. */
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
  if (rows[0].isUsed) throw unsuitable(table, `the bucket ${bucket} holds objects. Take another, or delete them`)
}

async function withStore<Result>(
  { url, schema = 'freshet' }: TablesOptions,
  work: (store: SqlStore, client: pg.Client, schema: string) => Promise<Result>,
): Promise<Result> {
  const store = await openSqlStore({ url, schema, onWarning: () => {} })
  try {
    const client = await connectTo(url, schema)
    try {
      return await work(store, client, schema)
    } finally {
      await client.end()
    }
  } finally {
    await store.close()
  }
}

function checkBucket(bucket: Key): void {
  const [namespace = '', name = '', ...more] = bucket.split('/')
  if (more.length > 0) throw new FreshetError('NAME_INVALID', `${bucket} cannot be a bucket: it has two names.`)
  checkName('namespace', namespace)
  checkName('bucket', name)
}

function toExposure({ bucket, schema, name, columns, key, isGone }: ExposedTable): Exposure {
  const table = `${schema}.${name}`
  return { bucket, table, columns: columns.map(column => column.name), key, isGone: isGone === true }
}
