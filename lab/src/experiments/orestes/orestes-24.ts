/**
 * Figures 24 and 25 of the thesis: 50 clients in Ireland, the server in California, 165 ms round trip; objects of a social
 * network, drawn evenly, which is the worst case for caches; ten reads for each write; 300, 3,000 and 30,000 objects, three
 * runs each with the same caches. How much faster are the clients through caches than without?
 *
 * The thesis compares with its database's own protocol. Here both sides are Freshet's, and direct reads cost one round trip on
 * an open connection: the least that any protocol without a cache can do. Direct clients fill no cache, so one run stands for
 * three (in the thesis, too, the database did not get faster). The thesis does not say how many operations its clients made;
 * the more reads there are per object, the more a cache gains. In our first run the caches are empty, and with 30,000 objects
 * there are fewer reads than objects. Before the second run, other clients have read every object once.
 *
 * The possible gain is bounded: a transaction of 50 reads and 5 writes costs 51 direct round trips. Through caches it costs two,
 * for the commit alone (Squid opens a connection for each POST).
 *
 * Processes, caches and time are real; the long connection is emulated (`far-site.ts`). Every read is checked: reads through the
 * caches must show everything acknowledged more than a second before they began, direct reads must show everything.
 */
import { readAll } from '../../caches/read-all.js'
import { withCaches } from '../../caches/require-caches.js'
import { ReadChecker } from '../../coherence-load/read-checker.js'
import type { Chart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'
import { formatPercent } from '../../harness/table.js'
import {
  type ClientTimes,
  type FarWay,
  READS_PER_TRANSACTION,
  runFarClient,
  STALENESS_MS,
  WRITES_PER_TRANSACTION,
} from './far-client.js'
import { BUCKET, type FarSite, ROUND_TRIP_MS, startFarSite } from './far-site.js'
import { deviationOf, meanOf, rounded, sumOf } from './figures.js'

const CLIENTS = 50
const THESIS_FACTOR = { min: 2, max: 8 }
const FULL = { objects: [300, 3_000, 30_000], runs: 3, transactions: 10 }
const QUICK = { objects: [300], runs: 2, transactions: 1 }

interface RunResult {
  readonly objects: number
  readonly way: FarWay
  /** From 1; 0 for direct clients. */
  readonly run: number
  readonly clients: readonly ClientTimes[]
  readonly reads: number
  readonly violations: number
  readonly traces: readonly string[]
  /** The share of reads that did not reach the server. */
  readonly hitShare: number
}

export const orestes24: Experiment = {
  source: 'Gessert and Bücklers 2012, figures 24 and 25',
  run: withCaches(['squid', 'varnish'], async context => toResult(await measureAll(context), context.quick)),
}

async function measureAll(context: ExperimentContext): Promise<RunResult[]> {
  const { objects, runs, transactions } = context.quick ? QUICK : FULL
  const all = objects.length * (runs + 1) * CLIENTS * transactions * READS_PER_TRANSACTION
  let reads = 0
  const onRead = (label: string) => () => context.progress(++reads, all, label)
  const sites: FarSite[] = []
  try {
    for (const count of objects) sites.push(await startFarSite(count, context.random.fork(`fill ${count}`)))
    const results: RunResult[] = []
    for (const site of sites) {
      for (let run = 0; run <= runs; run++) {
        const way = run === 0 ? 'direct' : 'cached'
        const label = `${site.ids.length} objects, ${run === 0 ? 'direct' : `run ${run}`}`
        const random = context.random.fork(label)
        if (run === 2) await readAll(site.nearUrl, site.ids.map(pathOf))
        results.push(await runClients({ site, way, run, transactions, random, onRead: onRead(label) }))
      }
    }
    return results
  } finally {
    await Promise.all(sites.map(site => site.stop()))
  }
}

function pathOf(id: string): string {
  return `/db/${BUCKET}/${id}`
}

interface RunOptions {
  readonly site: FarSite
  readonly way: FarWay
  readonly run: number
  readonly transactions: number
  readonly random: Random
  readonly onRead: () => void
}

async function runClients({ site, way, run, transactions, random, onRead }: RunOptions): Promise<RunResult> {
  const checker = new ReadChecker(site.history)
  const before = site.origin.dataReads
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, i) =>
      runFarClient({ site, way, transactions, checker, random: random.fork(`client ${i}`), onRead }),
    ),
  )
  return {
    objects: site.ids.length,
    way,
    run,
    clients,
    reads: checker.reads,
    violations: checker.violationCount,
    traces: checker.traces,
    hitShare: 1 - (site.origin.dataReads - before) / checker.reads,
  }
}

