/**
 * How long the paper's table scan takes over 1 to 9 shards while all shards are written to now and then: with results cached by
 * version, and with the fan-out alone. The data is the same for every number of shards, and divided among them.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@freshet/client'
import { createSql, type SqlSession } from '@freshet/shards/client'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'
import { EMPLOYEES, fillEmployees, GLOBAL, SHARDED } from '../../shard-load/employees.js'
import { startSqlFleet } from '../../shard-load/sql-fleet.js'

const FULL = { shardCounts: [1, 2, 3, 4, 5, 6, 7, 8, 9], requests: 100, employees: EMPLOYEES, writesEveryMs: 20_000 }
const QUICK = { shardCounts: [1, 3, 9], requests: 20, employees: 9000, writesEveryMs: 5000 }
/** Table 1 of the paper, in ms. */
const PAPER_MEAN = [331.66, 518.83, 361.06, 349, 352.11, 372.76, 370.88, 377.5, 418.49]
const PAPER_MEDIAN = [327.05, 379.05, 346.57, 344.22, 332.51, 351.1, 371.76, 360.17, 381.65]
const RATIO_MAX = 1.1
/** The pause between requests, so that the requests meet several writes and the time between writes. */
const PAUSE_MS = 100

type Setup = typeof FULL

interface Latencies {
  readonly meanMs: number
  readonly medianMs: number
}

interface Measured {
  readonly shards: number
  readonly cached: Latencies
  readonly fanOut: Latencies
  readonly writes: number
}

export const aggTable1: Experiment = {
  source: 'Venkateswaran et al. 2018, table 1 and figures 5 to 7',
  run: async context => toResult(await measureAll(context)),
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<Measured[]> {
  const setup = quick ? QUICK : FULL
  const results: Measured[] = []
  for (const shards of setup.shardCounts) {
    const show = (done: number, label: string) =>
      progress(results.length + done, setup.shardCounts.length, `${shards} shards: ${label}`)
    results.push(await measure(shards, setup, random.fork(`${shards}`), show))
  }
  return results
}

async function measure(
  shards: number,
  { requests, employees, writesEveryMs }: Setup,
  random: Random,
  show: (done: number, label: string) => void,
): Promise<Measured> {
  const from = Array.from({ length: shards }, (_, i) => Math.floor((i * employees) / shards))
  const fleet = await startSqlFleet({
    ...{ shards, from, sharded: SHARDED, global: GLOBAL },
    servers: [{ localWrites: false }, { localWrites: true }],
    settings: { innodb_buffer_pool_size: '192M' },
    fill: async (connection, i) => {
      show(0.3 * (i / shards), `filling shard ${i + 1}`)
      await fillEmployees(connection, from[i]!, from[i + 1] ?? employees)
    },
    onStarted: (done, total) => show(0, `started ${done} of ${total} servers`),
  })
  const dbs = await Promise.all(fleet.servers.map(({ url }) => connect(url, { timeoutMs: 120_000 })))
  try {
    const [cached, fanOut] = dbs.map(db => createSql(db)) as [SqlSession, SqlSession]
    const writer = startWriter(fanOut, writesEveryMs, random)
    const times = { cached: [] as number[], fanOut: [] as number[] }
    for (let i = 0; i < requests; i++) {
      show(0.4 + (0.6 * i) / requests, `request ${i + 1}`)
      times.cached.push(await timeOf(cached, employees))
      times.fanOut.push(await timeOf(fanOut, employees))
      await delay(PAUSE_MS)
    }
    const { writes } = await writer.stop()
    return { shards, cached: latenciesOf(times.cached), fanOut: latenciesOf(times.fanOut), writes }
  } finally {
    for (const db of dbs) db.close()
    await fleet.stop()
  }
}

/** Adds 1 to every salary, at random times. */
function startWriter(
  { global }: SqlSession,
  everyMs: number,
  random: Random,
): { stop(): Promise<{ readonly writes: number }> } {
  let isOver = false
  let writes = 0
  const controller = new AbortController()
  const work = (async () => {
    while (!isOver) {
      await delay(random.exponential(1 / everyMs), undefined, { signal: controller.signal }).catch(() => undefined)
      if (isOver) return
      await global`update salaries set salary = salary + ${1}`
      writes++
    }
  })()
  return {
    stop: async () => {
      isOver = true
      controller.abort()
      await work
      return { writes }
    },
  }
}

/** The paper's listing 1. It groups by every selected column, which the paper's MySQL did not require. */
async function timeOf({ sql }: SqlSession, employees: number): Promise<number> {
  const startedMs = performance.now()
  const { rows } = await sql<{ n: number }>`select count(*) as n from (
    select s.emp_no, e.first_name, e.last_name, max(s.salary) from salaries as s, employees as e
    where s.emp_no = e.emp_no and s.emp_no < ${employees} and s.emp_no > ${-1}
    group by s.emp_no, e.first_name, e.last_name) as scanned`
  const tookMs = performance.now() - startedMs
  if (rows[0]?.n !== employees) throw new Error(`There are ${employees} employees, and ${rows[0]?.n} were counted.`)
  return tookMs
}

function latenciesOf(times: readonly number[]): Latencies {
  const sorted = [...times].sort((a, b) => a - b)
  const meanMs = sorted.reduce((sum, each) => sum + each, 0) / sorted.length
  return { meanMs, medianMs: sorted[Math.floor(sorted.length / 2)]! }
}

function toResult(results: readonly Measured[]): ExperimentResult {
  const [first, last] = [results[0]!, results.at(-1)!]
  const ratio = (of: 'cached' | 'fanOut') => last[of].medianMs / first[of].medianMs
  const round = (ms: number | undefined) => (ms === undefined ? undefined : Math.round(ms * 100) / 100)
  return {
    summary: { ratioCached: ratio('cached'), ratioFanOut: ratio('fanOut'), shards: last.shards },
    points: results,
    tables: [
      {
        title: 'Latency of the table scan, in ms',
        columns: [
          ...['shards', 'mean, kept', 'median, kept', 'mean, fan-out', 'median, fan-out'],
          ...['mean, paper', 'median, paper', 'global writes'],
        ],
        rows: results.map(({ shards, cached, fanOut, writes }) => [
          ...[shards, round(cached.meanMs), round(cached.medianMs), round(fanOut.meanMs), round(fanOut.medianMs)],
          ...[PAPER_MEAN[shards - 1], PAPER_MEDIAN[shards - 1], writes],
        ]),
      },
    ],
    plots: [
      {
        name: 'latency-by-shards',
        chart: {
          kind: 'bars',
          title: 'Median latency of the table scan, by number of shards',
          subtitle: 'the same data, divided among the shards; every salary is raised now and then',
          y: { name: 'ms', min: 0 },
          categories: results.map(({ shards }) => `${shards}`),
          series: [
            { name: 'paper', values: results.map(({ shards }) => PAPER_MEDIAN[shards - 1]!) },
            { name: 'fan-out alone', values: results.map(({ fanOut }) => fanOut.medianMs) },
            { name: 'results kept', values: results.map(({ cached }) => cached.medianMs) },
          ],
        },
      },
    ],
    verdicts: (['cached', 'fanOut'] as const).map(of => ({
      claim: `the median over ${last.shards} shards is at most ${RATIO_MAX} times that over ${first.shards}, ${of === 'cached' ? 'results cached' : 'fan-out alone'}`,
      holds: ratio(of) <= RATIO_MAX,
      detail: `${ratio(of).toFixed(2)} (the paper: 1.17)`,
    })),
  }
}
