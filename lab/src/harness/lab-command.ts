/**
 * `npm run lab -- NAME|list|all`: runs experiments, prints what they found, writes their plots.
 *
 * The exit code is 0 if every verdict holds, 1 if one does not, 2 if the command line was wrong. No signal handler is
 * installed: Ctrl-C ends the process at once, even in the middle of a long computation.
 */
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { type Arguments, readArguments } from './arguments.js'
import { type CommandOutput, createReporter, type Reporter } from './command-output.js'
import { findEntry, listEntries } from './entry.js'
import type { Experiment, ExperimentEntry, ExperimentResult, Plot } from './experiment.js'
import { createProgressBar } from './progress.js'
import { createRandom } from './random.js'
import { formatTable } from './table.js'
import { UsageError } from './usage-error.js'

const LAB_USAGE = `Usage: npm run lab -- NAME|list|all [options]
  --quick     fewer repetitions, the same claims
  --json      the result as one JSON object on the last line of stdout
  --figures   copy the plots to docs/figures as well
  --seed N    another seed; the same seed gives the same result`

export interface LabSurroundings extends CommandOutput {
  readonly experiments: readonly ExperimentEntry[]
  readonly resultsFolder: string
  readonly figuresFolder: string
  readonly nowMs: () => number
}

export async function runLab(argv: readonly string[], surroundings: LabSurroundings): Promise<number> {
  try {
    const args = readArguments(argv, LAB_USAGE)
    const reporter = createReporter(surroundings, args.json)
    if (args.name === 'list') {
      listEntries('experiments', surroundings.experiments, reporter)
      return 0
    }
    if (args.name === 'all') return await runAll(args, surroundings, reporter)
    const command = { kind: 'experiment', list: 'npm run lab -- list' }
    const result = await runOne(findEntry(surroundings.experiments, args.name, command), args, surroundings, reporter)
    reporter.answer(result)
    return result.holds ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    surroundings.stderr.write(`${error.message}\n`)
    return 2
  }
}

async function runAll(args: Arguments, surroundings: LabSurroundings, reporter: Reporter): Promise<number> {
  const results: Record<string, Answer> = {}
  for (const entry of surroundings.experiments) {
    results[entry.name] = await runOne(entry, args, surroundings, reporter)
  }
  const failed = Object.keys(results).filter(name => !results[name]!.holds)
  reporter.say(failed.length === 0 ? '✓ every experiment holds' : `✗ these do not hold: ${failed.join(', ')}`)
  reporter.answer({ seed: args.seed, quick: args.quick, experiments: results, holds: failed.length === 0 })
  return failed.length === 0 ? 0 : 1
}

type Answer = Readonly<Record<string, unknown>> & { readonly holds: boolean }

async function runOne(
  entry: ExperimentEntry,
  args: Arguments,
  surroundings: LabSurroundings,
  reporter: Reporter,
): Promise<Answer> {
  const experiment = await entry.load()
  reporter.say(`${entry.title} (${experiment.source})\n`)
  const startedAtMs = surroundings.nowMs()
  const result = await runWithProgress(entry.name, experiment, args, surroundings, reporter)
  for (const table of result.tables) reporter.say(`${formatTable(table)}\n`)
  for (const path of await writePlots(entry.name, result.plots, args, surroundings)) reporter.say(`plot ${path}`)
  for (const { holds, claim, detail } of result.verdicts) reporter.say(`${holds ? '✓' : '✗'} ${claim}: ${detail}`)
  const seconds = ((surroundings.nowMs() - startedAtMs) / 1000).toFixed(1)
  reporter.say(`${entry.name} took ${seconds} s with seed ${args.seed}${args.quick ? ', quick' : ''}.\n`)
  return toAnswer(entry.name, args, result)
}

async function runWithProgress(
  name: string,
  experiment: Experiment,
  { quick, seed }: Arguments,
  surroundings: LabSurroundings,
  reporter: Reporter,
): Promise<ExperimentResult> {
  const bar = createProgressBar(name, reporter.stream, surroundings.nowMs)
  try {
    return await experiment.run({ quick, seed, random: createRandom(seed), progress: bar.update })
  } finally {
    bar.end()
  }
}

function toAnswer(experiment: string, { quick, seed }: Arguments, result: ExperimentResult): Answer {
  const { summary, verdicts, points } = result
  const holds = verdicts.every(verdict => verdict.holds)
  return { experiment, seed, quick, ...summary, verdicts, ...(points && { points }), holds }
}

async function writePlots(
  name: string,
  plots: readonly Plot[],
  args: Arguments,
  { resultsFolder, figuresFolder }: LabSurroundings,
): Promise<string[]> {
  if (plots.length === 0) return []
  // Loaded here because the charting library takes longer to load than many experiments take to run.
  const { renderSvg } = await import('./plot.js')
  const folder = join(resultsFolder, name)
  await mkdir(folder, { recursive: true })
  const paths: string[] = []
  for (const plot of plots) {
    const path = join(folder, `${plot.name}.svg`)
    await writeFile(path, renderSvg(plot.chart))
    paths.push(relative(process.cwd(), path))
    if (!args.figures) continue
    await mkdir(figuresFolder, { recursive: true })
    await copyFile(path, join(figuresFolder, `${name}-${plot.name}.svg`))
  }
  return paths
}
