/**
 * The work in each contender's process or page: keys from the seed, a filter filled with them, and in each round the time to
 * add all keys, to find all of them, and to look up as many absent keys.
 *
 * A contender that is too slow for the budget of a round gets fewer keys and a smaller filter, filled to the same load. A
 * smaller filter fits better into the processor's cache, which favours slow contenders, never ours.
 */
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { productKeys, takeKeys } from '../../harness/keys.js'
import { createRandom } from '../../harness/random.js'
import type { Readings } from '../../harness/side-by-side.js'
import { elapsedMs, type Stopwatch, stopwatch } from '../../harness/stopwatch.js'
import type { ContenderLoader, FilterContender, PeerKey } from './contender.js'

export const MEASURES = ['add', 'hit', 'miss'] as const
export type Measure = (typeof MEASURES)[number]

export interface FilterSettings {
  readonly contender: string
  readonly entries: number
  readonly rate: number
  readonly seed: number
  readonly roundMsMax: number
}

export interface FilterDetails {
  /** How many keys the contender got in the end. */
  readonly entries: number
  readonly bitsPerEntry: number
  /** The share of absent keys that the filter reports as present. */
  readonly measuredRate: number
  /** Present keys that the filter reports as absent; a Bloom filter has none. */
  readonly falseNegatives: number
}

/** A fixed ladder, so that a peer near a step has one of two sizes and not just any. */
const ENTRIES_LADDER = [500_000, 200_000, 100_000, 50_000, 20_000, 10_000, 5000, 2000, 1000, 500, 200, 100]
const TRIAL_ENTRIES_FIRST = 100
const TRIAL_SHARE = 0.1

export type FilterWorker = ContenderWorker<FilterSettings, FilterDetails, Measure>

export function createFilterWorker(loaders: Readonly<Record<string, ContenderLoader>>): FilterWorker {
  let runRound: (() => Readings<Measure>) | undefined
  return {
    async prepare(settings) {
      const contender = await loaders[settings.contender]!()
      const entries = chooseEntries(contender, settings)
      const { present, absent } = makeKeys(contender, entries, settings.seed)
      const create = () => contender.create(entries, settings.rate)
      runRound = () => measureRound({ contender, create, present, absent, stopwatch })
      return inspect(contender, create(), present, absent)
    },
    async round() {
      if (!runRound) throw new TypeError('The worker was not prepared.')
      return runRound()
    },
  }
}

export interface Round {
  readonly contender: Pick<FilterContender, 'add' | 'has'>
  create(): unknown
  readonly present: readonly PeerKey[]
  readonly absent: readonly PeerKey[]
  readonly stopwatch: Stopwatch
}

/** Nanoseconds per key for each measure, on a fresh filter. */
export function measureRound({ contender, create, present, absent, stopwatch }: Round): Readings<Measure> {
  const filter = create()
  // What the last round left behind is collected now, not in the middle of a measurement.
  ;(globalThis as { gc?: () => void }).gc?.()
  const start = stopwatch.now()
  addAll(contender, filter, present)
  const added = stopwatch.now()
  countPresent(contender, filter, present)
  const hit = stopwatch.now()
  countPresent(contender, filter, absent)
  const missed = stopwatch.now()
  return {
    add: (elapsedMs(start, added) * 1e6) / present.length,
    hit: (elapsedMs(added, hit) * 1e6) / present.length,
    miss: (elapsedMs(hit, missed) * 1e6) / absent.length,
  }
}

function addAll({ add }: Pick<FilterContender, 'add'>, filter: unknown, keys: readonly PeerKey[]): void {
  for (let i = 0; i < keys.length; i++) add(filter, keys[i]!)
}

function countPresent({ has }: Pick<FilterContender, 'has'>, filter: unknown, keys: readonly PeerKey[]): number {
  let count = 0
  for (let i = 0; i < keys.length; i++) if (has(filter, keys[i]!)) count++
  return count
}

/** The most keys whose round is predicted to stay within the budget. */
function chooseEntries(contender: FilterContender, settings: FilterSettings): number {
  const wanted = Math.min(settings.entries, contender.entriesMax ?? Number.POSITIVE_INFINITY)
  const affordable = (settings.roundMsMax * 1e6) / trialNanoseconds(contender, settings, wanted)
  if (wanted <= affordable) return wanted
  return ENTRIES_LADDER.find(step => step <= wanted && step <= affordable) ?? ENTRIES_LADDER.at(-1)!
}

/** Times adding, finding and missing a key, in trials that grow until they are long enough to be reliable. */
function trialNanoseconds(contender: FilterContender, settings: FilterSettings, wanted: number): number {
  for (let entries = TRIAL_ENTRIES_FIRST; ; entries *= 3) {
    // At the wanted size, not smaller: some peers choose their arrays by size, and code that has seen two kinds is slower.
    const create = () => contender.create(wanted, settings.rate)
    const keys = makeKeys(contender, entries, settings.seed + 1)
    const { add, hit, miss } = measureRound({ contender, create, ...keys, stopwatch })
    const perKey = add + hit + miss
    if (3 * entries > wanted || perKey * entries > TRIAL_SHARE * settings.roundMsMax * 1e6) return perKey
  }
}

function makeKeys(contender: FilterContender, entries: number, seed: number) {
  const keys = takeKeys(productKeys(createRandom(seed)), 2 * entries).map(key => contender.toKey(key))
  return { present: keys.slice(0, entries), absent: keys.slice(entries) }
}

function inspect(
  contender: FilterContender,
  filter: unknown,
  present: readonly PeerKey[],
  absent: readonly PeerKey[],
): FilterDetails {
  addAll(contender, filter, present)
  return {
    entries: present.length,
    bitsPerEntry: contender.memoryBits(filter) / present.length,
    measuredRate: countPresent(contender, filter, absent) / absent.length,
    falseNegatives: present.length - countPresent(contender, filter, present),
  }
}
