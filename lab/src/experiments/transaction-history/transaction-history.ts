/**
 * Transactions of concurrent clients that read through a real cache while the server is killed. Every history is checked for
 * the anomalies that serialisability rules out (Adya's G0, G1, G2). In the coherent mode, the sketch keeps outdated copies
 * away. In the classic mode, reads take any copy, and more commits are refused. In the leased mode, refused clients take
 * turns. None of the modes lets an anomaly through.
 */
import { withCaches } from '../../caches/require-caches.js'
import { SHORT_WINDOW, startSlowOrigin } from '../../caches/slow-origin.js'
import { runThrough, TOPOLOGIES, type Topology } from '../../caches/topology.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { sumOf } from '../../harness/sum-of.js'
import { formatPercent } from '../../harness/table.js'
import { runTransactions, type TransactionResult } from '../../transaction-load/run-transactions.js'

const FULL = { commits: 100_000, faultMs: 5_000, topologies: ['Varnish', 'Squid before Varnish', 'nginx'] }
const QUICK = { commits: 2_000, faultMs: 2_000, topologies: ['Varnish'] }
/** How many lists the clients share: the fewer, the more conflicts. */
const CONTENTIONS = [
  { name: 'high', lists: 10, queryShare: 0 },
  { name: 'low', lists: 200, queryShare: 0 },
  /** Queries for all lists of one of three groups: a list missing from the result must not have appeared by the commit either. */
  { name: 'queries', lists: 10, queryShare: 0.3 },
] as const
const MODES = [
  { name: 'classic', read: 'any', lease: false },
  { name: 'coherent', read: 'session', lease: false },
  { name: 'leased', read: 'session', lease: true },
] as const
const CLIENTS = 16
const SETTINGS = { ...SHORT_WINDOW, lifetimeMs: 20_000 }

interface Run extends TransactionResult {
  readonly topology: string
  readonly contention: string
  readonly mode: string
}

export const transactionHistory: Experiment = {
  source: 'Gessert and Bücklers 2012, section 3.1.4; the check is that of Elle (Kingsbury and Alvaro 2020)',
  run: withCaches(['varnish', 'squid', 'nginx'], async context => toResult(await measureAll(context))),
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<Run[]> {
  const { commits: commitsInAll, faultMs, topologies } = quick ? QUICK : FULL
  const chosen = TOPOLOGIES.filter(({ name }) => topologies.includes(name))
  const commits = Math.ceil(commitsInAll / (chosen.length * CONTENTIONS.length * MODES.length))
  const runs: Run[] = []
  for (const topology of chosen) {
    for (const { name: contention, lists, queryShare } of CONTENTIONS) {
      for (const { name: mode, read, lease } of MODES) {
        const label = `${topology.name}, ${contention} contention, ${mode}`
        const before = runs.length * commits
        const onProgress = (done: number) => progress(before + Math.min(done, commits), commitsInAll, label)
        const shape = { clients: CLIENTS, commits, lists, queryShare, read, lease }
        const load = { random: random.fork(label), ...shape, onProgress }
        runs.push({ topology: topology.name, contention, mode, ...(await runBehind(topology, load, faultMs)) })
      }
    }
  }
  return runs
}

function runBehind(
  topology: Topology,
  load: Omit<Parameters<typeof runTransactions>[0], 'url' | 'fetch' | 'faults'>,
  faultMs: number,
): Promise<TransactionResult> {
  const starting = startSlowOrigin({ settings: SETTINGS, lateShare: 0.02, lateMs: 200 })
  return runThrough(topology, starting, (origin, { url, fetch }) => {
    const faults = { intervalMs: faultMs, restart: () => origin.restart() }
    return runTransactions({ ...load, url, fetch, faults })
  })
}

function toResult(runs: readonly Run[]): ExperimentResult {
  const committed = sumOf(runs, run => run.committed)
  const anomalies = runs.flatMap(run => run.anomalies)
  const refusedShare = ({ conflicts, committed }: Run) => conflicts / (conflicts + committed)
  const columns = [
    'through',
    'contention',
    'mode',
    'committed',
    'refused',
    'share',
    'no answer',
    'kills',
    'anomalies',
    's',
  ]
  return {
    summary: { committed, anomalies: anomalies.length, kills: sumOf(runs, run => run.restarts) },
    points: runs,
    tables: [
      {
        title: 'Transactions over cached reads',
        columns,
        rows: runs.map(run => [
          ...[run.topology, run.contention, run.mode, run.committed, run.conflicts, formatPercent(refusedShare(run))],
          ...[run.unknown, run.restarts, run.anomalies.length, Math.round(run.seconds)],
        ]),
      },
    ],
    plots: [
      {
        name: 'refused',
        chart: {
          kind: 'bars',
          title: 'Commits refused because of an outdated read',
          subtitle: 'a tenth of a second is long when all clients work on the same ten objects',
          y: { name: 'share of the commits', percent: true, min: 0 },
          categories: [...new Set(runs.map(placeOf))],
          series: MODES.map(({ name }) => ({
            name,
            values: runs.filter(({ mode }) => mode === name).map(refusedShare),
          })),
        },
      },
    ],
    verdicts: [
      {
        claim: 'no history has an anomaly that serialisability rules out',
        holds: anomalies.length === 0,
        detail: [
          `${anomalies.length} in ${committed} transactions`,
          ...anomalies.slice(0, 5).map(({ name, trace }) => `${name}: ${trace}`),
        ].join('\n'),
      },
      {
        claim: 'the sketch saves commits that would have failed for outdated reads',
        holds: sumOf(of(runs, 'coherent'), refusedShare) < sumOf(of(runs, 'classic'), refusedShare),
        detail: MODES.map(({ name }) => `${name}: ${of(runs, name).map(run => formatPercent(refusedShare(run)))}`).join(
          '; ',
        ),
      },
    ],
  }
}

function placeOf({ topology, contention }: Run): string {
  return `${topology}, ${contention}`
}

function of(runs: readonly Run[], mode: string): readonly Run[] {
  return runs.filter(run => run.mode === mode)
}
