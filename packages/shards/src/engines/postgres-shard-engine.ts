/** Shards in PostgreSQL. */
import type { Socket } from 'node:net'
import pg from 'pg'
import { type Catalog, type Cell, type CellType, type Column, quoteName } from '../plan/index.js'
import { openPostgresCursor } from './postgres-cursor.js'
import { readPostgresEffects } from './postgres-effects.js'
import { type Session, SessionPool } from './session-pool.js'
import type { ShardAddress } from './shard-address.js'
import { type CopiedColumn, LONG_READ_MARGIN_MS, type ShardEngine } from './shard-engine.js'
import { joinedNames } from './sql-shard.js'

/** The server is busy or shutting down: a retry may succeed. Errors of class 08 are about the connection. */
const PASSING = ['40001', '40P01', '55P03', '57014', '57P01', '57P02', '57P03', '57P05', '25P03', '53300']
const COLUMNS = `
  SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), l.collname, l.collisdeterministic, a.attnotnull
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation AND l.collname <> 'default'
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY c.relname, a.attnum`
const COLLATION = 'SELECT datcollate FROM pg_database WHERE datname = current_database()'
const BYTES = ['C', 'POSIX']
const INT_MAX = 2 ** 31 - 1

export function postgresShardEngine({ url, place, sessionsMax }: ShardAddress): ShardEngine {
  return {
    dialect: 'postgres',
    place,
    pool: new SessionPool({ sessionsMax, open: timeoutMs => openSession(url, timeoutMs) }),
    beginRead: 'BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY',
    prepareLongRead: heldMsMax =>
      `SET LOCAL cursor_tuple_fraction = 1; SET LOCAL idle_in_transaction_session_timeout = ${Math.min(Math.ceil(heldMsMax + LONG_READ_MARGIN_MS), INT_MAX)}`,
    lockSchemas: tables => `LOCK TABLE ${joinedNames(tables, 'postgres')} IN ACCESS SHARE MODE`,
    beginWrite: 'BEGIN',
    upsertVersion: () =>
      'INSERT INTO freshet_versions (aspect, version) VALUES (?, ?) ON CONFLICT (aspect) DO UPDATE SET version = excluded.version',
    spell: text => {
      let place = 0
      return text.replaceAll('?', () => `$${++place}`)
    },
    textType: 'TEXT',
    exactText: type => type,
    tableOptions: '',
    readCatalog,
    readEffects: readPostgresEffects,
    copiedColumns,
    insertAsIs: ' OVERRIDING SYSTEM VALUE',
    tryLock: async (session, name, waitS) => {
      const lock =
        waitS > 0 ? "SELECT pg_advisory_lock(hashtext($1)), 't'" : 'SELECT 0, pg_try_advisory_lock(hashtext($1))'
      const { rows } = await session.run(lock, [name])
      return rows[0]![1] === true || rows[0]![1] === 't'
    },
    unlock: async (session, name) => {
      await session.run('SELECT pg_advisory_unlock(hashtext($1))', [name])
    },
    lockWait: waitMs => `SET lock_timeout = ${Math.max(1, Math.ceil(waitMs))}`,
    refusal: error => {
      const { code, severity, message } = error as {
        readonly code?: string
        readonly severity?: string
        readonly message: string
      }
      if (severity === undefined || code === undefined) return undefined
      return code.startsWith('08') || PASSING.includes(code) ? undefined : message
    },
  }
}

async function openSession(url: string, timeoutMs: number): Promise<Session> {
  const types: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text }
  const client = new pg.Client({
    connectionString: url,
    pipeline: true,
    types,
    connectionTimeoutMillis: Math.ceil(timeoutMs),
  })
  let isAlive = true
  const lose = () => {
    isAlive = false
  }
  client.on('error', lose)
  client.on('end', lose)
  await client.connect()
  try {
    await client.query("SET standard_conforming_strings = on; SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'")
  } catch (error) {
    cut(client)
    throw error
  }
  const session: Session = {
    openCursor: (text, values, bytesMax) => openPostgresCursor(session, { text, values, bytesMax }),
    run: async (text, values = []) => {
      const result = await client.query<string[]>({ text, values: [...values], rowMode: 'array' })
      const found = (result.fields ?? []).map(({ dataTypeID }) => TYPES[dataTypeID] ?? 'other')
      return { types: found, rows: (result.rows ?? []).map(row => row.map((cell, i) => cellOf(cell, found[i]!))) }
    },
    get bytesRead() {
      return socketOf(client).bytesRead
    },
    get isAlive() {
      return isAlive
    },
    destroy: () => {
      isAlive = false
      cut(client)
    },
  }
  return session
}

/** Closes the connection at once: the driver's own `end` waits for statements that are under way. */
function cut(client: pg.Client): void {
  socketOf(client).destroy()
}

function socketOf(client: pg.Client): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream
}

const TYPES: Readonly<Record<number, CellType>> = {
  ...{ 20: 'integer', 21: 'integer', 23: 'integer', 1700: 'decimal', 700: 'float', 701: 'float', 16: 'boolean' },
  ...{ 25: 'text', 1043: 'text', 1042: 'text', 19: 'text', 705: 'text', 1082: 'date', 1114: 'date', 1184: 'date' },
}

function cellOf(cell: string | null, type: CellType): Cell {
  if (cell === null) return null
  if (type === 'float') return Number(cell)
  return type === 'boolean' ? cell === 't' : cell
}

const COPIED =
  "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1 AND is_generated = 'NEVER' ORDER BY ordinal_position"

/** Values of every type are read and written as text. */
async function copiedColumns(session: Session, table: string): Promise<readonly CopiedColumn[]> {
  const { rows } = await session.run(COPIED, [table])
  return rows.map(([name]) => ({ name: String(name), read: quoteName(String(name), 'postgres'), write: '?' }))
}

async function readCatalog(session: Session): Promise<Catalog> {
  const [{ rows }, collation] = await Promise.all([session.run(COLUMNS), session.run(COLLATION)])
  const tables = new Map<string, Column[]>()
  for (const [table, name, type, ownCollation, isDeterministic, isNeverNull] of rows) {
    const columns = tables.get(String(table)) ?? []
    const isUnordered = ownCollation !== null && !BYTES.includes(String(ownCollation))
    const collation = ownCollation === null ? '' : ` collate ${ownCollation}`
    columns.push({
      name: String(name),
      ...valueTypeOf(String(type)),
      ...(isUnordered && { isUnordered }),
      ...(isDeterministic === false && { isLoose: true }),
      declared: `${type}${collation}${isNeverNull === true ? ' not null' : ''}`,
    })
    tables.set(String(table), columns)
  }
  return { tables, isTextOrderedByBytes: BYTES.includes(String(collation.rows[0]?.[0])) }
}

function valueTypeOf(type: string): Omit<Column, 'name'> {
  if (type.endsWith('[]')) return { type: 'unknown' }
  if (/^(?:smallint|integer|bigint)$/.test(type)) return { type: 'integer' }
  if (/^numeric/.test(type)) return { type: 'decimal' }
  if (/^(?:real|double precision)$/.test(type)) return { type: 'float' }
  if (/^(?:date$|timestamp)/.test(type)) return { type: 'date' }
  if (type === 'boolean') return { type: 'boolean' }
  return /^(?:text|character)/.test(type) ? { type: 'text' } : { type: 'unknown' }
}
