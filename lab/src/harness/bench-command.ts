/**
 * `npm run bench -- NAME|list`: measures our code and its peers and prints ratios.
 *
 * The exit code is 0, or 2 if the command line was wrong. A slow machine is not a failure.
 */
import { readArguments } from './arguments.js'
import type { Bench, BenchContext, BenchEntry, BenchResult } from './bench.js'
import { checkOut, PRESENT_ROOT } from './checkout.js'
import { type CommandOutput, createReporter, type Reporter } from './command-output.js'
import { reportTrees } from './compare-trees.js'
import { findEntry, listEntries } from './entry.js'
import { createProgressBar } from './progress.js'
import { formatTable } from './table.js'
import { UsageError } from './usage-error.js'

const BENCH_USAGE = `Usage: npm run bench -- NAME|list [options]
  --quick   fewer keys and rounds
  --json    the result as one JSON object on the last line of stdout
  --seed N  use other keys
  --against REV  measure this code and another revision's in the same rounds (commit, http and engines only)`

export interface BenchSurroundings extends CommandOutput {
  readonly benches: readonly BenchEntry[]
  readonly nowMs: () => number
}

export async function runBench(argv: readonly string[], surroundings: BenchSurroundings): Promise<number> {
  const { benches, nowMs } = surroundings
  try {
    const { name, quick, seed, json, against } = readArguments(argv, BENCH_USAGE)
    const reporter = createReporter(surroundings, json)
    if (name === 'list') {
      listEntries('benches', benches, reporter)
      return 0
    }
    const entry = findEntry(benches, name, { kind: 'bench', list: 'npm run bench -- list' })
    const bench = await entry.load()
    reporter.say(`${entry.title}\n`)
    const bar = createProgressBar(name, reporter.stream, nowMs)
    const startedAtMs = nowMs()
    const context = { quick, seed, progress: bar.update }
    const measured = against === undefined ? bench.run(context) : runAgainst({ name, ...bench }, context, against)
    const result = await measured.finally(bar.end)
    report(result, reporter)
    reporter.say(`\n${name} took ${((nowMs() - startedAtMs) / 1000).toFixed(0)} s${quick ? ', quick' : ''}.`)
    reporter.answer({ bench: name, quick, ...result.summary })
    return 0
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    surroundings.stderr.write(`${error.message}\n`)
    return 2
  }
}

async function runAgainst(
  bench: Bench & { readonly name: string },
  context: BenchContext,
  revision: string,
): Promise<BenchResult> {
  if (!bench.compare) throw new UsageError(`${bench.name} does not compare revisions; commit, http and engines do.`)
  context.progress(0, 1, `installing ${revision}`)
  const other = await checkOut(revision)
  try {
    const trees = [
      { name: 'now', root: PRESENT_ROOT },
      { name: 'before', root: other.root },
    ] as const
    return reportTrees(revision, other.commit, await bench.compare(context, trees))
  } finally {
    await other.remove()
  }
}

function report({ tables, notes }: BenchResult, reporter: Reporter): void {
  for (const table of tables) reporter.say(`${formatTable(table)}\n`)
  for (const note of notes) reporter.say(note)
}
