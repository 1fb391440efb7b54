/**
 * A store in a MariaDB database, for any number of servers at once. The names of its tables have a prefix of their own; the
 * first server that opens the store creates them.
 *
 * Positions are never given twice, even if the engine has lost its last moments (a replica that was behind took over; a
 * machine that did not flush went down). A server that finds the engine restarted, or has lost its connection, makes
 * positions continue from the time of day (`positionAtTime`) before it commits anything. If something that was acknowledged
 * may be lost, the log becomes another one (`attach.ts`).
 */

import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import type { LogPlace, Store, StoreSupports } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import type { Head } from '@freshet/store/database'
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
import type { Connection } from 'mariadb'
import { attach } from './attach.js'
import { dialOne, MariadbConnection } from './mariadb-connection.js'
import { MariadbDatabase } from './mariadb-database.js'
import { toEngineError } from './mariadb-errors.js'
import { addressOf, type Where } from './mariadb-hosts.js'
import { createStandby } from './mariadb-views.js'
import { durabilityOf, risksOf, SETTINGS, settingsIn } from './settings.js'
import { settle } from './settle.js'
import { FORMAT_VERSION, SHARED_FORMAT_VERSION, Statements, tablesFor } from './statements.js'
import { describeAgain, finishTables } from './tables/table-records.js'

