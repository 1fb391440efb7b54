/**
 * `npm run bench -- NAME|list`: measures our code against its peers and prints ratios.
 *
 * The exit code is 0, or 2 if the command line was wrong: how fast a machine is on a given day is no failure.
 */
import { readArguments } from './arguments.js'
import type { BenchEntry, BenchResult } from './bench.js'
import { type CommandOutput, createReporter, type Reporter } from './command-output.js'
import { createProgressBar } from './progress.js'
import { formatTable } from './table.js'
import { findEntry, UsageError } from './usage-error.js'

export const BENCH_USAGE = `Usage: npm run bench -- NAME|list [options]
  --quick   fewer keys and rounds
  --json    the result as one JSON object on the last line of stdout
  --seed N  other keys`

export interface BenchSurroundings extends CommandOutput {
  readonly benches: readonly BenchEntry[]
  readonly nowMs: () => number
}

export async function runBench(argv: readonly string[], surroundings: BenchSurroundings): Promise<number> {
  const { benches, nowMs } = surroundings
  try {
    const { name, quick, seed, json } = readArguments(argv, BENCH_USAGE)
    const reporter = createReporter(surroundings, json)
    if (name === 'list') return listBenches(benches, reporter)
    const bench = await findEntry(benches, name, { kind: 'bench', list: 'npm run bench -- list' }).load()
    reporter.say(`${bench.title}\n`)
    const bar = createProgressBar(name, reporter.stream, nowMs)
    const startedAtMs = nowMs()
    const result = await bench.run({ quick, seed, progress: bar.update }).finally(bar.end)
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

function report({ tables, notes }: BenchResult, reporter: Reporter): void {
  for (const table of tables) reporter.say(`${formatTable(table)}\n`)
  for (const note of notes) reporter.say(note)
}

function listBenches(benches: readonly BenchEntry[], reporter: Reporter): number {
  const width = Math.max(...benches.map(entry => entry.name.length))
  for (const { name, title } of benches) reporter.say(`${name.padEnd(width)}  ${title}`)
  reporter.answer({ benches: benches.map(({ name, title }) => ({ name, title })) })
  return 0
}
