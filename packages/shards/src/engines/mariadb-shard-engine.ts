/** Shards in MariaDB. */
import { connect, type Socket } from 'node:net'
import { type Connection, type ConnectionConfig, createConnection, type FieldInfo } from 'mariadb'
import { type Catalog, type Cell, type CellType, type Column, quoteName } from '../plan/index.js'
import { collationTraits } from './mariadb-collations.js'
import { type MariadbCells, openMariadbCursor } from './mariadb-cursor.js'
import { readMariadbEffects } from './mariadb-effects.js'
import { checkSchemaChange } from './mariadb-schema-check.js'
import { type Session, SessionPool, type SessionResult } from './session-pool.js'
import type { ShardAddress } from './shard-address.js'
import { type CopiedColumn, type ExactColumn, LONG_READ_MARGIN_MS, type ShardEngine } from './shard-engine.js'
import { joinedNames } from './sql-shard.js'

/** The server is busy or shutting down: a retry may succeed. 1412: the tables were changed since the snapshot. */
const PASSING = [1020, 1205, 1213, 1317, 1412, 1969, 1040, 1053, 1152, 1158, 1159, 1160, 1161, 1203, 1927]
const OF_DRIVER = 45_000
const NET_TIMEOUT_S_MAX = 31_536_000
const DUPLICATE_KEY = 'ON DUPLICATE KEY UPDATE version = VALUES(version)'
/**
 * The meaning of a statement must not depend on the server's settings; and a key of 0 is a key, not a request for the next one.
 */
const PREPARE = [
  "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'",
  "SET SESSION time_zone = '+00:00'",
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ',
  'SET SESSION div_precision_increment = 4',
]
const COLUMNS =
  'SELECT table_name, column_name, data_type, character_maximum_length, column_type, collation_name, is_nullable FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position'

export function mariadbShardEngine({ url, place, sessionsMax }: ShardAddress): ShardEngine {
  const config = configOf(url)
  return {
    dialect: 'mariadb',
    place,
    pool: new SessionPool({ sessionsMax, open: timeoutMs => openSession(config, timeoutMs) }),
    schemaSteps: { describeTables, check: checkSchemaChange },
    beginRead: 'START TRANSACTION READ ONLY',
    prepareLongRead: heldMsMax =>
      `SET SESSION net_write_timeout = ${Math.min(Math.ceil((heldMsMax + LONG_READ_MARGIN_MS) / 1000), NET_TIMEOUT_S_MAX)}`,
    lockSchemas: tables => `SELECT 1 FROM ${joinedNames(tables, 'mariadb')} LIMIT 0`,
    beginWrite: 'START TRANSACTION',
    upsertVersion: () => `INSERT INTO freshet_versions (aspect, version) VALUES (?, ?) ${DUPLICATE_KEY}`,
    spell: text => text,
    textType: 'LONGTEXT',
    exactText,
    makeExact,
    tableOptions: ' ENGINE=InnoDB',
    readCatalog,
    readEffects: readMariadbEffects,
    copiedColumns,
    insertAsIs: '',
    tryLock: async (session, name, waitS) => {
      const { rows } = await session.run('SELECT GET_LOCK(CONCAT(DATABASE(), ?), ?)', [`.${name}`, waitS])
      return Number(rows[0]![0]) === 1
    },
    unlock: async (session, name) => {
      await session.run('SELECT RELEASE_LOCK(CONCAT(DATABASE(), ?))', [`.${name}`])
    },
    lockWait: waitMs => `SET SESSION innodb_lock_wait_timeout = ${Math.max(1, Math.ceil(waitMs / 1000))}`,
    refusal: error => {
      const { errno, sqlMessage } = error as { readonly errno?: number; readonly sqlMessage?: string | null }
      const isKnown = errno !== undefined && errno > 0 && errno < OF_DRIVER && !PASSING.includes(errno)
      return isKnown ? (sqlMessage ?? `error ${errno}`) : undefined
    },
  }
}