function toResult(results: readonly RunResult[], isQuick: boolean): ExperimentResult {
  const pairs = toPairs(results)
  const columns = [
    ...['objects', 'run', 'direct / s', '±', 'through caches / s', '±', 'times faster'],
    ...['from caches', 'direct read / ms', 'reads checked', 'stale'],
  ]
  const rows = pairs.map(({ objects, run, direct, cached, factor }) => [
    ...[objects, run, rounded(secondsOf(direct), 1), rounded(spreadOf(direct), 1)],
    ...[rounded(secondsOf(cached), 1), rounded(spreadOf(cached), 1), rounded(factor, 1)],
    ...[formatPercent(cached.hitShare), Math.round(readMsOf(direct))],
    ...[cached.reads + direct.reads, cached.violations + direct.violations],
  ])
  return {
    summary: {
      roundTripMs: ROUND_TRIP_MS,
      directReadMs: rounded(meanOf(results.filter(({ way }) => way === 'direct').map(readMsOf)), 1),
      reads: sumOf(results.map(({ reads }) => reads)),
      stale: sumOf(results.map(({ violations }) => violations)),
      timesFaster: Object.fromEntries(byObjects(pairs).map(({ objects, factor }) => [objects, rounded(factor, 2)])),
    },
    points: pairs.map(({ objects, run, direct, cached, factor }) => ({
      ...{ objects, run, factor, directS: secondsOf(direct), cachedS: secondsOf(cached), hitShare: cached.hitShare },
    })),
    tables: [
      { title: `Figure 24: ${CLIENTS} clients, ${ROUND_TRIP_MS} ms from the server`, columns, rows },
      byObjectsTable(pairs),
      operationsTable(results),
    ],
    plots: [
      { name: 'figure-24', chart: timesChart(pairs) },
      { name: 'figure-25', chart: operationsChart(results) },
    ],
    verdicts: verdictsOf(results, pairs, isQuick),
  }
}

interface Pair {
  readonly objects: number
  readonly run: number
  readonly direct: RunResult
  readonly cached: RunResult
  readonly factor: number
}

function toPairs(results: readonly RunResult[]): Pair[] {
  return results
    .filter(({ way }) => way === 'cached')
    .map(cached => {
      const { objects, run } = cached
      const direct = results.find(each => each.way === 'direct' && each.objects === objects)!
      return { objects, run, direct, cached, factor: secondsOf(direct) / secondsOf(cached) }
    })
}

/** The mean over the clients. */
function secondsOf({ clients }: RunResult): number {
  return meanOf(clients.map(({ totalMs }) => totalMs)) / 1000
}

/** The round trip plus what this machine adds, which is much more if the machine is busy. */
function readMsOf({ clients, reads }: RunResult): number {
  return sumOf(clients.map(({ readMs }) => readMs)) / reads
}

function spreadOf({ clients }: RunResult): number {
  return deviationOf(clients.map(({ totalMs }) => totalMs)) / 1000
}

/** Over all runs. */
function byObjects(pairs: readonly Pair[]): { readonly objects: number; readonly factor: number }[] {
  return [...new Set(pairs.map(({ objects }) => objects))].map(objects => {
    const own = pairs.filter(pair => pair.objects === objects)
    const seconds = (way: FarWay) => sumOf(own.map(pair => secondsOf(pair[way])))
    return { objects, factor: seconds('direct') / seconds('cached') }
  })
}

