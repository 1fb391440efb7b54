/**
 * Fills a filter key by key and measures it on the way: how often it says yes to keys it was never given, how long `add`
 * takes, and at the end whether it denies any key it was given.
 *
 * A generator, so that its caller decides when there is time for the next step. Keys are drawn twice from the same seed
 * instead of being kept: a million of them would take more memory than the filter a hundred times over.
 */
import { type Bloom, createBloom, expectedRate, type FilterSize, sizeFor } from '@freshet/bloom'
import { type KeySource, productKeys, takeKeys } from '../../harness/keys.js'
import { createRandom } from '../../harness/random.js'

export interface FillOptions {
  readonly entriesMax: number
  readonly falsePositiveRateMax: number
  readonly seed: number
  /** A clock in milliseconds, to time `add` with. */
  readonly nowMs: () => number
}

export interface FillProgress {
  readonly phase: 'filling' | 'measuring' | 'checking'
  readonly added: number
  /** Keys per second of each step, in `add` alone. */
  readonly speeds: readonly number[]
  /** Keys added, and the rate measured there. */
  readonly rates: readonly (readonly [added: number, rate: number])[]
  /** Absent keys that the full filter was asked for, and how many of them it wrongly knew. */
  readonly probes: number
  readonly falsePositives: number
  /** Present keys that the full filter was asked for, and how many of them it denied. */
  readonly checked: number
  readonly falseNegatives: number
}

type Counts = { -readonly [Name in keyof FillProgress]: FillProgress[Name] }

const ENTRIES_LEAST = 1000
const ENTRIES_MOST = 1_000_000
const SAMPLES = 40
const PROBES_PER_SAMPLE = 20_000
const KEYS_PER_STEP = 5000

/** Throws what the library throws, and a RangeError for sizes that this page does not offer. */
export function checkFill(entriesMax: number, falsePositiveRateMax: number): FilterSize {
  const size = sizeFor(entriesMax, falsePositiveRateMax)
  if (Number.isInteger(entriesMax) && entriesMax >= ENTRIES_LEAST && entriesMax <= ENTRIES_MOST) return size
  throw new RangeError(
    `This page adds a whole number of keys from 1,000 to 1,000,000, not ${entriesMax}. Enter one of those.`,
  )
}

/** Enough absent keys for about a thousand false positives, but no more than a browser asks for in a second or so. */
function probesFor(falsePositiveRateMax: number): number {
  return Math.min(1_000_000, Math.max(100_000, Math.ceil(1000 / falsePositiveRateMax)))
}

/** How much of the work is done, from 0 to 1, by the keys that it takes. */
export function shareDone(progress: FillProgress, entriesMax: number, falsePositiveRateMax: number): number {
  const { added, probes, checked } = progress
  const sampled = Math.min(SAMPLES - 1, progress.rates.length) * PROBES_PER_SAMPLE
  const total = 2 * entriesMax + (SAMPLES - 1) * PROBES_PER_SAMPLE + probesFor(falsePositiveRateMax)
  return (added + sampled + probes + checked) / total
}

/** The median: a mean would count what else the machine was doing meanwhile. Undefined while nothing was timed. */
export function typicalSpeed(speeds: readonly number[]): number | undefined {
  return [...speeds].sort((a, b) => a - b)[speeds.length >> 1]
}

/**
 * What chance does to a measured rate: by the keys that were asked for, and by how many bits the added keys happened to
 * set (the variance of the occupied bins when k n balls fall into m).
 */
export function standardErrorOf(size: FilterSize, entries: number, probes: number): number {
  const { bits, hashes } = size
  const rate = expectedRate(size, entries)
  const load = (hashes * entries) / bits
  const empty = Math.exp(-load)
  const fillVariance = (empty * (1 - (1 + load) * empty)) / bits
  const rateByFill = hashes * (1 - empty) ** (hashes - 1)
  return Math.sqrt((rate * (1 - rate)) / probes + rateByFill ** 2 * fillVariance)
}

export function* fillRun(options: FillOptions): Generator<FillProgress, void> {
  const { entriesMax, falsePositiveRateMax } = options
  checkFill(entriesMax, falsePositiveRateMax)
  const random = createRandom(options.seed)
  const bloom = createBloom({ entriesMax, falsePositiveRateMax })
  const absent = productKeys(random.fork('absent'))
  const counts = emptyCounts()
  yield* fill(bloom, productKeys(random.fork('added')), absent, options, counts)
  yield* measure(bloom, absent, probesFor(falsePositiveRateMax), counts)
  yield* check(bloom, productKeys(random.fork('added')), entriesMax, counts)
}

function* fill(
  bloom: Bloom,
  added: KeySource<string>,
  absent: KeySource<string>,
  { entriesMax, nowMs }: FillOptions,
  counts: Counts,
): Generator<FillProgress, void> {
  for (let sample = 1; sample <= SAMPLES; sample++) {
    const until = Math.round((entriesMax * sample) / SAMPLES)
    while (counts.added < until) {
      const keys = takeKeys(added, Math.min(KEYS_PER_STEP, until - counts.added))
      const startedMs = nowMs()
      for (const key of keys) bloom.add(key)
      const spentMs = nowMs() - startedMs
      if (spentMs > 0) counts.speeds = [...counts.speeds, (keys.length / spentMs) * 1000]
      counts.added += keys.length
      yield { ...counts }
    }
    // The last point is measured more closely, by `measure`.
    if (sample === SAMPLES) return
    const positives = countKnown(bloom, absent, PROBES_PER_SAMPLE)
    counts.rates = [...counts.rates, [until, positives / PROBES_PER_SAMPLE]]
    yield { ...counts }
  }
}

function* measure(
  bloom: Bloom,
  absent: KeySource<string>,
  probes: number,
  counts: Counts,
): Generator<FillProgress, void> {
  counts.phase = 'measuring'
  const before = counts.rates
  for (const step of stepsTo(probes)) {
    counts.falsePositives += countKnown(bloom, absent, step)
    counts.probes += step
    counts.rates = [...before, [counts.added, counts.falsePositives / counts.probes]]
    yield { ...counts }
  }
}

function* check(bloom: Bloom, added: KeySource<string>, entries: number, counts: Counts): Generator<FillProgress> {
  counts.phase = 'checking'
  for (const step of stepsTo(entries)) {
    counts.falseNegatives += step - countKnown(bloom, added, step)
    counts.checked += step
    yield { ...counts }
  }
}

/** How many keys to take in each step, until there are so many. */
function* stepsTo(keys: number): Generator<number> {
  for (let taken = 0; taken < keys; taken += KEYS_PER_STEP) yield Math.min(KEYS_PER_STEP, keys - taken)
}

function countKnown(bloom: Bloom, keys: KeySource<string>, count: number): number {
  let known = 0
  for (let i = 0; i < count; i++) if (bloom.has(keys())) known++
  return known
}

function emptyCounts(): Counts {
  return {
    phase: 'filling',
    added: 0,
    speeds: [],
    rates: [],
    probes: 0,
    falsePositives: 0,
    checked: 0,
    falseNegatives: 0,
  }
}
