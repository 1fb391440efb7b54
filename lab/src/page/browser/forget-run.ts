/**
 * Two filters that forget, side by side in simulated time, with the same keys and the same memory: the rotating filter, and the
 * forgetful filter with the parameters that are best for that memory.
 *
 * Time passes in ticks, each a fortieth of the window. The keys of one tick are kept as long as their age is of interest; after
 * each tick some keys of every age are looked up again. So the right answer to each lookup is known.
 */
import {
  createForgetfulBloom,
  createRotatingBloom,
  expectedRate,
  type ForgetfulBloomOptions,
  sizeFor,
  type WindowedFilter,
} from '@freshet/bloom'
import { type KeySource, productKeys, takeKeys } from '../../harness/keys.js'
import { createRandom, type Random } from '../../harness/random.js'

export interface ForgetOptions {
  readonly windowMs: number
  readonly keysPerSecond: number
  readonly falsePositiveRateMax: number
  readonly seed: number
}

export interface FilterRecord {
  readonly sizeBytes: number
  /** By age, youngest first: the keys of that age that were looked up, and how many were still known. */
  readonly ages: readonly { readonly asked: number; readonly known: number }[]
  /** Keys never added that were looked up once the filter was warm, and how many it wrongly knew. */
  readonly probes: number
  readonly falsePositives: number
}

export interface ForgetProgress {
  readonly timeMs: number
  readonly rotating: FilterRecord
  readonly forgetful: FilterRecord
}

export const TICKS_PER_WINDOW = 40
export const WINDOWS_SIMULATED = 10
const AGES = 2 * TICKS_PER_WINDOW
const WARM_AFTER_TICKS = 2 * TICKS_PER_WINDOW
const ASKED_PER_AGE = 30
const PROBES_PER_TICK = 500
const PAST_FILTERS_MAX = 14
const HASHES_MAX = 16
const LOAD_LEAST = 20
const LOAD_MOST = 2000

interface Contestant {
  readonly filter: WindowedFilter
  readonly ages: { asked: number; known: number }[]
  probes: number
  falsePositives: number
}

/** Throws the library's errors, and a RangeError for loads that this page does not offer. */
export function checkForget(options: Omit<ForgetOptions, 'seed'>): void {
  const { windowMs, keysPerSecond, falsePositiveRateMax } = options
  if (!(keysPerSecond >= LOAD_LEAST && keysPerSecond <= LOAD_MOST)) {
    throw new RangeError(`This page simulates 20 to 2,000 new keys a second, not ${keysPerSecond}. Enter one of those.`)
  }
  sizeFor(keysIn(windowMs, options), falsePositiveRateMax)
}

export function* forgetRun(options: ForgetOptions): Generator<ForgetProgress, void> {
  const random = createRandom(options.seed)
  const { rotating, forgetful } = createContestants(options)
  const added = productKeys(random.fork('added'))
  const absent = productKeys(random.fork('absent'))
  const tickMs = options.windowMs / TICKS_PER_WINDOW
  /** Youngest first. */
  const batches: string[][] = []
  for (let tick = 1; tick <= WINDOWS_SIMULATED * TICKS_PER_WINDOW; tick++) {
    batches.unshift(arrive([rotating, forgetful], added, options, tick))
    batches.length = Math.min(batches.length, AGES)
    const probes = tick > WARM_AFTER_TICKS ? takeKeys(absent, PROBES_PER_TICK) : []
    const asked = batches.map(batch => sampleOf(batch, random))
    for (const contestant of [rotating, forgetful]) ask(contestant, asked, probes, tick * tickMs)
    yield { timeMs: tick * tickMs, rotating: recordOf(rotating), forgetful: recordOf(forgetful) }
  }
}

/** The known keys among those younger than the window, all of which must be known. */
export function withinWindow(record: FilterRecord): { asked: number; known: number } {
  const within = record.ages.slice(0, TICKS_PER_WINDOW)
  return {
    asked: within.reduce((total, age) => total + age.asked, 0),
    known: within.reduce((total, age) => total + age.known, 0),
  }
}