function byObjectsTable(pairs: readonly Pair[]): ExperimentResult['tables'][number] {
  return {
    title: 'All runs together',
    columns: ['objects', 'times faster', 'thesis'],
    rows: byObjects(pairs).map(({ objects, factor }) => [
      ...[objects, rounded(factor, 1), `${THESIS_FACTOR.min} to ${THESIS_FACTOR.max}`],
    ]),
  }
}

const OPERATIONS = [
  { name: 'reads', of: ({ readMs }: ClientTimes) => readMs },
  { name: 'commits', of: ({ writeMs }: ClientTimes) => writeMs },
  { name: 'connecting', of: ({ connectMs }: ClientTimes) => connectMs },
]

/** For the largest number of objects, as in the thesis; the mean over the runs and the clients. */
function operationSeconds(results: readonly RunResult[], way: FarWay): number[] {
  const objects = Math.max(...results.map(each => each.objects))
  const own = results.filter(each => each.objects === objects && each.way === way)
  return OPERATIONS.map(({ of }) => meanOf(own.map(({ clients }) => meanOf(clients.map(of)) / 1000)))
}

function operationsTable(results: readonly RunResult[]): ExperimentResult['tables'][number] {
  const [direct, cached] = (['direct', 'cached'] as const).map(way => operationSeconds(results, way))
  return {
    title: `Figure 25: where the time goes, ${Math.max(...results.map(({ objects }) => objects))} objects, mean of the runs`,
    columns: ['operation', 'direct / s', 'through caches / s'],
    rows: OPERATIONS.map(({ name }, i) => [name, rounded(direct![i]!, 2), rounded(cached![i]!, 2)]),
  }
}

function timesChart(pairs: readonly Pair[]): Chart {
  return {
    kind: 'bars',
    title: `Time taken by ${CLIENTS} clients, ${ROUND_TRIP_MS} ms from the server`,
    subtitle: `${READS_PER_TRANSACTION} reads and ${WRITES_PER_TRANSACTION} writes a transaction; objects drawn evenly`,
    y: { name: 'seconds, mean of the clients', min: 0 },
    categories: pairs.map(({ objects, run }) => `${objects} objects, run ${run}`),
    series: [
      { name: 'direct', values: pairs.map(({ direct }) => secondsOf(direct)) },
      { name: 'through Squid and Varnish', values: pairs.map(({ cached }) => secondsOf(cached)) },
    ],
  }
}

function operationsChart(results: readonly RunResult[]): Chart {
  return {
    kind: 'bars',
    title: 'Where the time goes',
    subtitle: `${Math.max(...results.map(({ objects }) => objects))} objects, mean of the runs and clients`,
    y: { name: 'seconds', min: 0 },
    categories: OPERATIONS.map(({ name }) => name),
    series: [
      { name: 'direct', values: operationSeconds(results, 'direct') },
      { name: 'through Squid and Varnish', values: operationSeconds(results, 'cached') },
    ],
  }
}

function verdictsOf(results: readonly RunResult[], pairs: readonly Pair[], isQuick: boolean): Verdict[] {
  const stale = sumOf(results.map(({ violations }) => violations))
  const reads = sumOf(results.map(result => result.reads))
  const runs = Math.max(...pairs.map(({ run }) => run))
  const last = pairs.filter(({ run }) => run === runs)
  const least = isQuick ? 1 : THESIS_FACTOR.min
  return [
    {
      claim: `no read is older than promised: at most ${STALENESS_MS / 1000} s through the caches, current if direct`,
      holds: stale === 0,
      detail: [`${stale} of ${reads}`, ...results.flatMap(({ traces }) => traces)].join('\n'),
    },
    {
      claim: `once the caches are full, in the last run, clients are at least ${least} times as fast`,
      holds: last.every(({ factor }) => factor >= least),
      detail: last.map(({ objects, factor }) => `${objects} objects ${rounded(factor, 1)}`).join(', '),
    },
  ]
}
