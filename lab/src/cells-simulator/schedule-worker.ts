/** Runs schedules in a thread of its own, a stretch of seeds at a time. */
import { parentPort } from 'node:worker_threads'
import type { Fault } from './cells-result.js'
import { type CellsSchedule, runCellsSchedule } from './cells-schedule.js'

export interface Stretch {
  readonly settings: Omit<CellsSchedule, 'seed'>
  readonly first: number
  readonly count: number
}

type Count =
  | ('acknowledged' | 'unknown' | 'refused' | 'reads' | 'currentReads')
  | ('collected' | 'lateReads' | 'lateCurrentReads' | 'events')

export interface Tally {
  readonly schedules: number
  readonly broken: number
  /** The first seed that broke a promise, to be run again, and what it broke. */
  readonly example?: string | undefined
  readonly totals: Readonly<Record<Count, number>>
  readonly faults: Readonly<Record<Fault, number>>
}

// Errors are answers here, by the hundred thousand, and nobody looks where they come from.
Error.stackTraceLimit = 0

async function run({ settings, first, count }: Stretch): Promise<Tally> {
  let tally: Tally | undefined
  for (let seed = first; seed < first + count; seed++) {
    const { violations, faults, ...result } = await runCellsSchedule({ ...settings, seed })
    const isBroken = violations.length > 0
    const one: Tally = {
      ...{ schedules: 1, broken: isBroken ? 1 : 0, example: isBroken ? `seed ${seed}, ${violations[0]}` : undefined },
      ...{ totals: result, faults },
    }
    tally = tally === undefined ? one : addTallies(tally, one)
  }
  return tally!
}

export function addTallies(a: Tally, b: Tally): Tally {
  const sum = <K extends string>(x: Readonly<Record<K, number>>, y: Readonly<Record<K, number>>, keys: readonly K[]) =>
    Object.fromEntries(keys.map(key => [key, x[key] + y[key]])) as Record<K, number>
  return {
    ...{ schedules: a.schedules + b.schedules, broken: a.broken + b.broken, example: a.example ?? b.example },
    totals: sum(a.totals, b.totals, Object.keys(a.totals) as Count[]),
    faults: sum(a.faults, b.faults, Object.keys(a.faults) as Fault[]),
  }
}

parentPort?.on('message', async (stretch: Stretch) => parentPort!.postMessage(await run(stretch)))
