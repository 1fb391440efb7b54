/**
 * Durable commits, 64 in flight: 500 bytes under random keys that already exist. Our store and its bare engine with the same
 * durability show the cost of versions, validation, the log and the clock; another comparison shows the cost of checksums.
 * LevelDB is there for comparison.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { contenderProcess, measureTrees, type Tree, type TreeRow } from '../../harness/compare-trees.js'
import type { Progress } from '../../harness/experiment.js'
import { measureSideBySide, median, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { inTemporaryFolder } from '../../harness/temporary-folder.js'
import { hookedArguments } from '../checksum-hooks.js'
import { BARE_ENGINE, type CommitSettings, HOOKED, LEVEL, MEASURES, type Measure, OURS } from './commit-worker.js'

const IN_FLIGHT = 64
/** Many short rounds: the noise of a shared disk lasts seconds, so it cancels out between neighbours. */
const FULL = { entries: 200_000, commitsPerRound: 12_000, rounds: 41 }
const QUICK = { entries: 100_000, commitsPerRound: 12_000, rounds: 15 }

const FULL_COMPARED = { entries: 100_000, commitsPerRound: 12_000, rounds: 15, sittings: 4 }
const QUICK_COMPARED = { entries: 50_000, commitsPerRound: 12_000, rounds: 7, sittings: 2 }

type CommitContender = PreparedContender<null, Measure>

export const commit: Bench = {
  run: context => inTemporaryFolder('bench-commit', async folder => report(await measure(context, folder))),
  compare: (context, trees) => inTemporaryFolder('bench-commit', folder => compare(context, trees, folder)),
}

async function compare(
  { quick, seed, progress }: BenchContext,
  trees: readonly Tree[],
  folder: string,
): Promise<TreeRow[]> {
  const { rounds, sittings, ...sizes } = quick ? QUICK_COMPARED : FULL_COMPARED
  const ratios = await measureTrees<Measure>({
    trees,
    measures: MEASURES,
    rounds,
    sittings,
    onTurn: progress,
    start: (tree, sitting) => {
      const path = join(folder, `${tree.name}-${sitting}`)
      const settings: CommitSettings = { contender: OURS, path, inFlight: IN_FLIGHT, seed, ...sizes }
      return startChild<null, Measure>({ name: tree.name, module: contenderProcess(tree, 'commit'), settings })
    },
  })
  // Commits mostly wait for the disk, which is shared, so wall-clock time is for information.
  return [
    { name: 'commits by processor time', decides: true, ratios: ratios.cpu },
    { name: 'commits by wall-clock time', decides: false, ratios: ratios.commit },
  ]
}

async function measure(context: BenchContext, folder: string): Promise<Standing<Measure>[]> {
  const both = await measureTogether([OURS, BARE_ENGINE], context, folder, part(context.progress, 0, 0.4))
  const sums = await measureTogether([HOOKED], context, folder, part(context.progress, 0.4, 0.8))
  // Alone, and last: LevelDB goes on sorting in the background, and slows down the next contender.
  const level = await measureTogether([LEVEL], context, folder, part(context.progress, 0.8, 1))
  return [...both, ...sums, ...level]
}

async function measureTogether(
  names: readonly string[],
  { quick, seed }: BenchContext,
  folder: string,
  progress: Progress,
): Promise<Standing<Measure>[]> {
  const { rounds, ...sizes } = quick ? QUICK : FULL
  const module = new URL('./contender-process.js', import.meta.url)
  const contenders: CommitContender[] = []
  try {
    for (const name of names) {
      progress(contenders.length, names.length * (rounds + 2), `filling ${name}`)
      const settings: CommitSettings = {
        contender: name,
        path: join(folder, name),
        inFlight: IN_FLIGHT,
        seed,
        ...sizes,
      }
      const nodeArguments = name === HOOKED ? hookedArguments() : []
      contenders.push(await startChild<null, Measure>({ name, module, settings, nodeArguments }))
    }
    return await measureSideBySide({
      contenders,
      measures: MEASURES,
      rounds,
      onTurn: (done, total, name) => progress(names.length + done, names.length + total, name),
    })
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

/** Progress from `from` to `to` of the whole. */
function part(progress: Progress, from: number, to: number): Progress {
  return (done, total, label) => progress(from + (to - from) * (done / total), 1, label)
}

function report(standings: readonly Standing<Measure>[]): BenchResult {
  const ratio = Number(speedRatio(standings, OURS, BARE_ENGINE, 'commit').toPrecision(4))
  const hooked = standings.find(({ name }) => name === HOOKED)!
  const costs = hooked.rounds.flatMap(round => (round ? [round.cpuTwice / round.cpu - 1] : []))
  const costOfChecksums = Number(median(costs).toFixed(3))
  const perSecond = ({ medians }: Standing<Measure>) => Math.round(1e9 / medians.commit)
  return {
    summary: {
      ratioToBareEngine: ratio,
      costOfChecksums,
      inFlight: IN_FLIGHT,
      commitsPerSecond: Object.fromEntries(standings.map(standing => [standing.name, perSecond(standing)])),
    },
    tables: [
      {
        title: `Durable commits, ${IN_FLIGHT} in flight`,
        columns: ['store', 'per second'],
        rows: standings.map(standing => [standing.name, perSecond(standing)]),
      },
    ],
    notes: [
      `The embedded store commits at ${ratio.toFixed(2)} times the rate of its bare engine, ${BARE_ENGINE}.`,
      `Checksums take ${(100 * costOfChecksums).toFixed(1)}% of the processor time of a commit: that much more if they are computed twice.`,
      `${LEVEL} is only a comparison, measured apart: it serves one process only (docs/decisions/0004-embedded-engine.md).`,
      `Measured in ${tmpdir()}: on an in-memory file system these figures mean nothing.`,
    ],
  }
}
