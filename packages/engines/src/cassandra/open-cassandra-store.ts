/** Opens a store in Cassandra: connects, creates what is missing, and warns of settings that could lose acknowledged writes. */
import { createHash } from 'node:crypto'
import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import type { LogPlace, StoreSupports } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import { SharedClock } from '@freshet/store/clock'
import { retrying, storeUnusable } from '@freshet/store/engine'
import { ClockMeetings } from '../log/clock-meetings.js'
import { LogDatabase } from '../log/log-database.js'
import { LogEngine } from '../log/log-engine.js'
import { type CassandraAddress, checkOverlap, parseAddress } from './address.js'
import { ChangeLog } from './change-log.js'
import { readIdentity } from './identity.js'
import { CassandraRegisters } from './registers.js'
import { Rows } from './rows.js'
import { openingFailed, Session } from './session.js'
import { INDEXING_COLUMN, TABLES } from './statements.js'

export interface CassandraStoreOptions {
  /** `cassandra://host1,host2:9042/keyspace?replication=3`; for all options see `address.ts`. */
  readonly url: string
  /** How many entries a query may read for one page; 10,000 unless given. */
  readonly scanMax?: number
  /** How long operations are remembered, and how old an operation may be when it arrives; a day unless given. */
  readonly retentionMs?: number
  /** How long the store waits for nodes that do not answer; 5,000 unless given. */
  readonly waitMsMax?: number
  /** If a node does not answer within this time, another node is asked; 3,000 unless given. */
  readonly answerMsMax?: number
  /** Called with each risk that the settings bring; unless given, it becomes a warning of the process. */
  readonly onWarning?: (text: string) => void
  /** The log and position that an earlier process knew. If the store was restored to before that, it begins another log. */
  readonly recalled?: LogPlace | undefined
}

const WAIT_MS_MAX = 5_000
const ANSWER_MS_MAX = 3_000
const VERSION_MIN = 4
const ALTER_TRIES_MAX = 5
/** Paxos writes a record three times, each with some overhead. */
const SHARE_OF_MUTATION = 0.6

/**
 * Throws STORE_UNAVAILABLE if no node answers, STORE_UNUSABLE if Cassandra refuses the login or is too old, or if the levels in
 * the address would let reads miss writes.
 */
export async function openCassandraStore(options: CassandraStoreOptions): Promise<EngineStore<LogEngine>> {
  const { scanMax = SCAN_MAX_DEFAULT } = options
  const { retentionMs = RETENTION_MS_DEFAULT, onWarning = text => process.emitWarning(text) } = options
  const { waitMsMax = WAIT_MS_MAX, answerMsMax = ANSWER_MS_MAX } = options
  const address = parseAddress(options.url)
  const session = new Session({ address, answerMsMax })
  try {
    await session.connect()
    await prepare(session, address)
    const { warnings, durability, mutationBytesMax } = await inspect(session, address)
    for (const warning of warnings) onWarning(warning)
    const clock = new SharedClock()
    const opened: { engine?: LogEngine } = {}
    const { name } = address
    const database = await LogDatabase.open({
      place: session.place,
      changeLog: new ChangeLog(session, name, () => clock.nowMs()),
      rows: new Rows(session, name),
      waitMsMax,
      recordBytesMax: mutationBytesMax * SHARE_OF_MUTATION,
      readsNearest: address.readsNearest,
      recalled: options.recalled,
      identity: await readIdentity(session),
      nowMs: () => clock.nowMs(),
      onRecord: ({ position, timeMs }) => {
        clock.isAtLeast(timeMs)
        opened.engine?.hear(position)
      },
    })
    session.onNodeLost(() => database.distrust())
    const registers = new CassandraRegisters(session, name)
    const meetings = new ClockMeetings(registers, clock)
    await retrying({ place: session.place, waitMsMax }, () => meetings.begin(database.state.timeMs))
    const supports: StoreSupports = { durability, retentionMs }
    opened.engine = new LogEngine({
      ...{ kind: 'Cassandra', database, clock, meetings, registers, supports, waitMsMax },
      close: () => session.close(),
    })
    return new EngineStore({ engine: opened.engine, scanMax })
  } catch (error) {
    await session.close()
    throw openingFailed(session.place, error)
  }
}

