/**
 * Fills a filter key by key and measures it on the way: how often it claims to know keys that were never added, how long `add`
 * takes, and at the end whether it denies any added key.
 *
 * A generator, so that its caller decides when to run the next step. Keys are drawn twice from the same seed instead of being
 * stored: a million keys would take a hundred times the memory of the filter.
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
  /** Keys per second in each step, timing only `add`. */
  readonly speeds: readonly number[]
  /** Keys added, and the rate measured then. */
  readonly rates: readonly (readonly [added: number, rate: number])[]
  /** Absent keys that were looked up in the full filter, and how many of them it wrongly knew. */
  readonly probes: number
  readonly falsePositives: number
  /** Added keys that were looked up in the full filter, and how many of them it denied. */
  readonly checked: number
  readonly falseNegatives: number
}

type Counts = { -readonly [Name in keyof FillProgress]: FillProgress[Name] }

const ENTRIES_LEAST = 1000
const ENTRIES_MOST = 1_000_000
const SAMPLES = 40
const PROBES_PER_SAMPLE = 20_000
const KEYS_PER_STEP = 5000

/** Throws the library's errors, and a RangeError for sizes that this page does not offer. */
export function checkFill(entriesMax: number, falsePositiveRateMax: number): FilterSize {
  const size = sizeFor(entriesMax, falsePositiveRateMax)
  if (Number.isInteger(entriesMax) && entriesMax >= ENTRIES_LEAST && entriesMax <= ENTRIES_MOST) return size
  throw new RangeError(
    `This page adds a whole number of keys from 1,000 to 1,000,000, not ${entriesMax}. Enter one of those.`,
  )
}

/** Enough absent keys for about a thousand false positives, but no more than a browser can look up in about a second. */
function probesFor(falsePositiveRateMax: number): number {
  return Math.min(1_000_000, Math.max(100_000, Math.ceil(1000 / falsePositiveRateMax)))
}

/** The share of the work that is done, from 0 to 1, counted in keys. */
export function shareDone(progress: FillProgress, entriesMax: number, falsePositiveRateMax: number): number {
  const { added, probes, checked } = progress
  const sampled = Math.min(SAMPLES - 1, progress.rates.length) * PROBES_PER_SAMPLE
  const total = 2 * entriesMax + (SAMPLES - 1) * PROBES_PER_SAMPLE + probesFor(falsePositiveRateMax)
  return (added + sampled + probes + checked) / total
}

/** The median: a mean would include other work of the machine. Undefined before the first timing. */
export function typicalSpeed(speeds: readonly number[]): number | undefined {
  return [...speeds].sort((a, b) => a - b)[speeds.length >> 1]
}

/**
 * The standard error of a measured rate: from the number of lookups, and from how many bits the added keys happened to set
 * (the variance of the occupied bins when k n balls fall into m).
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

/** The number of keys in each step, until `keys` are reached. */
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