async function openSession(config: ConnectionConfig, timeoutMs: number): Promise<Session> {
  const { host = 'localhost', port = PORT } = config
  let socket: Socket | undefined
  const stream = () => {
    socket = connect({ host, port, noDelay: true, keepAlive: true })
    return socket
  }
  const connection = await createConnection({ ...config, stream, connectTimeout: Math.ceil(timeoutMs) })
  let isAlive = true
  const lose = () => {
    isAlive = false
  }
  connection.on('error', lose)
  connection.on('end', lose)
  try {
    await Promise.all(PREPARE.map(text => connection.query(text)))
  } catch (error) {
    connection.destroy()
    throw error
  }
  return {
    // The driver reads ahead no further than one packet: a piece is a packet, and the row at its end.
    openCursor: (text, values) => openMariadbCursor(connection, text, values, CELLS),
    run: async (text, values = []) => resultOf(await send(connection, text, values)),
    get bytesRead() {
      return socket?.bytesRead ?? 0
    },
    get isAlive() {
      return isAlive && connection.isValid()
    },
    destroy: () => {
      isAlive = false
      // The driver opens another connection to kill the statement.
      connection.destroy()
    },
  }
}

/** A statement with parameters is prepared, and the parameters are sent as values. */
function send(connection: Connection, text: string, values: readonly unknown[]): Promise<unknown> {
  return values.length === 0 ? connection.query(text) : connection.execute(text, [...values])
}

function resultOf(result: unknown): SessionResult {
  if (!Array.isArray(result)) return { types: [], rows: [] }
  const { meta = [] } = result as unknown as { readonly meta?: readonly FieldInfo[] }
  const types = CELLS.typesOf(meta)
  return { types, rows: (result as unknown[][]).map(row => CELLS.cellsOf(row, types)) }
}

const CELLS: MariadbCells = {
  typesOf: fields => fields.map(typeOf),
  cellsOf: (row, types) => row.map((cell, i) => cellOf(cell, types[i]!)),
}

const TYPES: Readonly<Record<string, CellType>> = {
  ...{ TINY: 'integer', SHORT: 'integer', INT: 'integer', INT24: 'integer', BIGINT: 'integer', YEAR: 'integer' },
  ...{ DECIMAL: 'decimal', NEWDECIMAL: 'decimal', FLOAT: 'float', DOUBLE: 'float' },
  ...{ DATE: 'date', NEWDATE: 'date', DATETIME: 'date', DATETIME2: 'date', TIMESTAMP: 'date', TIMESTAMP2: 'date' },
  ...{ VARCHAR: 'text', VAR_STRING: 'text', STRING: 'text', ENUM: 'text', SET: 'text' },
  ...{ TINY_BLOB: 'text', MEDIUM_BLOB: 'text', LONG_BLOB: 'text', BLOB: 'text' },
}

function typeOf({ type, collation }: FieldInfo): CellType {
  const found = TYPES[type] ?? 'other'
  return found === 'text' && collation?.name === 'BINARY' ? 'other' : found
}

function cellOf(cell: unknown, type: CellType): Cell {
  if (cell === null || cell === undefined) return null
  if (type === 'float') return Number(cell)
  return Buffer.isBuffer(cell) ? cell.toString('hex') : String(cell)
}

async function readCatalog(session: Session): Promise<Catalog> {
  const { rows } = await session.run(COLUMNS)
  const tables = new Map<string, Column[]>()
  for (const [table, name, type, length, exactType, ownCollation, isNullable] of rows) {
    const columns = tables.get(String(table)) ?? []
    const collation = ownCollation === null ? '' : ` collate ${ownCollation}`
    columns.push({
      name: String(name),
      ...valueTypeOf(String(type), length === null ? undefined : Number(length), ownCollation ?? null),
      declared: `${exactType}${collation}${isNullable === 'NO' ? ' not null' : ''}`,
    })
    tables.set(String(table), columns)
  }
  return { tables, isTextOrderedByBytes: false }
}

