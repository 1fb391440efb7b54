/**
 * A load that grows while a forgetful filter runs, and the filter's rate when the load has reached a given value. For
 * figures 11 and 12.
 *
 * Within a refresh period the rate rises as the future fills. We measure its highest value, just before a refresh, and set
 * the filter's clock so that a refresh is due at the moment of interest.
 */
import { createForgetfulBloom, type ForgetfulBloom, type ForgetfulBloomOptions } from '@freshet/bloom'
import type { ExperimentContext } from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'
import { type MeasuredRate, toMeasuredRate } from './measured-rate.js'
import { ABSENT, INSERTED, numberedKey } from './numbered-key.js'

export interface GrowingLoad {
  /** When operation `number` arrives. */
  operationMs(number: number): number
  /** When the load reaches this many operations per second. */
  reachesMs(ratePerSecond: number): number
}

/** From `firstPerSecond` to `lastPerSecond`, with `operations` operations in all. */
export interface LoadRange {
  readonly firstPerSecond: number
  readonly lastPerSecond: number
  readonly operations: number
}

export function exponentialLoad({ firstPerSecond, lastPerSecond, operations }: LoadRange): GrowingLoad {
  const growthPerSecond = (lastPerSecond - firstPerSecond) / operations
  return {
    operationMs: number => (Math.log1p((growthPerSecond * number) / firstPerSecond) / growthPerSecond) * 1000,
    reachesMs: ratePerSecond => (Math.log(ratePerSecond / firstPerSecond) / growthPerSecond) * 1000,
  }
}

/** Starts at zero. */
export function linearLoad({ lastPerSecond, operations }: Omit<LoadRange, 'firstPerSecond'>): GrowingLoad {
  const seconds = (2 * operations) / lastPerSecond
  return {
    operationMs: number => Math.sqrt(number / operations) * seconds * 1000,
    reachesMs: ratePerSecond => (ratePerSecond / lastPerSecond) * seconds * 1000,
  }
}

export function steadyLoad(ratePerSecond: number): GrowingLoad {
  return { operationMs: number => (number / ratePerSecond) * 1000, reachesMs: () => 0 }
}

export interface LoadedRate {
  readonly estimated: number
  readonly measured: MeasuredRate
}

export interface LoadedSettings {
  readonly filter: Omit<ForgetfulBloomOptions, 'seed'>
  readonly load: GrowingLoad
  readonly untilMs: number
  readonly filters: number
  readonly probesPerFilter: number
}

/** The rate of the filter just before `untilMs`, when its next refresh is due. */
export function measureLoaded(settings: LoadedSettings, random: Random): LoadedRate {
  const { untilMs, filters, probesPerFilter } = settings
  const positives: number[] = []
  let estimated = 0
  for (let i = 0; i < filters; i++) {
    const filter = runUntil(settings, BigInt(random.uint32()))
    estimated += filter.estimatedRate() / filters
    let count = 0
    for (let j = 0; j < probesPerFilter; j++) if (filter.has(numberedKey(ABSENT, j), untilMs - 1e-3)) count++
    positives.push(count)
  }
  return { estimated, measured: toMeasuredRate(positives, probesPerFilter, estimated) }
}

/** One point for each cell: the cell itself, and the rate with its settings. */
export function measureCells<Cell extends object>(
  cells: readonly Cell[],
  { random, progress }: ExperimentContext,
  settingsOf: (cell: Cell) => LoadedSettings & { readonly label: string },
): (Cell & LoadedRate)[] {
  return cells.map((cell, i) => {
    const { label, ...settings } = settingsOf(cell)
    progress(i, cells.length, label)
    return { ...cell, ...measureLoaded(settings, random) }
  })
}

function runUntil({ filter: options, load, untilMs }: LoadedSettings, seed: bigint): ForgetfulBloom {
  const filter = createForgetfulBloom({ ...options, seed })
  filter.advance((untilMs % options.refreshMs) - options.refreshMs)
  for (let number = 0; load.operationMs(number) < untilMs; number++) {
    filter.insert(numberedKey(INSERTED, number), load.operationMs(number))
  }
  return filter
}