function createContestants(options: ForgetOptions): { rotating: Contestant; forgetful: Contestant } {
  const { windowMs, falsePositiveRateMax } = options
  const create = () => createRotatingBloom({ windowMs, entriesMax: keysIn(windowMs, options), falsePositiveRateMax })
  const sizeBytes = sizeWhenWarm(create(), options)
  return {
    rotating: contestant(create()),
    forgetful: contestant(createForgetfulBloom(bestForgetful(sizeBytes, options))),
  }
}

function contestant(filter: WindowedFilter): Contestant {
  return { filter, ages: [], probes: 0, falsePositives: 0 }
}

/** The memory of the filter once it has the most slices that it needs at this load. */
function sizeWhenWarm(filter: WindowedFilter, options: ForgetOptions): number {
  const added = productKeys(createRandom(options.seed))
  for (let tick = 1; tick <= WARM_AFTER_TICKS; tick++) arrive([contestant(filter)], added, options, tick)
  return filter.sizeBytes()
}

/**
 * Tries all sensible numbers of filters and hashes in this memory, by the paper's estimate. A key stays in future and present,
 * so a filter holds two refreshes' worth of keys, but the future at most one. The future and the oldest stand alone, the others
 * in pairs.
 */
function bestForgetful(sizeBytes: number, options: ForgetOptions): ForgetfulBloomOptions {
  let best: ForgetfulBloomOptions | undefined
  let rateLeast = Number.POSITIVE_INFINITY
  for (let pastFilters = 1; pastFilters <= PAST_FILTERS_MAX; pastFilters++) {
    const refreshMs = options.windowMs / (pastFilters + 1)
    const bits = Math.floor(sizeBytes / 4 / (pastFilters + 2)) * 32
    for (let hashes = 1; hashes <= HASHES_MAX; hashes++) {
      const future = expectedRate({ bits, hashes }, keysIn(refreshMs, options))
      const full = expectedRate({ bits, hashes }, 2 * keysIn(refreshMs, options))
      const rate = future + full + pastFilters * full ** 2
      if (rate < rateLeast) [best, rateLeast] = [{ bits, hashes, pastFilters, refreshMs }, rate]
    }
  }
  return best!
}

function keysIn(spanMs: number, { keysPerSecond }: Pick<ForgetOptions, 'keysPerSecond'>): number {
  return (keysPerSecond * spanMs) / 1000
}

/** Adds the keys of one tick, evenly spread over it. */
function arrive(
  contestants: readonly Contestant[],
  added: KeySource<string>,
  options: ForgetOptions,
  tick: number,
): string[] {
  const tickMs = options.windowMs / TICKS_PER_WINDOW
  const keys = takeKeys(added, Math.round(keysIn(tickMs, options)))
  keys.forEach((key, i) => {
    const timeMs = (tick - 1 + (i + 0.5) / keys.length) * tickMs
    for (const { filter } of contestants) filter.add(key, timeMs)
  })
  return keys
}

function sampleOf(batch: readonly string[], random: Random): string[] {
  return Array.from({ length: ASKED_PER_AGE }, () => random.pick(batch))
}

function ask(
  contestant: Contestant,
  asked: readonly (readonly string[])[],
  probes: readonly string[],
  nowMs: number,
): void {
  const countKnown = (keys: readonly string[]) => keys.filter(key => contestant.filter.has(key, nowMs)).length
  asked.forEach((keys, age) => {
    contestant.ages[age] ??= { asked: 0, known: 0 }
    contestant.ages[age].asked += keys.length
    contestant.ages[age].known += countKnown(keys)
  })
  contestant.probes += probes.length
  contestant.falsePositives += countKnown(probes)
}

function recordOf({ filter, ages, probes, falsePositives }: Contestant): FilterRecord {
  return { sizeBytes: filter.sizeBytes(), ages: ages.map(age => ({ ...age })), probes, falsePositives }
}