function valueTypeOf(type: string, lengthMax: number | undefined, collation: Cell): Omit<Column, 'name'> {
  if (/^(?:tinyint|smallint|mediumint|int|bigint|year)$/.test(type)) return { type: 'integer' }
  if (/^decimal$/.test(type)) return { type: 'decimal' }
  if (/^(?:float|double)$/.test(type)) return { type: 'float' }
  if (/^(?:date|datetime|timestamp)$/.test(type)) return { type: 'date' }
  const length = lengthMax === undefined ? {} : { lengthMax, ...collationTraits(String(collation), lengthMax) }
  if (/^(?:enum|set)$/.test(type)) return { type: 'text', ...length, isUnordered: true }
  return /^(?:char|varchar|text|tinytext|mediumtext|longtext)$/.test(type)
    ? { type: 'text', ...length }
    : { type: 'unknown' }
}

const COPIED =
  "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? AND extra NOT LIKE '%GENERATED%' ORDER BY ordinal_position"
const BINARY =
  /^(?:binary|varbinary|tinyblob|blob|mediumblob|longblob|bit|geometry|point|linestring|polygon|multi.*|geom.*)$/

/** Bytes are copied as hexadecimal digits. MariaDB shows a FLOAT with fewer digits than it has, so it is read as DOUBLE. */
async function copiedColumns(session: Session, table: string): Promise<readonly CopiedColumn[]> {
  const { rows } = await session.run(COPIED, [table])
  return rows.map(([name, type]) => {
    const quoted = quoteName(String(name), 'mariadb')
    if (BINARY.test(String(type))) return { name: String(name), read: `HEX(${quoted})`, write: 'UNHEX(?)' }
    return { name: String(name), read: type === 'float' ? `CAST(${quoted} AS DOUBLE)` : quoted, write: '?' }
  })
}

/** In other collations `job-A` and `job-a` are often equal. */
const EXACT = 'utf8mb4_nopad_bin'
const COLLATIONS =
  'SELECT column_name, collation_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?'

function exactText(type: string): string {
  return `${type} CHARACTER SET utf8mb4 COLLATE ${EXACT}`
}

async function makeExact(session: Session, table: string, columns: readonly ExactColumn[]): Promise<void> {
  const { rows } = await session.run(COLLATIONS, [table])
  const changes = columns
    .filter(({ name }) => rows.some(([column, collation]) => column === name && collation !== EXACT))
    .map(({ name, type, isRequired }) => `MODIFY ${name} ${exactText(type)}${isRequired ? ' NOT NULL' : ''}`)
  if (changes.length > 0) await session.run(`ALTER TABLE ${table} ${changes.join(', ')}`)
}

const NO_SUCH_TABLE = 1146

/** Without the next AUTO_INCREMENT number, which changes with every row. */
async function describeTables(session: Session, tables: readonly string[]): Promise<string> {
  const texts: string[] = []
  for (const table of tables) {
    const found = await session.run(`SHOW CREATE TABLE ${quoteName(table, 'mariadb')}`).catch(error => {
      if ((error as { errno?: number }).errno === NO_SUCH_TABLE) return undefined
      throw error
    })
    texts.push(`${table}: ${found ? String(found.rows[0]![1]).replace(/ AUTO_INCREMENT=\d+/, '') : 'none'}`)
  }
  return texts.join('\n')
}

const PORT = 3306

function configOf(text: string): ConnectionConfig {
  const { hostname, port, username, password, pathname, searchParams } = new URL(text)
  return {
    host: hostname.replace(/^\[|\]$/g, '') || 'localhost',
    port: Number(port) || PORT,
    database: decodeURIComponent(pathname.slice(1)),
    ...(username && { user: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(searchParams.get('ssl') === 'true' && { ssl: true }),
    ...{ rowsAsArray: true, dateStrings: true, decimalAsNumber: false, bigIntAsNumber: false, insertIdAsNumber: true },
    ...{ checkDuplicate: false, bitOneIsBoolean: false },
  }
}
