/**
 * Schedules of everything that can go wrong with a replicated store, each from a seed: no write that was acknowledged at QUORUM or
 * ALL is lost, no read that is said to be current is stale, and what was written at ONE or ANY is everywhere after a repair; rules
 * that are broken on purpose are missed. See `cells-simulator/cells-schedule.ts` for what happens in a schedule.
 */
import type { CellsSchedule } from '../../cells-simulator/cells-schedule.js'
import { PLANTED_BUGS } from '../../cells-simulator/planted-bugs.js'
import { runStretches } from '../../cells-simulator/run-stretches.js'
import { addTallies, type Tally as Sum } from '../../cells-simulator/schedule-worker.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'

interface Part {
  readonly name: string
  readonly schedules: number
  readonly settings: Omit<CellsSchedule, 'seed'>
}

interface Tally extends Sum {
  readonly name: string
}

const FULL = 100_000
const QUICK = 500
/** Most are seen in one of a hundred schedules, the rarest in one of five hundred. */
const PLANTED_MAX = 4000
const PLANTED_STEP = 200

export const ringSafety: Experiment = {
  name: 'ring-safety',
  title: 'A replicated store while everything goes wrong: nothing acknowledged is lost, nothing is falsely current',
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, section 3',
  run: async context => toResult(await measure(context)),
}

async function measure({ quick, seed, progress }: ExperimentContext): Promise<Tally[]> {
  const first = seed * 1_000_000
  const parts: Part[] = [
    { name: 'as it is', schedules: quick ? QUICK : FULL, settings: {} },
    ...PLANTED_BUGS.map(bug => ({ name: `planted: ${bug}`, schedules: PLANTED_MAX, settings: { bug } })),
  ]
  const total = parts.reduce((sum, part) => sum + part.schedules, 0)
  let done = 0
  const tallies: Tally[] = []
  for (const { name, schedules, settings } of parts) {
    const onDone = (count: number) => {
      done += count
      progress(done, total, name)
    }
    tallies.push({ name, ...(await runPart(settings, first, schedules, onDone)) })
  }
  return tallies
}

/** What is broken on purpose need not be seen more than once. */
async function runPart(
  settings: Part['settings'],
  first: number,
  schedules: number,
  onDone: (count: number) => void,
): Promise<Sum> {
  const step = settings.bug === undefined ? schedules : PLANTED_STEP
  let sum = await runStretches({ settings, first, count: step }, onDone)
  while (sum.broken === 0 && sum.schedules < schedules) {
    const more = { settings, first: first + sum.schedules, count: step }
    sum = addTallies(sum, await runStretches(more, onDone))
  }
  return sum
}

function toResult(tallies: readonly Tally[]): ExperimentResult {
  const [safe, ...planted] = tallies as [Tally, ...Tally[]]
  const { faults, totals: counts } = safe
  return {
    summary: { schedules: safe.schedules, broken: safe.broken, ...counts, faults },
    points: tallies.map(({ name, schedules, broken, example }) => ({ name, schedules, broken, example })),
    tables: [
      {
        title: 'Schedules in which a promise was broken',
        columns: ['rules', 'schedules', 'broken', 'writes acknowledged', 'reads', 'said to be current'],
        rows: tallies.map(({ name, schedules, broken, totals }) => [
          ...[name, schedules, broken, totals.acknowledged, totals.reads, totals.currentReads],
        ]),
      },
      {
        title: `What went wrong in ${safe.schedules} schedules`,
        columns: ['fault', 'times'],
        rows: Object.entries(faults),
      },
    ],
    plots: [],
    verdicts: [holds(safe), recovers(safe), ...planted.map(isCaught)],
  }
}

function holds({ schedules, broken, example, totals }: Tally): Verdict {
  return {
    claim:
      'no write acknowledged at QUORUM or ALL is lost, no read is falsely current, all replicas are alike after a repair',
    holds: broken === 0,
    detail:
      example ?? `0 of ${schedules} schedules, ${totals.acknowledged} writes, ${totals.currentReads} current reads`,
  }
}

/** A promise that is kept by refusing everything would be worth little. */
function recovers({ totals }: Tally): Verdict {
  const share = totals.lateCurrentReads / totals.lateReads
  return {
    claim: 'seconds after everything is well again reads are current',
    holds: share > 0.95,
    detail: `${totals.lateCurrentReads} of ${totals.lateReads}, ${(100 * share).toFixed(1)}%`,
  }
}

function isCaught({ name, schedules, broken, example }: Tally): Verdict {
  return {
    claim: `${name}: the checker sees it`,
    holds: broken > 0,
    detail: `${broken} of ${schedules} schedules${example === undefined ? '' : `; ${example}`}`,
  }
}
