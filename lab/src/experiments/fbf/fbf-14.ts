/**
 * Counters whose clients retry: with operation ids every operation counts once; without them some count twice.
 *
 * The paper has ten simulated nodes and retries a share of the increments; without its filter, 6% of the count is wrong.
 * Here, the real server runs over its embedded store in its own process, which is killed (-9) at random moments. Clients
 * reach it through a network that loses requests and replies, doubles them, and holds them up until their retries have
 * overtaken them. The clients add one by one, in batches and in commits, half of them with ids as our SDK makes them, half
 * with foreign ones, and resend until they get an answer. So the correct value of every counter is known exactly.
 *
 * The second part tests scale: ten million operations, a tenth of them sent twice, straight to the store, since they would
 * take hours over HTTP.
 */
import { startSlowOrigin } from '../../caches/slow-origin.js'
import type { CounterResult } from '../../counter-load/counter-tally.js'
import { runCounters } from '../../counter-load/run-counters.js'
import { type ManyResult, runMany } from '../../counter-load/run-many.js'
import type { LinesChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { sumOf } from '../../harness/sum-of.js'
import { formatPercent } from '../../harness/table.js'
import { inTemporaryFolder } from '../../harness/temporary-folder.js'

const FULL = { operations: 30_000, kills: 20, faultShares: [0.02, 0.05, 0.1, 0.2], many: 10_000_000 }
const QUICK = { operations: 3000, kills: 3, faultShares: [0.1], many: 40_000 }
const CLIENTS = 16
const COUNTERS = 50
const RETRY_SHARE = 0.1
/** The share of requests with a fault in the runs that the summary is about. */
const FAULT_SHARE = 0.1
const PAPER_ERROR = 0.06

interface Run extends CounterResult {
  readonly hasIds: boolean
  readonly faultShare: number
}

export const fbf14: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 14',
  async run(context) {
    const runs = await measureAll(context)
    return toResult(runs, await measureMany(context))
  },
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<Run[]> {
  const { operations, kills: count, faultShares } = quick ? QUICK : FULL
  const runs: Run[] = []
  for (const faultShare of faultShares) {
    for (const hasIds of [true, false]) {
      const label = `${hasIds ? 'with' : 'without'} ids, ${formatPercent(faultShare)} faults`
      const onProgress = (done: number) =>
        progress(runs.length * operations + done, 2 * 2 * faultShares.length * operations, label)
      // Flushed to disk before it is acknowledged, so the server can be killed between the two.
      const origin = await startSlowOrigin({ settings: {}, lateShare: 0, lateMs: 0, durability: 'disk' })
      try {
        const load = { url: origin.url, random: random.fork(label), operations, clients: CLIENTS, counters: COUNTERS }
        const kills = { count, restart: () => origin.restart() }
        runs.push({ hasIds, faultShare, ...(await runCounters({ ...load, hasIds, faultShare, kills, onProgress })) })
      } finally {
        await origin.stop()
      }
    }
  }
  return runs
}

async function measureMany({ quick, random, progress }: ExperimentContext): Promise<ManyResult> {
  const { many: operations } = quick ? QUICK : FULL
  const onProgress = (done: number) => progress(operations + done, 2 * operations, 'straight to the store')
  return inTemporaryFolder('fbf-14', path =>
    runMany({ path, random: random.fork('many'), operations, retryShare: RETRY_SHARE, onProgress }),
  )
}

function toResult(runs: readonly Run[], many: ManyResult): ExperimentResult {
  const [withIds, without] = [true, false].map(hasIds => runs.filter(run => run.hasIds === hasIds)) as [Run[], Run[]]
  const errorWithout = without.find(run => run.faultShare === FAULT_SHARE)!.error
  return {
    summary: {
      operations: sumOf(withIds, run => run.operations) + many.operations,
      error: Math.max(many.error, ...withIds.map(run => run.error)),
      errorWithout,
      operationsOverHttp: sumOf(withIds, run => run.operations),
      operationsInStore: many.operations,
      kills: sumOf(runs, run => run.kills),
    },
    points: [...runs, many],
    tables: [countsTable(runs), manyTable(many)],
    plots: [{ name: 'error-by-faults', chart: toChart(withIds, without) }],
    verdicts: [exact(withIds), ownAnswers(withIds), wrongWithout(without), manyExact(many)],
  }
}

function countsTable(runs: readonly Run[]): Table {
  const rows = runs.map(run => [
    ...[formatPercent(run.faultShare), run.hasIds, run.operations, run.requests, run.retries],
    ...[run.lostRequests, run.lostReplies, run.doubled, run.late, run.kills, run.replays],
    ...[(run.unitsTooMuch - run.unitsTooLittle) / 100, formatPercent(run.error)],
  ])
  const columns = ['faults', 'ids', 'operations', 'requests', 'again', 'lost', 'replies lost', 'doubled', 'late']
  return {
    title: 'Over HTTP (the paper: 0% wrong with its filter, 6% without; ours must be exactly 0%)',
    columns: [...columns, 'kills', 'replays', 'overcounted', 'error'],
    rows,
  }
}

function manyTable(many: ManyResult): Table {
  const mebibytes = (bytes: number) => Number((bytes / 2 ** 20).toFixed(1))
  return {
    title: 'Straight to the embedded store, in one process, with relaxed durability (over HTTP, this would take hours)',
    columns: [
      'operations',
      'again',
      'reopened',
      'error',
      'per second',
      'remembered: MiB',
      'on disk: MiB',
      'process: MiB',
    ],
    rows: [
      [
        ...[many.operations, many.retries, many.reopened, formatPercent(many.error), Math.round(many.perSecond)],
        ...[mebibytes(many.memoryBytes), mebibytes(many.diskBytes), mebibytes(many.rssBytesMax)],
      ],
    ],
  }
}

function toChart(withIds: readonly Run[], without: readonly Run[]): LinesChart {
  const points = (runs: readonly Run[]) => runs.map(run => [run.faultShare, run.error] as const)
  return {
    kind: 'lines',
    title: 'Error of counters by fault rate of the network',
    subtitle: `${CLIENTS} clients that retry until they get an answer; the server is killed now and then`,
    x: { name: 'requests or replies lost, doubled, overtaken', percent: true, min: 0 },
    y: { name: 'error of the counters', percent: true, min: 0 },
    series: [
      { name: 'without ids', style: 'marked', points: points(without) },
      { name: 'with ids', style: 'marked', points: points(withIds) },
    ],
    references: [{ name: 'the paper, without', at: PAPER_ERROR }],
  }
}

function exact(runs: readonly Run[]): Verdict {
  const wrong = sumOf(runs, run => run.unitsTooMuch + run.unitsTooLittle)
  return {
    claim: 'with ids, every acknowledged operation counts exactly once',
    holds: wrong === 0 && runs.every(run => run.replays > 0 && run.kills > 0),
    detail:
      `${wrong / 100} off after ${sumOf(runs, run => run.operations)} operations, ${sumOf(runs, run => run.retries)} retries ` +
      `(${sumOf(runs, run => run.replays)} answered as replays) and ${sumOf(runs, run => run.kills)} kills`,
  }
}

function ownAnswers(runs: readonly Run[]): Verdict {
  const shared = sumOf(runs, run => run.sharedAnswers)
  return {
    claim: 'every answer carries the version that the operation itself produced',
    holds: shared === 0,
    detail: `${shared} answers carried another operation's version`,
  }
}

function wrongWithout(runs: readonly Run[]): Verdict {
  return {
    claim: 'without ids, the same load miscounts, as in the paper',
    holds: runs.every(run => run.error > 0),
    detail: runs.map(run => `${formatPercent(run.error)} at ${formatPercent(run.faultShare)} faults`).join(', '),
  }
}

function manyExact({ operations, retries, unitsWrong, wrongAnswers }: ManyResult): Verdict {
  return {
    claim:
      'many operations, a tenth of them sent again: none is counted twice or lost, and every retry gets its answer',
    holds: unitsWrong === 0 && wrongAnswers === 0,
    detail: `${unitsWrong} off after ${operations} operations and ${retries} retries, ${wrongAnswers} wrong answers`,
  }
}