export interface MariadbStoreOptions {
  /**
   * `mariadb://user:password@host:3306/database`, or `mysql://`; with `?ssl=true` the connection is encrypted. With several
   * hosts, `mariadb://user@host:3306,host:3307/database`, the store uses the one that is not read-only. Replicas that may
   * serve reads: `?replicas=host:port,host:port`.
   */
  readonly url: string
  /** The prefix of the table names; `freshet_` by default. */
  readonly prefix?: string
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

const READS = 4
const STATES = 4
const WAIT_MS_MAX = 5_000
const PATIENCE_MS = 10_000
const PREFIX = /^[a-z_][a-z0-9_]{0,31}$/
/** Larger values, and batches of values, would not fit. */
const PACKET_BYTES_MIN = 4 * 1024 * 1024

interface Opening {
  readonly attached: Attached
  readonly durability: StoreSupports['durability']
  readonly warnings: readonly string[]
  readonly packetBytesMax: number
  /** The database, on its server, that holds the store. */
  readonly database: string
  /** Tables of other programs are buckets; if making them buckets was interrupted, it must be finished. */
  readonly sharesTables: boolean
}

/**
 * Throws STORE_UNAVAILABLE if no server answers; STORE_UNUSABLE if it refuses the user, is read-only, or was written by a
 * newer Freshet.
 */
export function openMariadbStore(options: MariadbStoreOptions): Promise<Store> {
  return openSqlStore(options)
}

export async function openSqlStore(options: MariadbStoreOptions): Promise<EngineStore<DatabaseEngine>> {
  const { url, prefix = 'freshet_', onWarning = text => process.emitWarning(text) } = options
  const { scanMax = SCAN_MAX_DEFAULT, retentionMs = RETENTION_MS_DEFAULT } = options
  const { waitMsMax = WAIT_MS_MAX, patienceMs = PATIENCE_MS } = options
  if (!PREFIX.test(prefix)) throw new TypeError(`${JSON.stringify(prefix)} cannot be the prefix of table names.`)
  const { hosts, place, replicas } = addressOf(url)
  const opening = await open({ hosts, place }, prefix, patienceMs, knownFrom(options.recalled))
  const { attached, durability, packetBytesMax } = opening
  for (const warning of opening.warnings) onWarning(warning)
  if (opening.sharesTables) {
    await finishTables(url, prefix, onWarning).catch(error => onWarning(`Rows may be missing in buckets: ${error}`))
  }
  const statements = new Statements(prefix)
  const opened: { engine?: DatabaseEngine } = {}
  const lines: MariadbConnection[] = []
  const attachment = new Attachment(attached, () => {
    for (const each of lines) each.drop()
    opened.engine?.startOver()
  })
  const standbys = replicas.map(own => {
    const prepare = (connection: Connection) => settleStandby(connection, own.place, prefix, patienceMs, attachment.log)
    const some = (count: number) =>
      Array.from({ length: count }, () => new MariadbConnection({ ...own, packetBytesMax, patienceMs, prepare }))
    const [reads, states] = [some(READS), some(STATES)]
    lines.push(...reads, ...states)
    return createStandby({ place: own.place, statements, reads, states })
  })
  const line = (isolation: string, mustSkip = false): MariadbConnection => {
    const made = new MariadbConnection({
      hosts,
      place,
      packetBytesMax,
      patienceMs,
      prepare: async (connection, isFirst) => {
        const isSkipping = mustSkip && !isFirst
        await settle(connection, isolation, patienceMs)
        attachment.attach(await attach(connection, { prefix, known: attachment.known, isSkipping }))
        if (isSkipping) opened.engine?.startOver()
      },
    })
    lines.push(made)
    return made
  }
  const hasReplicas = replicas.length > 0
  // The connections that report positions.
  const reads = Array.from({ length: READS }, () => line('REPEATABLE READ', hasReplicas))
  const durableReads = line('REPEATABLE READ', hasReplicas)
  const database = new MariadbDatabase({
    place,
    statements,
    store: { database: opening.database, prefix },
    describeTablesAgain: () => describeAgain(url, prefix),
    waitMsMax,
    packetBytesMax,
    isFlushed: durability === 'disk',
    reads,
    writes: line('READ COMMITTED', true),
    others: line('READ COMMITTED'),
    durableReads,
    states: Array.from({ length: STATES }, () => line('REPEATABLE READ')),
  })
  const supports: StoreSupports = { durability, retentionMs }
  try {
    // A connection that is made later may reach another database, and make its positions continue from the time of day.
    if (hasReplicas) await Promise.all([...reads, durableReads].map(each => each.connected()))
    await database.head()
    const engine = await DatabaseEngine.open({ database, supports, attachment, waitMsMax, standbys, onWarning })
    opened.engine = engine
    database.follow(
      () => !engine.listeners.isEmpty,
      head => hearOf(engine, head),
    )
    return new EngineStore({ engine, scanMax })
  } catch (error) {
    await database.close()
    throw openingFailed(place, error)
  }
}

function hearOf(engine: DatabaseEngine, { position, isPending }: Head): void {
  engine.hear(position)
  if (isPending) engine.look()
}

/** Sets up a connection to a replica; throws if it is not one of this store. */
async function settleStandby(
  connection: Connection,
  place: string,
  prefix: string,
  patienceMs: number,
  log: string,
): Promise<void> {
  await settle(connection, 'REPEATABLE READ', patienceMs)
  const [head] = await connection.query(`SELECT log FROM ${prefix}head`)
  if (String(head?.[0]) !== log)
    throw storeUnusable(place, 'it holds another store. Give the address of a replica of this one')
}

async function open({ hosts, place }: Where, prefix: string, patienceMs: number, known: Known): Promise<Opening> {
  let connection: Connection | undefined
  try {
    connection = await hosts.first(async config => {
      const { connection } = await dialOne(config, { place, patienceMs, isOneOfSeveral: hosts.isSeveral })
      return connection
    })
    const found = await inspect(connection, place)
    await settle(connection, 'READ COMMITTED', patienceMs)
    const [[isLocked]] = await connection.query('SELECT GET_LOCK(?, ?)', [`freshet ${prefix}`, patienceMs / 1000])
    if (!isLocked) throw new Error('another server has been opening it for too long')
    await findOrCreate(connection, place, prefix)
    const attached = await attach(connection, { prefix, known, isSkipping: false })
    const shared = await connection.query(`SELECT 1 FROM ${prefix}exposed LIMIT 1`)
    return { attached, ...found, sharesTables: shared.length > 0 }
  } catch (error) {
    throw openingFailed(place, error)
  } finally {
    await connection?.end().catch(() => {})
  }
}

async function inspect(connection: Connection, place: string): Promise<Omit<Opening, 'attached' | 'sharesTables'>> {
  const [row] = await connection.query(`
    SELECT version(), @@read_only OR @@innodb_read_only, @@binlog_format, @@max_allowed_packet, DATABASE(), ${SETTINGS}`)
  const [version, isReadOnly, format, packetBytesMax, database, ...more] = row
  const settings = settingsIn(more)
  if (!/mariadb/i.test(version)) throw storeUnusable(place, `it is MySQL ${version}. Give the address of a MariaDB`)
  if (isReadOnly) throw storeUnusable(place, 'it is read-only, as a replica is. Give the address of the primary')
  if (settings.hasBinlog && format === 'STATEMENT') {
    throw storeUnusable(place, 'its binary log is kept as statements. Set binlog_format to MIXED or ROW')
  }
  if (packetBytesMax < PACKET_BYTES_MIN) {
    throw storeUnusable(place, `its max_allowed_packet is ${packetBytesMax}. Set it to ${PACKET_BYTES_MIN} or more`)
  }
  const warnings = risksOf(settings).map(risk => `The database at ${place} has ${risk}.`)
  return { durability: durabilityOf(settings), warnings, packetBytesMax, database }
}

/** One caller at a time. */
async function findOrCreate(connection: Connection, place: string, prefix: string): Promise<void> {
  const isStored = 'SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?'
  const has = async (table: string) => (await connection.query(isStored, [prefix + table])).length > 0
  const isThere = await has('head')
  // `unnoted` is the table that was added last.
  if (!(isThere && (await has('unnoted')))) for (const table of tablesFor(prefix)) await connection.query(table)
  const read = () => connection.query(`SELECT format FROM ${prefix}head`)
  let [head] = await read()
  if (head === undefined) {
    const numbers = Buffer.from(encodeNumbers({ last: 0, dropped: [] }))
    await connection.query(`INSERT IGNORE INTO ${prefix}flushes VALUES (1, 0)`)
    // The log begins when a server first attaches to the store.
    await connection.query(`INSERT INTO ${prefix}head VALUES (1, ?, '', 0, 0, 0, 0, ?)`, [FORMAT_VERSION, numbers])
    head = (await read())[0]
  }
  const [format] = head as [number]
  if (format > SHARED_FORMAT_VERSION) {
    throw storeUnusable(place, `its tables have format ${format}, of a newer Freshet. Update this one`)
  }
}

function openingFailed(place: string, error: unknown): unknown {
  const reason = toEngineError(place, error, false)
  return reason instanceof EngineLost ? storeUnavailable(place, reason, 'not-done') : reason
}
