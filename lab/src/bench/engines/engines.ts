/**
 * Stores in engines compared with their bare drivers: durable, 500 bytes, 64 in flight in all, with one server and with two. In
 * PostgreSQL, also the cost of positions in commit order.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import { startCassandra } from '@freshet/engines/under-test/start-cassandra'
import { startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import type { EngineName } from '../../engines/engine-name.js'
import { requirePostgres } from '../../engines/postgres.js'
import { createSqliteFile } from '../../engines/sqlite.js'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import type { PreparedContender } from '../../harness/child-contender.js'
import { contenderProcess, measureTrees, type Tree, type TreeRow } from '../../harness/compare-trees.js'
import { nameFleet, startContenderFleet } from '../../harness/contender-fleet.js'
import { measureSideBySide, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { prepareCassandra } from './cassandra-targets.js'
import type { EngineKind, EnginesSettings } from './engine-target.js'
import type { EnginesMeasure } from './engines-worker.js'
import { prepareMariadb } from './mariadb-targets.js'
import { preparePostgres } from './postgres-targets.js'

const IN_FLIGHT = 64
const KINDS: Readonly<Record<EngineName, readonly EngineKind[]>> = {
  PostgreSQL: ['freshet', 'driver', 'cached', 'client', 'ordered', 'unordered'],
  MariaDB: ['freshet', 'driver', 'cached', 'client'],
  Redis: ['freshet', 'driver', 'cached', 'client', 'bare'],
  Cassandra: ['freshet', 'driver', 'cached', 'client'],
  SQLite: ['freshet', 'driver', 'cached', 'client'],
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
  SQLite: createSqliteFile,
}
const PATIENT = { write_request_timeout: '20s', cas_contention_timeout: '20s', read_request_timeout: '20s' }
const SERVERS = [1, 2]
const FULL = { commits: 6400, gets: 20_000, rounds: 7 }
const QUICK = { commits: 3200, gets: 10_000, rounds: 3 }
/** Processes differ for as long as they live, so more sittings help more than more rounds. */
const FULL_COMPARED = { commits: 6400, gets: 20_000, rounds: 3, sittings: 9 }
const QUICK_COMPARED = { commits: 3200, gets: 10_000, rounds: 5, sittings: 1 }
/** All kinds of our own code. */
const COMPARED: readonly EngineKind[] = ['freshet', 'cached', 'client']
/** How many times more cached reads there are: the first read of each object should matter little. */
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
  run: context => run(context, Object.keys(KINDS) as EngineName[]),
  compare: (context, trees) => compare(context, trees, Object.keys(KINDS) as EngineName[]),
}

/** One engine by itself. */
export function engineBench(engine: EngineName): Bench {
  return {
    run: context => run(context, [engine]),
    compare: (context, trees) => compare(context, trees, [engine]),
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

/** All by wall-clock time, since the work waits for the engine. Each tree has its own store in the same engine. */
async function compare(
  { quick, progress }: BenchContext,
  trees: readonly Tree[],
  names: readonly EngineName[],
): Promise<TreeRow[]> {
  const { rounds, sittings, commits, gets } = quick ? QUICK_COMPARED : FULL_COMPARED
  const rows: TreeRow[] = []
  for (const engine of names.filter(engine => trees.every(tree => isMeasuredBy(tree, engine)))) {
    const server = await START[engine]()
    try {
      for (const kind of COMPARED) {
        const ratios = await measureTrees<EnginesMeasure>({
          trees,
          measures: ['commit', 'get'],
          rounds,
          sittings,
          onTurn: (done, total, name) => progress(done, total, `${engine}, ${kind}, ${name}`),
          start: (tree, sitting) => startFleet({ engine, kind, url: server.url, commits, gets }, 1, { tree, sitting }),
        })
        rows.push({ name: `${engine}, ${kind}: reads`, decides: true, ratios: ratios.get })
        if (kind === 'freshet') rows.push({ name: `${engine}: commits`, decides: true, ratios: ratios.commit })
      }
    } finally {
      await server.stop()
    }
  }
  return rows
}

/** SQLite was added last: an older revision cannot measure it. */
function isMeasuredBy({ root }: Tree, engine: EngineName): boolean {
  return engine !== 'SQLite' || existsSync(join(root, 'lab/dist/bench/engines/sqlite-targets.js'))
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

function startFleet(
  given: FleetSettings,
  servers: number,
  of?: { readonly tree: Tree; readonly sitting: number },
): Promise<EngineContender> {
  const store = [given.kind, servers, ...(of ? [of.tree.name, of.sitting] : [])].join('_')
  const gets = given.gets * (given.kind === 'cached' || given.kind === 'client' ? CACHED_TIMES : 1)
  const share = { inFlight: IN_FLIGHT / servers, commits: given.commits / servers, gets: gets / servers }
  return startContenderFleet<EnginesMeasure>({
    name: nameFleet(given.kind, servers),
    module: of ? contenderProcess(of.tree, 'engines') : new URL('./contender-process.js', import.meta.url),
    servers,
    settingsOf: (server): EnginesSettings => ({ ...given, ...share, store, server }),
    shared: ['commit', 'get'],
  })
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
          `${engine}, one server and two: commits ${both(commitsToDriver)} of the driver's rate (target: ${COMMITS_MIN}), ` +
          `reads ${both(readsToDriver)} (target: ${READS_MIN}), with the cache ${both(cachedToDriver)} (target: ${CACHED_MIN}).`
        )
      }),
      'driver: a connection for each upsert in flight, and reads pipelined on one (MariaDB: four). In Redis, the same writes in a MULTI.',
      'In Cassandra, one node that flushes each write, both pipelined on one connection, and no lightweight transactions.',
      'In SQLite, reads and writes are synchronous, on one connection.',
      'Of the 5,000 objects read, 50 change per second. cached: reads in a server with its cache on, as current as without. client: the same in its client, at most a second old.',
      'ordered and unordered: batches as the store writes them, with positions from a locked row or from a sequence. bare: SET.',
    ],
  }
}

function summaryOf({ engine, standings }: Measured) {
  const perServers = (of: EngineKind, to: EngineKind, measure: EnginesMeasure) =>
    Object.fromEntries(
      SERVERS.map(servers => {
        const ratio = speedRatio(standings, nameFleet(of, servers), nameFleet(to, servers), measure)
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
