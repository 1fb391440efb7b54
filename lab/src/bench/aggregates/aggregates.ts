/**
 * Repeated requests for the same average by department, over shards: results from the cache and results computed again, compared
 * with a naive fan-out, which compares no versions, and with one server that holds all data.
 */
import { connect } from '@freshet/client'
import { createSql, type SqlSession } from '@freshet/shards/client'
import { createPool, type Pool } from 'mariadb'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import type { Table } from '../../harness/experiment.js'
import { type Contender, measureSideBySide, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { fillEmployees, GLOBAL, SHARDED } from '../../shard-load/employees.js'
import { startSqlFleet } from '../../shard-load/sql-fleet.js'

const FULL = { shardCounts: [1, 3, 9], employees: 20_000, requests: 40, rounds: 7 }
const QUICK = { shardCounts: [1, 3], employees: 3000, requests: 20, rounds: 3 }
const IN_FLIGHT = 4
const KEPT = 'Freshet, cached'
const FAN_OUT = 'Freshet, computed again'
const NAIVE = 'naive fan-out'
const SINGLE = 'one server'

type Setup = typeof FULL
type Standings = readonly Standing<'request'>[]

export const aggregates: Bench = {
  async run({ quick, progress }: BenchContext): Promise<BenchResult> {
    const setup = quick ? QUICK : FULL
    const measured: { shards: number; standings: Standings }[] = []
    for (const shards of setup.shardCounts) {
      const show = (share: number, label: string) =>
        progress(measured.length + share, setup.shardCounts.length, `${shards} shards: ${label}`)
      measured.push({ shards, standings: await measure(shards, setup, show) })
    }
    return report(measured)
  },
}

async function measure(shards: number, setup: Setup, show: (share: number, label: string) => void): Promise<Standings> {
  const { employees, requests, rounds } = setup
  const from = Array.from({ length: shards }, (_, i) => Math.floor((i * employees) / shards))
  const fleet = await startSqlFleet({
    ...{ shards, from, sharded: SHARDED, global: GLOBAL },
    servers: [{ localWrites: false }, { localWrites: true }],
    fill: (connection, i) => fillEmployees(connection, from[i]!, from[i + 1] ?? employees),
    onStarted: (done, total) => show((0.4 * done) / total, `started ${done} of ${total} servers`),
  })
  const stops: (() => unknown)[] = [() => fleet.stop()]
  try {
    const dbs = await Promise.all(fleet.servers.map(({ url }) => connect(url, { timeoutMs: 120_000 })))
    const pools = [...fleet.engines, fleet.arbitrator].map(({ port }) => poolOf(port))
    stops.push(...dbs.map(db => () => db.close()), ...pools.map(pool => () => pool.end()))
    await fillWhole(pools.at(-1)!, employees)
    const [kept, fanOut] = dbs.map(db => createSql(db)) as [SqlSession, SqlSession]
    const asks: Readonly<Record<string, () => Promise<number>>> = {
      [KEPT]: () => ask(kept, employees),
      [FAN_OUT]: () => ask(fanOut, employees),
      [NAIVE]: () => askAll(pools.slice(0, -1), employees),
      [SINGLE]: () => askAll(pools.slice(-1), employees),
    }
    const contenders = Object.entries(asks).map(([name, work]) => contenderOf(name, requests, work))
    const onTurn = (done: number, total: number, name: string) => show(0.4 + (0.6 * done) / total, name)
    return await measureSideBySide({ contenders, measures: ['request'], rounds, onTurn })
  } finally {
    for (const stop of stops.reverse()) await stop()
  }
}

function poolOf(port: number): Pool {
  return createPool({ host: '127.0.0.1', port, user: 'root', database: 'freshet', connectionLimit: IN_FLIGHT })
}

/** Written past the log; no one writes to the log meanwhile. */
async function fillWhole(pool: Pool, employees: number): Promise<void> {
  const connection = await pool.getConnection()
  await fillEmployees(connection, 0, employees)
  connection.release()
}

/** Nanoseconds per request, with several in flight. */
function contenderOf(name: string, requests: number, work: () => Promise<number>): Contender<'request'> {
  const expected = work()
  return {
    name,
    round: async () => {
      const groups = await expected
      const startedNs = process.hrtime.bigint()
      let left = requests
      const workers = Array.from({ length: IN_FLIGHT }, async () => {
        while (left-- > 0) if ((await work()) !== groups) throw new Error(`${name} returned a different result.`)
      })
      await Promise.all(workers)
      return { request: Number(process.hrtime.bigint() - startedNs) / requests }
    },
  }
}

/** The number of groups. */
async function ask({ sql }: SqlSession, employees: number): Promise<number> {
  const { rows } = await sql`select d.dept_no, count(*) as n, avg(s.salary) as mean from dept_emp d
    join salaries s on s.emp_no = d.emp_no where d.emp_no between ${0} and ${employees} group by d.dept_no`
  return rows.length
}

async function askAll(pools: readonly Pool[], employees: number): Promise<number> {
  const text =
    'SELECT d.dept_no, COUNT(*) AS n, SUM(s.salary) AS total FROM dept_emp d JOIN salaries s ON s.emp_no = d.emp_no WHERE d.emp_no BETWEEN ? AND ? GROUP BY d.dept_no'
  const answers = await Promise.all(pools.map(pool => pool.execute(text, [0, employees])))
  const totals = new Map<string, number>()
  for (const { dept_no, total, n } of answers.flat())
    totals.set(dept_no, (totals.get(dept_no) ?? 0) + Number(total) / Number(n))
  return totals.size
}

/** The cost of one request, by number of shards. */
function costTable(measured: readonly { shards: number; standings: Standings }[]): Table {
  const names = [KEPT, FAN_OUT, NAIVE, SINGLE]
  return {
    title: 'ms per request, by number of shards',
    columns: ['shards', ...names],
    rows: measured.map(({ shards, standings }) => [
      shards,
      ...names.map(name => {
        const { medians } = standings.find(standing => standing.name === name)!
        return Number((medians.request / 1e6).toPrecision(3))
      }),
    ]),
  }
}

function report(measured: readonly { shards: number; standings: Standings }[]): BenchResult {
  const ratio = (standings: Standings, name: string, to: string) =>
    Number(speedRatio(standings, name, to, 'request').toPrecision(3))
  const tables: Table[] = measured.map(({ shards, standings }) => ({
    title: `${shards} shards, ${IN_FLIGHT} requests in flight`,
    columns: ['', 'requests a second', 'of the naive fan-out', 'of one server'],
    rows: standings.map(({ name, medians }) => [
      ...[name, Math.round(1e9 / medians.request)],
      ...[ratio(standings, name, NAIVE), ratio(standings, name, SINGLE)],
    ]),
  }))
  return {
    summary: {
      ratioToNaive: Object.fromEntries(
        measured.map(({ shards, standings }) => [
          shards,
          { kept: ratio(standings, KEPT, NAIVE), foundAnew: ratio(standings, FAN_OUT, NAIVE) },
        ]),
      ),
      ratioToOneServer: Object.fromEntries(
        measured.map(({ shards, standings }) => [
          shards,
          { kept: ratio(standings, KEPT, SINGLE), foundAnew: ratio(standings, FAN_OUT, SINGLE) },
        ]),
      ),
      perSecond: Object.fromEntries(
        measured.map(({ shards, standings }) => [
          shards,
          Object.fromEntries(standings.map(({ name, medians }) => [name, Math.round(1e9 / medians.request)])),
        ]),
      ),
    },
    tables: [...tables, costTable(measured)],
    notes: [
      'All servers share this machine: more shards add no processors, so the figures show the cost of asking them.',
    ],
  }
}
