/**
 * The store in PostgreSQL against the driver alone, and what it costs that positions come in the order of commits; durable, 500 bytes,
 * 64 in flight in all, with one server and with two.
 */
import { type RunningPostgres, startPostgres } from '@freshet/stores/under-test/start-postgres'
import pg from 'pg'
import { requirePostgres } from '../../engines/postgres.js'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { measureSideBySide, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { type PostgresKind, type PostgresMeasure, type PostgresSettings, TABLES } from './postgres-worker.js'

const IN_FLIGHT = 64
const KINDS: readonly PostgresKind[] = ['freshet', 'driver', 'ordered', 'unordered']
const SERVERS = [1, 2]
const FULL = { commits: 6400, gets: 20_000, rounds: 7 }
const QUICK = { commits: 3200, gets: 10_000, rounds: 3 }

type PostgresContender = PreparedContender<undefined, PostgresMeasure>

export const postgres: Bench = {
  name: 'postgres',
  title: 'Commits and reads in PostgreSQL: the store against the driver alone; and the price of order',
  async run(context) {
    requirePostgres()
    const server = await startPostgres()
    try {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      await client.query(TABLES)
      await client.end()
      return await measure(context, server)
    } finally {
      await server.stop()
    }
  },
}

async function measure({ quick, progress }: BenchContext, { url }: RunningPostgres): Promise<BenchResult> {
  const { rounds, commits, gets } = quick ? QUICK : FULL
  const contenders: PostgresContender[] = []
  try {
    for (const kind of KINDS) {
      for (const servers of SERVERS) contenders.push(await startFleet(kind, servers, { url, commits, gets }))
    }
    const onTurn = (done: number, total: number, name: string) => progress(done, total, name)
    const measures = ['commit', 'get'] as const
    return report(await measureSideBySide<PostgresMeasure>({ contenders, measures, rounds, onTurn }))
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

/** Several processes that work at the same time, as one contender. */
async function startFleet(
  kind: PostgresKind,
  servers: number,
  { url, commits, gets }: Pick<PostgresSettings, 'url' | 'commits' | 'gets'>,
): Promise<PostgresContender> {
  const name = nameOf(kind, servers)
  const module = new URL('./child.js', import.meta.url)
  const share = { inFlight: IN_FLIGHT / servers, commits: commits / servers, gets: gets / servers }
  const children = await Promise.all(
    Array.from({ length: servers }, (_, server) => {
      const settings: PostgresSettings = { kind, url, server, ...share }
      return startChild<undefined, PostgresMeasure>({ name: `${name}, ${server}`, module, settings })
    }),
  )
  return {
    name,
    details: undefined,
    async round() {
      const readings = await Promise.all(children.map(child => child.round()))
      // Until the last is done; each has done a share.
      const slowest = (measure: PostgresMeasure) => Math.max(...readings.map(each => each[measure])) / servers
      return { commit: slowest('commit'), get: slowest('get') }
    },
    stop: async () => {
      await Promise.all(children.map(child => child.stop()))
    },
  }
}

function report(standings: readonly Standing<PostgresMeasure>[]): BenchResult {
  const ratio = (of: PostgresKind, to: PostgresKind, servers: number, measure: PostgresMeasure) =>
    Number(speedRatio(standings, nameOf(of, servers), nameOf(to, servers), measure).toPrecision(3))
  const perServers = (of: PostgresKind, to: PostgresKind, measure: PostgresMeasure) =>
    Object.fromEntries(SERVERS.map(servers => [servers, ratio(of, to, servers, measure)]))
  return {
    summary: {
      inFlight: IN_FLIGHT,
      commitsToDriver: perServers('freshet', 'driver', 'commit'),
      readsToDriver: perServers('freshet', 'driver', 'get'),
      orderedToUnordered: perServers('ordered', 'unordered', 'commit'),
    },
    tables: [
      {
        title: `${IN_FLIGHT} in flight in all, per second`,
        columns: ['', 'commits', 'reads'],
        rows: standings.map(({ name, medians: { commit, get } }) => [
          name,
          Math.round(1e9 / commit),
          get === 0 ? '' : Math.round(1e9 / get),
        ]),
      },
    ],
    notes: [
      'ordered and unordered: batches as the store makes them, with positions from a locked row, or from a sequence.',
      'driver: a connection for each commit that is in flight; reads pipelined on one.',
    ],
  }
}

function nameOf(kind: PostgresKind, servers: number): string {
  return `${kind}, ${servers} ${servers === 1 ? 'server' : 'servers'}`
}
