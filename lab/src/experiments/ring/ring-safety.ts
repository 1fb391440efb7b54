/**
 * Schedules of everything that can go wrong with a replicated store, each from a seed: no write that was acknowledged at QUORUM or
 * ALL is lost, no read that is said to be current is stale, and what was written at ONE or ANY is everywhere after a repair; rules
 * that are broken on purpose are missed. See `cells-simulator/cells-schedule.ts` for what happens in a schedule.
 */
import { type CellsSchedule, type Fault, PLANTED_BUGS, runCellsSchedule } from '../../cells-simulator/cells-schedule.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'

interface Part {
  readonly name: string
  readonly schedules: number
  readonly settings: Omit<CellsSchedule, 'seed'>
}

interface Tally extends Part {
  readonly broken: number
  /** The first seed that broke a promise, to be run again, and what it broke. */
  readonly example: string | undefined
  readonly totals: Totals
}

const COUNTS = [
  ...(['acknowledged', 'unknown', 'refused', 'reads', 'currentReads'] as const),
  ...(['collected', 'lateReads', 'lateCurrentReads', 'events'] as const),
]
type Totals = Readonly<Record<(typeof COUNTS)[number], number>> & { readonly faults: Readonly<Record<Fault, number>> }

const FULL = 100_000
const QUICK = 500
/** Most are seen in one of a hundred schedules, the rarest in one of five hundred. */
const PLANTED_FULL = 3000
const PLANTED_QUICK = 1000

export const ringSafety: Experiment = {
  name: 'ring-safety',
  title: 'A replicated store while everything goes wrong: nothing acknowledged is lost, nothing is falsely current',
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, section 3',
  run: async context => toResult(await measure(context)),
}

async function measure({ quick, seed, progress }: ExperimentContext): Promise<Tally[]> {
  const planted = quick ? PLANTED_QUICK : PLANTED_FULL
  const first = seed * 1_000_000
  const parts: Part[] = [
    { name: 'as it is', schedules: quick ? QUICK : FULL, settings: {} },
    ...PLANTED_BUGS.map(bug => ({ name: `planted: ${bug}`, schedules: planted, settings: { bug } })),
  ]
  const total = parts.reduce((sum, part) => sum + part.schedules, 0)
  let done = 0
  const tallies: Tally[] = []
  for (const part of parts) tallies.push(await count(part, first, () => progress(++done, total, part.name)))
  return tallies
}

async function count(part: Part, first: number, onDone: () => void): Promise<Tally> {
  let [broken, example] = [0, undefined as string | undefined]
  let totals: Totals | undefined
  for (let seed = first; seed < first + part.schedules; seed++) {
    const result = await runCellsSchedule({ ...part.settings, seed })
    totals = totals === undefined ? result : add(totals, result)
    if (result.violations.length > 0) {
      broken++
      example ??= `seed ${seed}, ${result.violations[0]}`
    }
    onDone()
  }
  return { ...part, broken, example, totals: totals! }
}

function add(a: Totals, b: Totals): Totals {
  const sum = <K extends string>(x: Readonly<Record<K, number>>, y: Readonly<Record<K, number>>, keys: readonly K[]) =>
    Object.fromEntries(keys.map(key => [key, x[key] + y[key]])) as Record<K, number>
  return { ...sum(a, b, COUNTS), faults: sum(a.faults, b.faults, Object.keys(a.faults) as Fault[]) }
}

function toResult(tallies: readonly Tally[]): ExperimentResult {
  const [safe, ...planted] = tallies as [Tally, ...Tally[]]
  const { faults, ...counts } = safe.totals
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
