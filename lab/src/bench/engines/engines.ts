/**
 * Stores in engines against their drivers alone, durable, 500 bytes, 64 in flight in all, with one server and with two. In PostgreSQL
 * also what it costs that positions come in the order of commits.
 */
import { DURABLE, startRedis } from '@freshet/stores/under-test/redis'
import { startCassandra } from '@freshet/stores/under-test/start-cassandra'
import { startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { startPostgres } from '@freshet/stores/under-test/start-postgres'
import { requirePostgres } from '../../engines/postgres.js'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { measureSideBySide, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { prepareCassandra } from './cassandra-targets.js'
import type { EngineKind, EngineName, EnginesSettings } from './engine-target.js'
import type { EnginesMeasure } from './engines-worker.js'
import { prepareMariadb } from './mariadb-targets.js'
import { preparePostgres } from './postgres-targets.js'

const IN_FLIGHT = 64
const KINDS: Readonly<Record<EngineName, readonly EngineKind[]>> = {
  PostgreSQL: ['freshet', 'driver', 'cached', 'client', 'ordered', 'unordered'],
  MariaDB: ['freshet', 'driver', 'cached', 'client'],
  Redis: ['freshet', 'driver', 'cached', 'client', 'bare'],
  Cassandra: ['freshet', 'driver', 'cached', 'client'],
}
const START: Readonly<Record<EngineName, () => Promise<{ readonly url: string; stop(): Promise<void> }>>> = {
  async PostgreSQL() {
    const server = await startPostgres()
    await preparePostgres(server.url)
    return server
  },
  async MariaDB() {
    const server = await startMariadb({ settings: { max_connections: '500' } })
    await prepareMariadb(server.url)
    return server
  },
  Redis: () => startRedis({ settings: DURABLE }),
  async Cassandra() {
    const node = await startCassandra({ settings: PATIENT })
    await prepareCassandra(node.url)
    return node
  },
}
const PATIENT = { write_request_timeout: '20s', cas_contention_timeout: '20s', read_request_timeout: '20s' }
const SERVERS = [1, 2]
const FULL = { commits: 6400, gets: 20_000, rounds: 7 }
const QUICK = { commits: 3200, gets: 10_000, rounds: 3 }
/** Cached ones are so many more: it is not the first read that is of interest. */
const CACHED_TIMES = 10
const READS_MIN = 0.6
const CACHED_MIN = 2
const COMMITS_MIN = 0.5

type FleetSettings = Omit<EnginesSettings, 'server' | 'store' | 'inFlight'>
type EngineContender = PreparedContender<undefined, EnginesMeasure>

interface Measured {
  readonly engine: EngineName
  readonly standings: readonly Standing<EnginesMeasure>[]
}

export const engines: Bench = {
  name: 'engines',
  title: 'Commits and reads in PostgreSQL, MariaDB, Redis and Cassandra: the stores against the drivers alone',
  run: context => run(context, Object.keys(KINDS) as EngineName[]),
}

/** One engine by itself. */
export function engineBench(engine: EngineName): Bench {
  return {
    name: `engines-${engine.toLowerCase()}`,
    title: `Commits and reads in ${engine}: the store against the driver alone`,
    run: context => run(context, [engine]),
  }
}

async function run(context: BenchContext, names: readonly EngineName[]): Promise<BenchResult> {
  requirePostgres()
  const measured: Measured[] = []
  for (const [turn, engine] of names.entries()) {
    const server = await START[engine]()
    const progress: BenchContext['progress'] = (done, total, name) =>
      context.progress(turn * total + done, names.length * total, name)
    try {
      measured.push({ engine, standings: await measure({ ...context, progress }, engine, server.url) })
    } finally {
      await server.stop()
    }
  }
  return report(measured)
}

async function measure(
  { quick, progress }: BenchContext,
  engine: EngineName,
  url: string,
): Promise<readonly Standing<EnginesMeasure>[]> {
  const { rounds, commits, gets } = quick ? QUICK : FULL
  const contenders: EngineContender[] = []
  try {
    for (const kind of KINDS[engine]) {
      for (const servers of SERVERS) contenders.push(await startFleet({ engine, kind, url, commits, gets }, servers))
    }
    return await measureSideBySide<EnginesMeasure>({
      contenders,
      measures: ['commit', 'get'],
      rounds,
      onTurn: progress,
    })
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

/** Several processes that work at the same time, as one contender. */
async function startFleet(given: FleetSettings, servers: number): Promise<EngineContender> {
  const name = nameOf(given.kind, servers)
  const module = new URL('./child.js', import.meta.url)
  const gets = given.gets * (given.kind === 'cached' || given.kind === 'client' ? CACHED_TIMES : 1)
  const share = { inFlight: IN_FLIGHT / servers, commits: given.commits / servers, gets: gets / servers }
  const children = await Promise.all(
    Array.from({ length: servers }, (_, server) => {
      const settings: EnginesSettings = { ...given, ...share, store: `${given.kind}_${servers}`, server }
      return startChild<undefined, EnginesMeasure>({ name: `${name}, ${server}`, module, settings })
    }),
  )
  return {
    name,
    details: undefined,
    async round() {
      const readings = await Promise.all(children.map(child => child.round()))
      // Until the last is done; each has done a share.
      const slowest = (measure: EnginesMeasure) => Math.max(...readings.map(each => each[measure])) / servers
      return { commit: slowest('commit'), get: slowest('get') }
    },
    stop: async () => {
      await Promise.all(children.map(child => child.stop()))
    },
  }
}

function report(measured: readonly Measured[]): BenchResult {
  const summaries = Object.fromEntries(measured.map(each => [each.engine, summaryOf(each)]))
  return {
    summary: { inFlight: IN_FLIGHT, ...summaries },
    tables: measured.map(({ engine, standings }) => ({
      title: `${engine}, ${IN_FLIGHT} in flight in all, per second`,
      columns: ['', 'commits', 'reads'],
      rows: standings.map(({ name, medians: { commit, get } }) => [
        name,
        commit === 0 ? '' : Math.round(1e9 / commit),
        get === 0 ? '' : Math.round(1e9 / get),
      ]),
    })),
    notes: [
      ...measured.map(({ engine }) => {
        const { commitsToDriver, readsToDriver, cachedToDriver } = summaries[engine]!
        const both = (ratios: Readonly<Record<string, number>>) => SERVERS.map(servers => ratios[servers]).join(' and ')
        return (
          `${engine}, one server and two: commits ${both(commitsToDriver)} of the driver's (asked: ${COMMITS_MIN}), ` +
          `reads ${both(readsToDriver)} (asked: ${READS_MIN}), with the cache on ${both(cachedToDriver)} (asked: ${CACHED_MIN}).`
        )
      }),
      'driver: a connection for each upsert in flight, and reads pipelined on one (MariaDB: four); in Redis the same writes in a MULTI;',
      'in Cassandra, one node that flushes each write, both pipelined on one, and no lightweight transactions.',
      'Of the 5,000 objects that are read, 50 a second are changed. cached: reads in a server, which keeps them; as current as without. client: the same in its client, of all that was written a second ago.',
      'ordered and unordered: batches as the store makes them, with positions from a locked row, or from a sequence. bare: SET.',
    ],
  }
}

function summaryOf({ engine, standings }: Measured) {
  const perServers = (of: EngineKind, to: EngineKind, measure: EnginesMeasure) =>
    Object.fromEntries(
      SERVERS.map(servers => {
        const ratio = speedRatio(standings, nameOf(of, servers), nameOf(to, servers), measure)
        return [servers, Number(ratio.toPrecision(3))]
      }),
    )
  return {
    commitsToDriver: perServers('freshet', 'driver', 'commit'),
    readsToDriver: perServers('freshet', 'driver', 'get'),
    cachedToDriver: perServers('cached', 'driver', 'get'),
    clientToDriver: perServers('client', 'driver', 'get'),
    ...(engine === 'PostgreSQL' ? { orderedToUnordered: perServers('ordered', 'unordered', 'commit') } : {}),
    ...(engine === 'Redis' ? { commitsToSet: perServers('freshet', 'bare', 'commit') } : {}),
  }
}

function nameOf(kind: EngineKind, servers: number): string {
  return `${kind}, ${servers} ${servers === 1 ? 'server' : 'servers'}`
}
