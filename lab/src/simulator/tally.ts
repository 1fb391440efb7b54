/** The results of many schedules, one seed each: how many broke a promise, and the sums of their counts. */
import type { Counted, ScheduleResult } from './schedule.js'

export interface Tally<Count extends string = string, Fault extends string = string> {
  readonly schedules: number
  readonly broken: number
  /** The first seed that broke a promise, for another run, and what it broke. */
  readonly example: string | undefined
  readonly counts: Readonly<Record<Count, number>>
  readonly faults: Readonly<Record<Fault, number>>
}

export interface Seeds {
  readonly first: number
  readonly count: number
  /** Ends with the first schedule that breaks a promise. */
  readonly stopsWhenBroken?: boolean
}

export type RunSeed<Names extends Counted> = (seed: number) => ScheduleResult<Names> | Promise<ScheduleResult<Names>>

type TallyOf<Names extends Counted> = Tally<
  keyof ScheduleResult<Names>['counts'],
  keyof ScheduleResult<Names>['faults']
>

export async function tallySchedules<Names extends Counted>(
  run: RunSeed<Names>,
  { first, count, stopsWhenBroken = false }: Seeds,
): Promise<TallyOf<Names>> {
  const tallies: TallyOf<Names>[] = []
  for (let seed = first; seed < first + count; seed++) {
    const { violations, counts, faults } = await run(seed)
    const isBroken = violations.length > 0
    const example = isBroken ? `seed ${seed}, ${violations[0]}` : undefined
    tallies.push({ schedules: 1, broken: isBroken ? 1 : 0, example, counts, faults })
    if (isBroken && stopsWhenBroken) break
  }
  return tallies.reduce(addTallies)
}

export function addTallies<Count extends string, Fault extends string>(
  a: Tally<Count, Fault>,
  b: Tally<Count, Fault>,
): Tally<Count, Fault> {
  return {
    ...{ schedules: a.schedules + b.schedules, broken: a.broken + b.broken, example: a.example ?? b.example },
    ...{ counts: sum(a.counts, b.counts), faults: sum(a.faults, b.faults) },
  }
}

function sum<Name extends string>(a: Readonly<Record<Name, number>>, b: Readonly<Record<Name, number>>) {
  const names = Object.keys(a) as Name[]
  return Object.fromEntries(names.map(name => [name, a[name] + b[name]])) as Record<Name, number>
}
