/**
 * Schedules of everything that can go wrong, each from a seed: a slot of a log that several nodes remember never holds two things, and whoever looks
 * sees all that was decided; and rules that are broken on purpose are missed. See `agreement-simulator/agreement-schedule.ts` for what
 * happens in a schedule.
 */
import {
  type AgreementResult,
  type Fault,
  PLANTED_BUGS,
  type PlantedBug,
  runAgreement,
} from '../../agreement-simulator/agreement-schedule.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'

interface Part {
  readonly name: string
  readonly bug: PlantedBug | undefined
  readonly schedules: number
}

interface Tally extends Part {
  readonly broken: number
  /** The first seed that broke a promise, to be run again, and what it broke. */
  readonly example: string | undefined
  readonly totals: Totals
}

const COUNTS = ['decided', 'appended', 'looks', 'lateAppends', 'lateAppended', 'events'] as const
type Totals = Record<(typeof COUNTS)[number], number> & { readonly faults: Record<Fault, number> }

const FULL = 100_000
const QUICK = 2000
const PLANTED_SHARE = 0.05

export const agreementSafety: Experiment = {
  name: 'agreement-safety',
  title: 'A log that several nodes remember, while everything goes wrong: no slot holds two things',
  source: 'Lamport 2001; Chockler and Malkhi 2002',
  run: async context => toResult(measure(context)),
}

function measure({ quick, seed, progress }: ExperimentContext): Tally[] {
  const schedules = quick ? QUICK : FULL
  const planted = Math.max(2000, Math.round(schedules * PLANTED_SHARE))
  const parts: Part[] = [
    { name: 'as it is', bug: undefined, schedules },
    ...PLANTED_BUGS.map(bug => ({ name: `planted: ${bug}`, bug, schedules: planted })),
  ]
  const total = parts.reduce((sum, part) => sum + part.schedules, 0)
  let done = 0
  return parts.map(part => count(part, seed * 1_000_000, () => progress(++done, total, part.name)))
}

function count(part: Part, first: number, onDone: () => void): Tally {
  let [broken, example] = [0, undefined as string | undefined]
  const totals = { ...Object.fromEntries(COUNTS.map(name => [name, 0])), faults: {} } as Totals
  for (let seed = first; seed < first + part.schedules; seed++) {
    const result = runAgreement({ seed, bug: part.bug })
    add(totals, result)
    if (result.violations.length > 0) {
      broken++
      example ??= `seed ${seed}, ${result.violations[0]}`
    }
    onDone()
  }
  return { ...part, broken, example, totals }
}

function add(totals: Totals, result: AgreementResult): void {
  for (const name of COUNTS) totals[name] += result[name]
  for (const [fault, times] of Object.entries(result.faults) as [Fault, number][]) {
    totals.faults[fault] = (totals.faults[fault] ?? 0) + times
  }
}

function toResult(tallies: readonly Tally[]): ExperimentResult {
  const safe = tallies[0]!
  const planted = Object.fromEntries(tallies.slice(1).map(({ bug, broken, schedules }) => [bug, { broken, schedules }]))
  return {
    summary: { schedules: safe.schedules, broken: safe.broken, planted, ...safe.totals },
    tables: [
      {
        title: 'Schedules in which a promise was broken',
        columns: ['protocol', 'schedules', 'broken', 'slots decided', 'looks'],
        rows: tallies.map(({ name, schedules, broken, totals }) => [
          ...[name, schedules, broken, totals.decided, totals.looks],
        ]),
      },
      {
        title: `What went wrong in the ${safe.schedules} schedules as it is`,
        columns: ['fault', 'times'],
        rows: Object.entries(safe.totals.faults),
      },
    ],
    plots: [],
    verdicts: [holds(safe), recovers(safe), ...tallies.slice(1).map(isCaught)],
  }
}

function holds({ schedules, broken, example, totals }: Tally): Verdict {
  return {
    claim: 'no slot holds two things, and whoever looks sees all that was decided',
    holds: broken === 0,
    detail: example ?? `0 of ${schedules} schedules, ${totals.decided} slots, ${totals.looks} looks`,
  }
}

/** A promise that is kept by deciding nothing would be worth little. */
function recovers({ totals: { lateAppends, lateAppended } }: Tally): Verdict {
  return {
    claim: 'when everything is well again, whoever appends does so',
    holds: lateAppended / lateAppends > 0.99,
    detail: `${lateAppended} of ${lateAppends}`,
  }
}

function isCaught({ name, schedules, broken, example }: Tally): Verdict {
  return {
    claim: `${name}: the checker sees it`,
    holds: broken > 0,
    detail: `${broken} of ${schedules} schedules${example === undefined ? '' : `; ${example}`}`,
  }
}
