/**
 * A store in a PostgreSQL database, for any number of servers at once. Its tables are in a schema of their own, which the
 * first server that opens the store creates.
 *
 * Positions are never given twice, even if the engine has lost its last moments (a standby that was behind took over; a
 * machine that did not flush went down). A server that finds the engine restarted, or has lost its connection, makes
 * positions continue from the time of day (`positionAtTime`) before it commits anything. If something that was acknowledged
 * may be lost, the log becomes another one (`attach.ts`).
 */
import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import type { LogPlace, Store, StoreSupports } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import { DatabaseEngine } from '@freshet/store/database'
import {
  type Attached,
  Attachment,
  EngineLost,
  type Known,
  knownFrom,
  storeUnavailable,
  storeUnusable,
} from '@freshet/store/engine'
import { encodeNumbers } from '@freshet/store/indexes'
import type pg from 'pg'
import { attach, attachLocked, durabilityOf } from './attach.js'
import { PostgresConnection, type PostgresConnectionOptions } from './postgres-connection.js'
import { PostgresDatabase } from './postgres-database.js'
import { toEngineError } from './postgres-errors.js'
import { addressOf, dialFirst, type Where } from './postgres-hosts.js'
import { createStandby } from './postgres-views.js'
import { ATTACH_TABLES, FORMAT_VERSION, SETTINGS, SHARED_FORMAT_VERSION, SHARED_TABLES, TABLES } from './statements.js'
import { describeAgain, noteTables } from './tables/table-records.js'

export interface PostgresStoreOptions {
  /**
   * `postgres://user:password@host:5432/database`; omitted parts are as in psql (PGPASSWORD and others). With several hosts,
   * `postgres://user@host:5432,host:5433/database`, the store uses the one that is not a standby. Standbys that may serve
   * reads: `?replicas=host:port,host:port`.
   */
  readonly url: string
  /** The schema of the tables; `freshet` by default. */
  readonly schema?: string
  /** How many entries a query may examine for one page; 10,000 by default. */
  readonly scanMax?: number
  /** How long operations are remembered, and accepted after they were made; a day by default. */
  readonly retentionMs?: number
  /** How long a request waits for a database that does not answer; 5,000 by default. */
  readonly waitMsMax?: number
  /** A connection without a reply for this long is closed; 10,000 by default. */
  readonly patienceMs?: number
  /** What an earlier process knew of the log: if that is lost, the log becomes another one. */
  readonly recalled?: LogPlace | undefined
  /** Called with each risk in the database's settings; by default, a warning of the process. */
  readonly onWarning?: (text: string) => void
}

const STATES = 4
const WAIT_MS_MAX = 5_000
const PATIENCE_MS = 10_000
const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,47}$/
/** Any number that no other program is likely to lock. */
const OPENING_LOCK = 7_306_451

interface Opening {
  readonly attached: Attached
  /** Making a table a bucket was interrupted before its rows were noted. */
  readonly isUnnoted: boolean
  readonly durability: StoreSupports['durability']
  readonly warnings: readonly string[]
}

/**
 * Throws STORE_UNAVAILABLE if no server answers; STORE_UNUSABLE if it refuses the user, is read-only, or was written by a
 * newer Freshet.
 */
export function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  return openSqlStore(options)
}

export async function openSqlStore(options: PostgresStoreOptions): Promise<EngineStore<DatabaseEngine>> {
  const { url, schema = 'freshet', onWarning = text => process.emitWarning(text) } = options
  const { scanMax = SCAN_MAX_DEFAULT, retentionMs = RETENTION_MS_DEFAULT } = options
  const { waitMsMax = WAIT_MS_MAX, patienceMs = PATIENCE_MS } = options
  if (!SCHEMA_NAME.test(schema)) throw new TypeError(`${JSON.stringify(schema)} cannot be the name of a schema.`)
  const { hosts, place, replicas } = addressOf(url)
  const channel = `freshet_${schema}`
  const { attached, isUnnoted, durability, warnings } = await open(
    { hosts, place },
    schema,
    channel,
    knownFrom(options.recalled),
  )
  for (const warning of warnings) onWarning(warning)
  if (isUnnoted) await noteTables(url, schema).catch(error => onWarning(`Rows are missing in buckets: ${error}`))

  const hearing: { engine?: DatabaseEngine } = {}
  const lines: PostgresConnection[] = []
  const attachment = new Attachment(attached, () => {
    for (const each of lines) each.drop()
    hearing.engine?.startOver()
  })
  const prepare = async (client: pg.Client, { more = '', isSkipping = false } = {}): Promise<void> => {
    await settle(client, schema, patienceMs, more)
    attachment.attach(await attach(client, { known: attachment.known, isSkipping, channel }))
  }
  const line = (more: Partial<PostgresConnectionOptions>): PostgresConnection => {
    const made = new PostgresConnection({ hosts, place, patienceMs, prepare: client => prepare(client), ...more })
    lines.push(made)
    return made
  }
  const database = new PostgresDatabase({
    place,
    channel,
    waitMsMax,
    describeTablesAgain: () => describeAgain(url, schema),
    reads: line({
      prepare: async (client, isFirst) => {
        const isSkipping = !isFirst && replicas.length > 0
        await prepare(client, { more: `LISTEN ${channel}`, isSkipping })
        if (isSkipping) hearing.engine?.startOver()
      },
      // Empty: another program has changed a table that is a bucket.
      onNotification: position => (position === '' ? hearing.engine?.look() : hearing.engine?.hear(Number(position))),
    }),
    writes: line({ prepare: (client, isFirst) => prepare(client, { isSkipping: !isFirst }) }),
    others: line({}),
    states: Array.from({ length: STATES }, () => line({})),
  })
  const supports: StoreSupports = { durability, retentionMs }
  const standbys = replicas.map(own => {
    const prepare = (client: pg.Client) => settleStandby(client, own.place, schema, patienceMs, attachment.log)
    const standbyLine = () => line({ ...own, prepare })
    const states = Array.from({ length: STATES }, standbyLine)
    return createStandby({ place: own.place, reads: standbyLine(), states })
  })
  try {
    await database.head()
    const options = { database, supports, attachment, waitMsMax, standbys, onWarning }
    hearing.engine = await DatabaseEngine.open(options)
    return new EngineStore({ engine: hearing.engine, scanMax })
  } catch (error) {
    await database.close()
    throw openingFailed(place, error)
  }
}

