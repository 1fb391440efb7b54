/**
 * Schedules of everything that can go wrong, each from a seed: with tenures no timestamp is given twice or out of order and no
 * read that is said to be current is stale; with the paper's protocol alone there are both; and rules that are broken on purpose
 * are missed. See `ring-simulator/safety-schedule.ts` for what happens in a schedule.
 */
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import { type Fault, PLANTED_BUGS, runSchedule, type ScheduleSettings } from '../../ring-simulator/safety-schedule.js'

interface Part {
  readonly name: string
  readonly isBroken: boolean
  readonly schedules: number
  readonly settings: Omit<ScheduleSettings, 'seed'>
}

interface Tally {
  readonly name: string
  readonly isBroken: boolean
  readonly schedules: number
  readonly broken: number
  /** The first seed that broke a promise, to be run again, and what it broke. */
  readonly example: string | undefined
  readonly totals: Totals
}

type Count = 'timestamps' | 'committed' | 'reads' | 'currentReads' | 'lateReads' | 'lateCurrentReads' | 'events'
type Totals = Readonly<Record<Count, number>> & { readonly faults: Readonly<Record<Fault, number>> }

const FULL = 100_000
const QUICK = 1000
const PAPER_SHARE = 0.02

export const ktsSafety: Experiment = {
  name: 'kts-safety',
  title: 'Timestamps by key while everything goes wrong: never twice, and never falsely current',
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, section 4',
  run: async context => toResult(measure(context)),
}

function measure({ quick, seed, progress }: ExperimentContext): Tally[] {
  const schedules = quick ? QUICK : FULL
  const others = Math.max(300, Math.round(schedules * PAPER_SHARE))
  const first = seed * 1_000_000
  const parts: Part[] = [
    { name: 'with tenures', isBroken: false, schedules, settings: { protocol: 'tenures' } },
    { name: 'the paper alone', isBroken: true, schedules: others, settings: { protocol: 'paper' } },
    ...PLANTED_BUGS.map(bug => ({
      ...{ name: `planted: ${bug}`, isBroken: true, schedules: others * (bug === 'kept counter' ? 5 : 1) },
      settings: { protocol: 'tenures' as const, bug },
    })),
  ]
  const total = parts.reduce((sum, part) => sum + part.schedules, 0)
  let done = 0
  return parts.map(part => {
    const onDone = () => progress(++done, total, part.name)
    return count(part, first, onDone)
  })
}

function count({ name, isBroken, schedules, settings }: Part, first: number, onDone: () => void): Tally {
  let [broken, example] = [0, undefined as string | undefined]
  let totals: Totals | undefined
  for (let seed = first; seed < first + schedules; seed++) {
    const result = runSchedule({ ...settings, seed })
    totals = totals === undefined ? result : add(totals, result)
    if (result.violations.length > 0) {
      broken++
      example ??= `seed ${seed}, ${result.violations[0]}`
    }
    onDone()
  }
  return { name, isBroken, schedules, broken, example, totals: totals! }
}

function add(a: Totals, b: Totals): Totals {
  const sum = <K extends string>(x: Readonly<Record<K, number>>, y: Readonly<Record<K, number>>, keys: readonly K[]) =>
    Object.fromEntries(keys.map(key => [key, x[key] + y[key]])) as Record<K, number>
  const counts = [
    ...(['timestamps', 'committed', 'reads', 'currentReads'] as const),
    ...(['lateReads', 'lateCurrentReads', 'events'] as const),
  ]
  return { ...sum(a, b, counts), faults: sum(a.faults, b.faults, Object.keys(a.faults) as Fault[]) }
}

function toResult(tallies: readonly Tally[]): ExperimentResult {
  const safe = tallies[0]!
  return {
    summary: { schedules: safe.schedules, broken: safe.broken, ...safe.totals },
    points: tallies.map(({ totals, ...tally }) => ({ ...tally, timestamps: totals.timestamps, reads: totals.reads })),
    tables: [
      {
        title: 'Schedules in which a promise was broken',
        columns: [
          'protocol',
          'schedules',
          'broken',
          'timestamps',
          'writes acknowledged',
          'reads',
          'said to be current',
        ],
        rows: tallies.map(({ name, schedules, broken, totals }) => [
          ...[name, schedules, broken, totals.timestamps, totals.committed, totals.reads, totals.currentReads],
        ]),
      },
      {
        title: `What went wrong in the ${safe.schedules} schedules with tenures`,
        columns: ['fault', 'times'],
        rows: Object.entries(safe.totals.faults),
      },
    ],
    plots: [],
    verdicts: [holds(safe), recovers(safe), ...tallies.filter(tally => tally.isBroken).map(isCaught)],
  }
}

function holds({ schedules, broken, example, totals }: Tally): Verdict {
  return {
    claim: 'with tenures timestamps grow, none is given twice, and no read is falsely current',
    holds: broken === 0,
    detail:
      example ?? `0 of ${schedules} schedules, ${totals.timestamps} timestamps, ${totals.currentReads} current reads`,
  }
}

/** A promise that is kept by refusing everything would be worth little. */
function recovers({ totals }: Tally): Verdict {
  const share = totals.lateCurrentReads / totals.lateReads
  return {
    claim: 'seconds after everything is well again reads are current, but for what was lost with all its replicas',
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