/** Creates what is missing; several servers may do so at once. */
async function prepare(session: Session, { keyspace, replication, dc }: CassandraAddress): Promise<void> {
  const [found] = await session.ask('SELECT release_version AS version, data_center AS dc FROM system.local')
  const version = String(found?.version)
  if (Number.parseInt(version, 10) < VERSION_MIN) {
    throw storeUnusable(session.place, `it is Cassandra ${version}; ${VERSION_MIN} or newer is needed`)
  }
  const copies = `{'class': 'NetworkTopologyStrategy', '${dc ?? found?.dc}': ${replication}}`
  const existing = await session.ask('SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?', [keyspace])
  const tables = new Set(existing.map(({ table_name }) => table_name))
  // If everything exists, a user without the right to create tables is enough.
  const missing = Object.entries(TABLES).filter(([table]) => !tables.has(table))
  if (tables.size === 0) {
    await session.define(`CREATE KEYSPACE IF NOT EXISTS ${keyspace} WITH replication = ${copies}`)
  }
  for (const [table, columns] of missing) {
    const id = idOfTable(`${keyspace}.${table} ${columns}`)
    await session.define(`CREATE TABLE IF NOT EXISTS ${keyspace}.${table} (${columns}) WITH id = ${id}`)
  }
  if (tables.has('log')) await addIndexing(session, keyspace)
}

/** Adds the column to the log of an earlier version. */
async function addIndexing(session: Session, keyspace: string): Promise<void> {
  const query = `SELECT type FROM system_schema.columns
    WHERE keyspace_name = ? AND table_name = 'log' AND column_name = 'indexing'`
  for (let tries = 1; (await session.ask(query, [keyspace])).length === 0; tries++) {
    try {
      await session.define(`ALTER TABLE ${keyspace}.log ADD (${INDEXING_COLUMN})`)
    } catch (error) {
      // Another server may have added it at the same time.
      if (tries === ALTER_TRIES_MAX) throw error
    }
  }
}

/** Without a fixed id, two servers that create a table at the same moment would create two tables of one name. */
function idOfTable(text: string): string {
  const hash = createHash('md5').update(text).digest('hex')
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-3${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20)}`
}

interface Inspection {
  readonly durability: StoreSupports['durability']
  readonly warnings: readonly string[]
  readonly mutationBytesMax: number
}

async function inspect(session: Session, address: CassandraAddress): Promise<Inspection> {
  const { place } = address
  const copies = await copiesOf(session, address)
  checkOverlap(address, copies)
  const rows = await session.ask('SELECT name, value FROM system_views.settings')
  const settings = new Map(rows.map(({ name, value }) => [String(name), String(value)]))
  const sync = settings.get('commitlog_sync') ?? 'unknown'
  const isFlushed = sync === 'batch' || sync === 'group'
  const warnings = [
    ...(isFlushed
      ? []
      : [
          `Cassandra at ${place} has commitlog_sync: ${sync}: it acknowledges writes that are not on disk yet. They are lost ` +
            'if the machines of a majority of their copies fail within the same seconds. Set it to batch or group on every node.',
        ]),
    ...(copies === 1
      ? [
          `Cassandra at ${place} keeps one copy of keyspace ${address.keyspace}: if its node is lost, the data is lost, and ` +
            `while the node is away the store is unavailable. ALTER KEYSPACE ${address.keyspace} to a replication of 3.`,
        ]
      : []),
    ...(copies === 2
      ? [`Cassandra at ${place} keeps two copies of keyspace ${address.keyspace}: a majority needs both. Use 3 copies.`]
      : []),
  ]
  const kib = /^(\d+)KiB$/.exec(settings.get('max_mutation_size') ?? '')?.[1]
  return { durability: isFlushed ? 'disk' : 'relaxed', warnings, mutationBytesMax: Number(kib ?? 16_384) * 1024 }
}

/** How many copies there are, of which a majority is needed. */
async function copiesOf(session: Session, { keyspace, dc, place }: CassandraAddress): Promise<number> {
  const [found] = await session.ask('SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?', [
    keyspace,
  ])
  const replication = found?.replication as Map<string, string> | undefined
  const counts = [...(replication ?? [])].filter(([name]) => name !== 'class')
  if (dc === undefined) return counts.reduce((sum, [, count]) => sum + Number.parseInt(count, 10), 0)
  const here = counts.find(([name]) => name === dc || name === 'replication_factor')
  if (here === undefined) throw storeUnusable(place, `keyspace ${keyspace} has no copies in data centre ${dc}`)
  return Number.parseInt(here[1], 10)
}
