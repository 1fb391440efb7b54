/** The records of exposed tables, read and written over a connection of their own. */
import type pg from 'pg'
import type { ExposedTable } from '../../sql/tables/exposed-table.js'
import { SharedTables } from '../../sql/tables/shared-tables.js'
import { tableIsLocked, unsuitable } from '../../sql/tables/table-errors.js'
import { addressOf, dialFirst } from '../postgres-hosts.js'
import { SETTINGS } from '../statements.js'
import { describeTable } from './describe-table.js'
import { nameOf } from './row-sql.js'
import { noteAll } from './table-statements.js'

const LOCK_MS_MAX = 5000
const DIAL_MS_MAX = 10_000

/**
 * Reads the tables again, after a statement about them has failed because columns or tables no longer exist. Under a lock, so
 * that one server does it.
 */
export async function describeAgain(url: string, schema: string): Promise<void> {
  const client = await connectTo(url, schema)
  try {
    await inTransaction(client, async () => {
      await client.query('SELECT FROM head FOR UPDATE')
      for (const table of await readTables(client)) {
        const described = await describeNow(client, table)
        if (JSON.stringify(described) === JSON.stringify(table)) continue
        await client.query('UPDATE exposed SET record = $2 WHERE number = $1', [
          table.number,
          JSON.stringify(described),
        ])
        if (!described.isGone) await client.query(NOTE_SOON, [table.number])
      }
    })
    await noteUnnoted(client)
  } finally {
    await client.end()
  }
}

/** Finishes the notes that were left when making a table a bucket, or describing it again, was interrupted. */
export async function noteTables(url: string, schema: string): Promise<void> {
  const client = await connectTo(url, schema)
  try {
    await noteUnnoted(client)
  } finally {
    await client.end()
  }
}

/** Runs in the transaction that makes the notes necessary, so that some server will write them in any case. */
export const NOTE_SOON = 'INSERT INTO unnoted VALUES ($1) ON CONFLICT DO NOTHING'

/**
 * Notes the rows of all queued tables, except those that another process is noting. Blocks no other program. Returns how many
 * rows.
 */
export async function noteUnnoted(client: pg.Client): Promise<number> {
  let noted = 0
  for (const table of await readTables(client)) {
    if (table.isGone) continue
    noted += await inTransaction(client, async () => {
      const mine = 'SELECT FROM unnoted WHERE exposed = $1 FOR UPDATE SKIP LOCKED'
      if ((await client.query(mine, [table.number])).rowCount === 0) return 0
      const { rowCount } = await client.query(noteAll(table))
      await client.query('DELETE FROM unnoted WHERE exposed = $1', [table.number])
      return rowCount ?? 0
    })
  }
  return noted
}

async function describeNow(client: pg.Client, table: ExposedTable): Promise<ExposedTable> {
  const { number, bucket, asked, key } = table
  // An error would end the transaction.
  await client.query('SAVEPOINT describing')
  try {
    const { rows } = await client.query(
      'SELECT attname::text AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped',
      [nameOf(table)],
    )
    const left = asked?.filter(column => rows.some(({ name }) => name === column))
    const described = await describeTable(client, nameOf(table), left)
    if (described.key.join() !== key.join()) throw unsuitable(table.name, 'its key has changed')
    return { number, bucket, ...described }
  } catch {
    // The next commit to the bucket reports it.
    await client.query('ROLLBACK TO describing')
    return { ...table, isGone: true }
  }
}

export async function readTables(client: pg.Client): Promise<readonly ExposedTable[]> {
  const { rows } = await client.query(`SELECT string_agg(record, E'\\n' ORDER BY number) AS text FROM exposed`)
  return new SharedTables(rows[0].text ?? '').tables
}

export async function connectTo(url: string, schema: string): Promise<pg.Client> {
  const client = await dialFirst(addressOf(url), DIAL_MS_MAX)
  await client.query(`SET search_path = ${schema}; ${SETTINGS} SET lock_timeout = ${LOCK_MS_MAX}`)
  return client
}

export async function inTransaction<Result>(client: pg.Client, work: () => Promise<Result>): Promise<Result> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE')
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK')
    const { code } = error as { readonly code?: unknown }
    if (code !== '55P03' && code !== '40P01') throw error
    throw tableIsLocked(error)
  }
}