/** Sets up each new connection. */
async function settle(client: pg.Client, schema: string, patienceMs: number, more = ''): Promise<void> {
  // A server that hangs in the middle of a transaction must not keep the head locked for all others.
  const limits = `SET lock_timeout = ${patienceMs}; SET idle_in_transaction_session_timeout = ${patienceMs};`
  await client.query(`SET search_path = ${schema}; ${SETTINGS} ${limits} ${more}`)
}

/** Sets up a connection to a standby; throws if it is not one of this store. */
async function settleStandby(
  client: pg.Client,
  place: string,
  schema: string,
  patienceMs: number,
  log: string,
): Promise<void> {
  await settle(client, schema, patienceMs)
  const { rows } = await client.query('SELECT log FROM head')
  if (rows[0]?.log !== log)
    throw storeUnusable(place, 'it holds another store. Give the address of a standby of this one')
}

async function open(where: Where, schema: string, channel: string, known: Known): Promise<Opening> {
  const { place } = where
  let client: pg.Client | undefined
  try {
    client = await dialFirst(where, PATIENCE_MS)
    const found = await inspect(client, place)
    await client.query(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock(${OPENING_LOCK})`)
    await findOrCreate(client, place, schema)
    const attached = await attachLocked(client, { known, isSkipping: false, channel })
    const { rows } = await client.query('SELECT EXISTS (SELECT FROM unnoted) AS "isUnnoted"')
    await client.query('COMMIT')
    return { attached, ...found, ...rows[0] }
  } catch (error) {
    throw openingFailed(place, error)
  } finally {
    await client?.end().catch(() => {})
  }
}

async function inspect(client: pg.Client, place: string): Promise<Omit<Opening, 'attached' | 'isUnnoted'>> {
  const { rows } = await client.query(`
    SELECT pg_is_in_recovery() AS standby, current_setting('server_encoding') AS encoding,
      current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commits,
      current_setting('full_page_writes') AS pages`)
  const { standby, encoding, fsync, commits, pages } = rows[0]
  if (standby) throw storeUnusable(place, 'it is a standby, which is read-only. Give the address of the primary')
  if (encoding !== 'UTF8') throw storeUnusable(place, `its encoding is ${encoding}. Create a database with UTF8`)
  const risks = [
    ...(fsync === 'off' ? ['fsync = off: after a crash of its machine the whole database may be lost'] : []),
    ...(commits === 'off' ? ['synchronous_commit = off: after a crash the last commits may be lost'] : []),
    ...(pages === 'off' ? ['full_page_writes = off: after a crash of its machine pages may be torn'] : []),
  ]
  const warnings = risks.map(
    risk => `The database at ${place} has ${risk}, though they were acknowledged. Set it to on.`,
  )
  return { durability: durabilityOf({ fsync, commits, pages }), warnings }
}

/** One caller at a time; the head is then locked. */
async function findOrCreate(client: pg.Client, place: string, schema: string): Promise<void> {
  const found = await client.query(
    'SELECT to_regnamespace($1) IS NOT NULL AS "isSchema", to_regclass($2) IS NOT NULL AS "isStore"',
    [schema, `${schema}.head`],
  )
  const { isSchema, isStore } = found.rows[0]
  // An administrator may have created it for a user who may not.
  if (!isSchema) await client.query(`CREATE SCHEMA ${schema}`)
  await client.query(`SET search_path = ${schema}`)
  if (!isStore) {
    await client.query(`${TABLES} ${SHARED_TABLES} ${ATTACH_TABLES}`)
    const numbers = Buffer.from(encodeNumbers({ last: 0, dropped: [] })).toString()
    // The log begins when a server first attaches to the store.
    const columns = 'format, log, position, trimmed_to, time_ms, set_ms, engine, index_numbers'
    await client.query(`INSERT INTO head (${columns}) VALUES ($1, '', 0, 0, 0, 0, '', $2)`, [FORMAT_VERSION, numbers])
    return
  }
  const { rows } = await client.query('SELECT format FROM head FOR UPDATE')
  const { format } = rows[0]
  if (format > SHARED_FORMAT_VERSION) {
    throw storeUnusable(place, `its tables have format ${format}, of a newer Freshet. Update this one`)
  }
  const added = await client.query(
    `SELECT to_regclass('unnoted') IS NOT NULL AND to_regclass('skipped') IS NOT NULL AS "areThere"`,
  )
  if (!added.rows[0].areThere) await client.query(`${SHARED_TABLES} ${ATTACH_TABLES}`)
}

function openingFailed(place: string, error: unknown): unknown {
  const reason = toEngineError(place, error, false)
  return reason instanceof EngineLost ? storeUnavailable(place, reason, 'not-done') : reason
}
