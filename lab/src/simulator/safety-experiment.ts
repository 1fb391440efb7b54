/**
 * An experiment of many schedules, each from a seed: the promise holds in all of them, work continues once the faults end, and
 * every planted bug is caught.
 */
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../harness/experiment.js'
import { runInThreads } from './run-in-threads.js'
import type { PlantedBugs } from './schedule.js'
import { addTallies, type Tally } from './tally.js'

export interface SafetyPart {
  readonly name: string
  readonly schedules: number
  /** The settings for `runSchedule`, without the seed. */
  readonly settings: object
  /** The number of schedules to run at a time, until one has broken a promise. Default: all. */
  readonly untilBroken?: number
}

export interface SafetyOptions<Count extends string> extends Pick<Experiment, 'source'> {
  /** The address of the module that exports `runSchedule`. */
  readonly module: string
  /** The number of schedules in the first part of a quick run. */
  readonly quick: number
  /** The first part must keep the promise; each of the others must break it. */
  readonly parts: (schedules: number) => readonly SafetyPart[]
  readonly columns: Readonly<Record<string, Count>>
  readonly promise: string
  /** Keeping a promise by refusing everything would be worthless: the share of late operations that succeeded. */
  readonly recovery: { readonly claim: string; readonly done: Count; readonly tried: Count; readonly shareMin: number }
}

/** For the first part, in a full run. */
const SCHEDULES = 100_000

/** One part for each bug, which must be caught in it. */
export function plantedParts(bugs: PlantedBugs, part: Omit<SafetyPart, 'name'>): SafetyPart[] {
  return Object.keys(bugs).map(bug => ({ ...part, name: `planted: ${bug}`, settings: { ...part.settings, bug } }))
}

interface PartTally extends Tally {
  readonly name: string
}

export function createSafetyExperiment<Count extends string>(options: SafetyOptions<Count>): Experiment {
  return { source: options.source, run: async context => toResult(options, await measure(options, context)) }
}

async function measure<Count extends string>(
  { module, quick: schedulesQuick, parts: partsOf }: SafetyOptions<Count>,
  { quick, seed, progress }: ExperimentContext,
): Promise<PartTally[]> {
  const parts = partsOf(quick ? schedulesQuick : SCHEDULES)
  const total = parts.reduce((sum, { schedules }) => sum + schedules, 0)
  let done = 0
  const tallies: PartTally[] = []
  for (const part of parts) {
    const onDone = (schedules: number) => {
      done += schedules
      progress(done, total, part.name)
    }
    tallies.push({ name: part.name, ...(await runPart(module, part, seed * 1_000_000, onDone)) })
  }
  return tallies
}

async function runPart(
  module: string,
  { settings, schedules, untilBroken }: SafetyPart,
  first: number,
  onDone: (schedules: number) => void,
): Promise<Tally> {
  const count = untilBroken ?? schedules
  const runFrom = (from: number) => runInThreads({ module, settings, first: from, count }, onDone)
  let tally = await runFrom(first)
  while (tally.broken === 0 && tally.schedules < schedules) {
    tally = addTallies(tally, await runFrom(first + tally.schedules))
  }
  return tally
}

function toResult<Count extends string>(
  options: SafetyOptions<Count>,
  tallies: readonly PartTally[],
): ExperimentResult {
  const [safe, ...broken] = tallies as [PartTally, ...PartTally[]]
  const columns = Object.entries<Count>(options.columns)
  const planted = Object.fromEntries(
    broken.map(({ name, broken: times, schedules }) => [name.replace('planted: ', ''), { broken: times, schedules }]),
  )
  return {
    summary: { schedules: safe.schedules, broken: safe.broken, planted, ...safe.counts, faults: safe.faults },
    points: tallies.map(({ counts, faults: _, ...point }) => ({ ...point, ...counts })),
    tables: [
      {
        title: 'Schedules in which a promise was broken',
        columns: ['rules', 'schedules', 'broken', ...columns.map(([title]) => title)],
        rows: tallies.map(({ name, schedules, broken: times, counts }) => [
          ...[name, schedules, times, ...columns.map(([, count]) => counts[count]!)],
        ]),
      },
      {
        title: `Faults in the ${safe.schedules} schedules ${safe.name}`,
        columns: ['fault', 'times'],
        rows: Object.entries(safe.faults),
      },
    ],
    plots: [],
    verdicts: [holds(options, safe), recovers(options, safe), ...broken.map(isCaught)],
  }
}

function holds<Count extends string>({ promise, columns }: SafetyOptions<Count>, safe: PartTally): Verdict {
  const counted = Object.entries<Count>(columns).map(([title, count]) => `, ${safe.counts[count]} ${title}`)
  const detail = safe.example ?? `0 of ${safe.schedules} schedules${counted.join('')}`
  return { claim: promise, holds: safe.broken === 0, detail }
}

function recovers<Count extends string>({ recovery }: SafetyOptions<Count>, { counts }: PartTally): Verdict {
  const [done, tried] = [counts[recovery.done]!, counts[recovery.tried]!]
  const share = done / tried
  const detail = `${done} of ${tried}, ${(100 * share).toFixed(1)}%`
  return { claim: recovery.claim, holds: share > recovery.shareMin, detail }
}

function isCaught({ name, schedules, broken, example }: PartTally): Verdict {
  const detail = `${broken} of ${schedules} schedules${example === undefined ? '' : `; ${example}`}`
  return { claim: `${name}: the checker catches it`, holds: broken > 0, detail }
}
