/** The cost of indexes for writers: durable commits of 500 bytes to existing products, 64 in flight. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { measureSideBySide, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { inTemporaryFolder } from '../../harness/temporary-folder.js'
import type { IndexesFacts, IndexesSettings } from './indexes-worker.js'

const IN_FLIGHT = 64
const NONE = 'no index'
const CONTENDERS: readonly (readonly [name: string, indexes: number])[] = [
  [NONE, 0],
  ['1 index of 2 fields', 1],
  ['3 indexes', 3],
]
const FULL = { entries: 50_000, commitsPerRound: 20_000, rounds: 11 }
const QUICK = { entries: 20_000, commitsPerRound: 10_000, rounds: 5 }

type IndexesContender = PreparedContender<IndexesFacts, 'commit'>

export const indexes: Bench = {
  run: context => inTemporaryFolder('bench-indexes', folder => measure(context, folder)),
}

async function measure({ quick, seed, progress }: BenchContext, folder: string): Promise<BenchResult> {
  const { rounds, ...sizes } = quick ? QUICK : FULL
  const module = new URL('./contender-process.js', import.meta.url)
  const contenders: IndexesContender[] = []
  try {
    for (const [name, count] of CONTENDERS) {
      progress(contenders.length, CONTENDERS.length * (rounds + 2), `filling ${name}`)
      const settings: IndexesSettings = {
        indexes: count,
        path: join(folder, String(count)),
        inFlight: IN_FLIGHT,
        seed,
        ...sizes,
      }
      contenders.push(await startChild<IndexesFacts, 'commit'>({ name, module, settings }))
    }
    const onTurn = (done: number, total: number, name: string) => progress(done, total, name)
    return report(await measureSideBySide({ contenders, measures: ['commit'], rounds, onTurn }), contenders)
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

function report(standings: readonly Standing<'commit'>[], contenders: readonly IndexesContender[]): BenchResult {
  const rows = standings.map(standing => ({
    name: standing.name,
    perSecond: Math.round(1e9 / standing.medians.commit),
    ratio: Number(speedRatio(standings, standing.name, NONE, 'commit').toPrecision(3)),
    logBytes: Math.round(contenders.find(({ name }) => name === standing.name)!.details.logBytesPerCommit),
  }))
  return {
    summary: {
      inFlight: IN_FLIGHT,
      ratioToNoIndex: Object.fromEntries(rows.map(({ name, ratio }) => [name, ratio])),
      logBytesPerCommit: Object.fromEntries(rows.map(({ name, logBytes }) => [name, logBytes])),
    },
    tables: [
      {
        title: `Durable commits, ${IN_FLIGHT} in flight`,
        columns: ['bucket with', 'per second', 'ratio to no index', 'bytes of log per commit'],
        rows: rows.map(({ name, perSecond, ratio, logBytes }) => [name, perSecond, ratio, logBytes]),
      },
    ],
    notes: [`Measured in ${tmpdir()}: on an in-memory file system these figures mean nothing.`],
  }
}
