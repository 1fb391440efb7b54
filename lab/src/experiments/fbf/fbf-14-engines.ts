/**
 * As `fbf-14`, with the data in an engine: two servers behind HAProxy, over PostgreSQL and Redis, each with a replica, over
 * MariaDB and over SQLite. Servers and replicas are killed at random moments. With operation ids every operation counts once;
 * without them some count twice.
 */
import { startFleetOrigin } from '../../caches/fleet-origin.js'
import type { CounterResult } from '../../counter-load/counter-tally.js'
import { runCounters } from '../../counter-load/run-counters.js'
import type { EngineName } from '../../engines/engine-name.js'
import type { BarsChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'

interface Size {
  readonly engines: readonly EngineName[]
  readonly operations: number
  readonly kills: number
}

const FULL: Size = { engines: ['PostgreSQL', 'MariaDB', 'Redis', 'SQLite'], operations: 20_000, kills: 15 }
/** One engine with a replica, one without. */
const QUICK: Size = { engines: ['Redis', 'SQLite'], operations: 1500, kills: 3 }
const LOAD = { clients: 16, counters: 50, faultShare: 0.1 }

interface Run extends CounterResult {
  readonly engine: EngineName
  readonly hasIds: boolean
  /** The number of these kills that hit the replica; undefined without a replica. */
  readonly replicaKills: number | undefined
  readonly replicaReads: number
}

export const fbf14Engines: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 14',
  async run(context) {
    return toResult(await measureAll(context))
  },
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<Run[]> {
  const { engines, operations, kills: count } = quick ? QUICK : FULL
  const runs: Run[] = []
  for (const engine of engines) {
    for (const hasIds of [true, false]) {
      const label = `${engine}, ${hasIds ? 'with' : 'without'} ids`
      const part = random.fork(label)
      const onProgress = (done: number) =>
        progress(runs.length * operations + done, 2 * engines.length * operations, label)
      const origin = await startFleetOrigin(engine, { settings: {}, lateShare: 0, lateMs: 0 }, part.fork('servers'))
      try {
        const kills = { count, restart: () => origin.restart() }
        const load = { ...LOAD, url: origin.url, random: part, operations, hasIds, kills, onProgress }
        const result = await runCounters(load)
        const { replicaKills } = origin
        runs.push({ engine, hasIds, ...result, replicaKills, replicaReads: await origin.replicaReads() })
      } finally {
        await origin.stop()
      }
    }
  }
  return runs
}

function toResult(runs: readonly Run[]): ExperimentResult {
  const [withIds, without] = [true, false].map(hasIds => runs.filter(run => run.hasIds === hasIds)) as [Run[], Run[]]
  const replicated = runs.filter(({ replicaKills }) => replicaKills !== undefined)
  const replicaKills = replicated.reduce((sum, run) => sum + run.replicaKills!, 0)
  const operations = withIds.reduce((sum, run) => sum + run.operations, 0)
  const error = Math.max(...withIds.map(run => run.error))
  return {
    summary: { operations, error, replicaKills, errorWithout: Math.max(...without.map(run => run.error)) },
    points: runs,
    tables: [
      {
        title: 'Two servers over an engine with a replica, behind HAProxy',
        columns: [
          ...[
            'engine',
            'ids',
            'operations',
            'requests',
            'again',
            'replies lost',
            'doubled',
            'late',
            'kills',
            'kills of the replica',
            'its reads',
            'reads',
            'wrong',
            'replays',
          ],
          ...['overcounted', 'error'],
        ],
        rows: runs.map(run => [
          ...[
            run.engine,
            run.hasIds,
            run.operations,
            run.requests,
            run.retries,
            run.lostReplies,
            run.doubled,
            run.late,
          ],
          ...[run.kills, run.replicaKills ?? '', run.replicaReads, run.reads, run.wrongReads, run.replays],
          ...[(run.unitsTooMuch - run.unitsTooLittle) / 100, formatPercent(run.error)],
        ]),
      },
    ],
    plots: [{ name: 'error-by-engine', chart: toChart(withIds, without) }],
    verdicts: [
      {
        claim: 'with ids, every acknowledged operation counts exactly once, whichever server answered or was killed',
        holds: error === 0 && withIds.every(run => run.sharedAnswers === 0 && run.replays > 0),
        detail: `${formatPercent(error)} off after ${operations} operations`,
      },
      {
        claim: 'the replicas of PostgreSQL and Redis served reads and were killed, too',
        holds: replicated.length > 0 && replicated.every(run => run.replicaReads > 0 && run.replicaKills! > 0),
        detail: replicated
          .map(run => `${run.engine}: killed ${run.replicaKills}, reads ${run.replicaReads}`)
          .join(', '),
      },
      {
        claim: 'concurrent readers miss no acknowledged operation, and see none twice',
        holds: withIds.every(run => run.reads > 0 && run.wrongReads === 0),
        detail: withIds.map(run => `${run.engine}: ${run.wrongReads} of ${run.reads} wrong`).join(', '),
      },
      {
        claim: 'without ids, the same load miscounts',
        holds: without.every(run => run.error > 0),
        detail: without.map(run => `${run.engine} ${formatPercent(run.error)}`).join(', '),
      },
    ],
  }
}

function toChart(withIds: readonly Run[], without: readonly Run[]): BarsChart {
  return {
    kind: 'bars',
    title: 'Error of counters in engines',
    subtitle: 'a tenth of the requests lost, doubled or late; servers and a replica killed',
    y: { name: 'error', percent: true, min: 0 },
    categories: withIds.map(({ engine }) => engine),
    series: [
      { name: 'without ids', values: without.map(run => run.error) },
      { name: 'with ids', values: withIds.map(run => run.error) },
    ],
  }
}
