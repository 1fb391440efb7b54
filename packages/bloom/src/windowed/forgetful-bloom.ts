/**
 * The forgetful Bloom filter, N-FBF (Subramanyam, Gupta, Leslie, Wang: Idempotent Distributed Counters Using a Forgetful
 * Bloom Filter, 2015), with its m, k, N and t:
 *
 *     [ future ][ present ][ past 1 ] ... [ past N ]      N + 2 equal filters of m bits and k hashes
 *        ^ insert ^ insert                      v dropped
 *     refresh, every t: everything moves one place to the right, an empty future comes in
 *
 * A key goes into future and present, so only neighbours overlap in time, and neighbours must agree:
 * member = future, or present and past 1, or past i and past i + 1, or past N alone.
 * It is remembered for at least (N + 1) t. Without adaptation N and t stay constant.
 *
 * Departures from the paper, each because the paper's form denies keys it must know:
 * - Algorithm 2 leaves out "past N alone" when N > 1. The text and equation 3 have it; so do we.
 * - Algorithm 3 adds empty filters after past N when it scales up. Keys that only past N still holds would then be looked up
 *   in an empty neighbour, and denied. We allow more filters and add them at the front.
 * - Adaptation counts filters; we also watch the clock: a filter is dropped when, and only when, the last key that it alone
 *   vouches for is older than the window, whatever N and t have become. So nothing is forgotten early, and the filters that
 *   doubling N allows cost memory only while they are needed.
 * - Each filter has its own salt (`sharedHashes` gives the paper's literal form): with shared hashes neighbours hold the
 *   same keys under the same bits, their errors agree, and the pairwise check loses most of its worth.
 * - Adaptation checks once a second; a burst can overfill a filter meanwhile, and the filter would err for as long as it stands
 *   alone later. So a present filter that has taken its share of the rate is refreshed at once.
 */
import { hashKey, type Key, keyHash } from '../hashing/key-hash.js'
import { checkSeed, type Seed, seedHigh, seedLow, sliceSalt } from '../hashing/seed.js'
import { checkRate, checkSize, expectedRate, type FilterSize, invalid } from '../plain/sizing.js'
import { Slice } from './slice.js'
import type { WindowedFilter } from './windowed-filter.js'

export interface ForgetfulBloomOptions {
  /** m, of each filter. */
  readonly bits: number
  /** k */
  readonly hashes: number
  /** N, 1 or more. */
  readonly pastFilters: number
  /** t */
  readonly refreshMs: number
  readonly seed?: Seed
  /** The same hashes in every filter, as the paper has it. Off by default: see above. */
  readonly sharedHashes?: boolean
  readonly adaptation?: AdaptationOptions
}

export interface AdaptationOptions {
  /** The rate to stay below. */
  readonly falsePositiveRateMax: number
  /** The clients' retry window; (N + 1) t stays above it. */
  readonly windowMs: number
  /** How often to adapt; a second in the paper. */
  readonly everyMs?: number
  /** How much t changes at a time; a second in the paper. */
  readonly stepMs?: number
  /** The most filters, N + 2. */
  readonly filtersMax?: number
}

export function createForgetfulBloom(options: ForgetfulBloomOptions): ForgetfulBloom {
  return new ForgetfulBloom(options)
}

export class ForgetfulBloom implements WindowedFilter {
  readonly size: FilterSize
  /** N as adapted: (N + 1) t is above the window. `filters` is the actual number. */
  pastFilters: number
  /** t as adapted. */
  refreshMs: number
  readonly #adaptation: Required<AdaptationOptions> | undefined
  readonly #filtersMax: number
  readonly #presentCountMax: number
  readonly #sharedHashes: boolean
  readonly #seedLow: number
  readonly #seedHigh: number
  /** Newest first: future, present, past 1, ... Filters that would still be empty are not created yet. */
  readonly #slices: Slice[]
  #spare: Slice | undefined
  #hasDropped = false
  #wasOverfull = false
  #generation = 0
  #nowMs = Number.NEGATIVE_INFINITY
  #refreshedMs = Number.NEGATIVE_INFINITY
  #adaptedMs = Number.NEGATIVE_INFINITY

  constructor(options: ForgetfulBloomOptions) {
    const { pastFilters, refreshMs } = options
    if (!Number.isInteger(pastFilters) || pastFilters < 1) {
      throw invalid(`pastFilters must be a whole number, 1 or more, not ${pastFilters}.`)
    }
    if (!(Number.isFinite(refreshMs) && refreshMs > 0))
      throw invalid(`refreshMs must be a time above 0, not ${refreshMs}.`)
    const seed = checkSeed(options.seed ?? 0n)
    this.size = checkSize(options.bits, options.hashes)
    this.pastFilters = pastFilters
    this.refreshMs = refreshMs
    this.#adaptation = options.adaptation && resolveAdaptation(options.adaptation, pastFilters, refreshMs)
    this.#filtersMax = this.#adaptation?.filtersMax ?? pastFilters + 2
    this.#presentCountMax = this.#adaptation ? presentCountMax(this.size, this.#adaptation) : Number.POSITIVE_INFINITY
    this.#sharedHashes = options.sharedHashes ?? false
    this.#seedLow = seedLow(seed)
    this.#seedHigh = seedHigh(seed)
    const present = this.#newSlice()
    this.#slices = [this.#newSlice(), present]
  }

  /** With adaptation: the retry window it keeps. Without: (N + 1) t. */
  get windowMs(): number {
    return this.#adaptation?.windowMs ?? (this.pastFilters + 1) * this.refreshMs
  }

  /** The number of filters in memory. */
  get filters(): number {
    return this.#slices.length
  }

  /** The paper's insert: adds the key unless it seems to be there; returns whether it was new. */
  insert(key: Key, nowMs: number): boolean {
    if (this.has(key, nowMs)) return false
    this.add(key, nowMs)
    return true
  }

  add(key: Key, nowMs: number): void {
    this.advance(nowMs)
    if (this.#slices[1]!.count >= this.#presentCountMax) {
      this.#refresh()
      this.#wasOverfull = true
    }
    hashKey(key, this.#seedLow, this.#seedHigh)
    const [future, present] = this.#slices
    future!.add(keyHash[0]!, keyHash[1]!)
    present!.add(keyHash[0]!, keyHash[1]!)
    future!.newestMs = this.#nowMs
  }

  /** The optimised check. */
  has(key: Key, nowMs: number): boolean {
    this.advance(nowMs)
    hashKey(key, this.#seedLow, this.#seedHigh)
    const h0 = keyHash[0]!
    const h1 = keyHash[1]!
    const slices = this.#slices
    if (slices[0]!.has(h0, h1)) return true
    let youngerHas = slices[1]!.has(h0, h1)
    for (let i = 2; i < slices.length; i++) {
      const olderHas = slices[i]!.has(h0, h1)
      if (youngerHas && olderHas) return true
      youngerHas = olderHas
    }
    return youngerHas && this.#oldestStandsAlone()
  }

  /** The simple check: member of any filter. It only errs more often. */
  hasSimple(key: Key, nowMs: number): boolean {
    this.advance(nowMs)
    hashKey(key, this.#seedLow, this.#seedHigh)
    const h0 = keyHash[0]!
    const h1 = keyHash[1]!
    return this.#slices.some(slice => slice.has(h0, h1))
  }

  /** p(N-FBF), equation 3, from the numbers of keys. */
  estimatedRate(): number {
    const rates = this.#slices.map(slice => expectedRate(this.size, slice.count))
    let never = 1 - rates[0]!
    for (let i = 1; i + 1 < rates.length; i++) never *= 1 - rates[i]! * rates[i + 1]!
    if (this.#oldestStandsAlone()) never *= 1 - rates.at(-1)!
    return 1 - never
  }

  sizeBytes(): number {
    return this.#slices.reduce((total, slice) => total + slice.sizeBytes, 0)
  }

  /** Brings the filter up to `nowMs`: performs the refreshes and adaptations that are due, in their order. */
  advance(nowMs: number): void {
    if (nowMs <= this.#nowMs) return
    if (this.#nowMs === Number.NEGATIVE_INFINITY || nowMs - this.#nowMs > this.#idleMsMax()) {
      this.#startOver(nowMs)
      return
    }
    for (;;) {
      const refreshMs = this.#refreshedMs + this.refreshMs
      const adaptMs = this.#adaptation ? this.#adaptedMs + this.#adaptation.everyMs : Number.POSITIVE_INFINITY
      const nextMs = Math.min(refreshMs, adaptMs)
      if (nextMs > nowMs) break
      this.#nowMs = Math.max(this.#nowMs, nextMs)
      if (refreshMs <= adaptMs) this.#refresh()
      else this.#adapt()
    }
    this.#nowMs = nowMs
  }

  /** After a time this long without a call everything has been forgotten. */
  #idleMsMax(): number {
    return this.windowMs + (this.#slices.length + 2) * this.refreshMs
  }

  #startOver(nowMs: number): void {
    this.#slices.length = 2
    for (const slice of this.#slices) slice.reuse(this.#nextSalt())
    this.#hasDropped = false
    this.#nowMs = nowMs
    this.#refreshedMs = nowMs
    this.#adaptedMs = nowMs
  }

  #refresh(): void {
    this.#refreshedMs = this.#nowMs
    this.#dropOutdated()
    // At the memory limit the rate may exceed the target, but nothing is forgotten early.
    if (this.#slices.length >= this.#filtersMax) return
    const future = this.#spare ?? this.#newSlice()
    if (this.#spare) future.reuse(this.#nextSalt())
    this.#spare = undefined
    this.#slices.unshift(future)
  }

  #dropOutdated(): void {
    while (this.#mayDropOldest()) {
      this.#spare = this.#slices.pop()
      this.#hasDropped = true
    }
  }

  /**
   * Without adaptation: when there are N + 2. With it: when the last key that the oldest filter alone holds, which came in
   * while that filter was the future, has left the window.
   */
  #mayDropOldest(): boolean {
    if (!this.#adaptation) return this.#slices.length >= this.pastFilters + 2
    return this.#slices.length > 2 && this.#nowMs - this.#slices.at(-1)!.newestMs >= this.#adaptation.windowMs
  }

  #adapt(): void {
    this.#adaptedMs = this.#nowMs
    const rateMax = this.#adaptation!.falsePositiveRateMax
    const rate = this.estimatedRate()
    if (rate >= 0.9 * rateMax || this.#wasOverfull) this.#scaleUp()
    else if (rate <= 0.1 * rateMax) this.#scaleDown()
    this.#wasOverfull = false
    this.#dropOutdated()
  }

  /** Twice the filters, a shorter t, and a fresh future now unless there is one already. */
  #scaleUp(): void {
    const { filtersMax, stepMs } = this.#adaptation!
    // Twice the filters in use, not twice N: N can be far above that after a burst, and would take minutes to come down.
    this.pastFilters = Math.max(this.pastFilters, Math.min(filtersMax, 2 * this.#slices.length) - 2)
    const shorterMs = this.refreshMs - stepMs
    if (shorterMs > 0 && this.#keepsWindow(this.pastFilters, shorterMs)) this.refreshMs = shorterMs
    if (!this.#wasOverfull) this.#refresh()
  }

  #scaleDown(): void {
    const longerMs = this.refreshMs + this.#adaptation!.stepMs
    if (this.pastFilters === 1 || !this.#keepsWindow(this.pastFilters - 1, longerMs)) return
    this.pastFilters--
    this.refreshMs = longerMs
  }

  #keepsWindow(pastFilters: number, refreshMs: number): boolean {
    return (pastFilters + 1) * refreshMs > this.#adaptation!.windowMs
  }

  /** True once the oldest filter has lost, or never had, the neighbour that would vouch for its keys. */
  #oldestStandsAlone(): boolean {
    return this.#hasDropped || this.#slices.length >= this.pastFilters + 2
  }

  #newSlice(): Slice {
    return new Slice(this.size, this.#nextSalt())
  }

  #nextSalt(): number {
    return this.#sharedHashes ? 0 : sliceSalt(this.#generation++)
  }
}

function resolveAdaptation(
  options: AdaptationOptions,
  pastFilters: number,
  refreshMs: number,
): Required<AdaptationOptions> {
  const { falsePositiveRateMax, windowMs } = options
  checkRate(falsePositiveRateMax)
  if (!((pastFilters + 1) * refreshMs > windowMs)) {
    throw invalid(
      `${pastFilters} past filters refreshed every ${refreshMs} ms remember ${(pastFilters + 1) * refreshMs} ms, ` +
        `which must be more than adaptation.windowMs (${windowMs}). Pass more pastFilters or a longer refreshMs.`,
    )
  }
  const filtersMax = options.filtersMax ?? 256
  if (!Number.isInteger(filtersMax) || filtersMax < pastFilters + 2) {
    throw invalid(
      `adaptation.filtersMax must be a whole number, ${pastFilters + 2} (pastFilters + 2) or more, not ${filtersMax}.`,
    )
  }
  return {
    falsePositiveRateMax,
    windowMs,
    everyMs: options.everyMs ?? 1000,
    stepMs: options.stepMs ?? 1000,
    filtersMax,
  }
}

/**
 * How many keys a filter may take. With rate r in each of F filters the whole errs at most at 2r + F r^2: two stand alone,
 * the others in pairs. So r is the rate at which that reaches the target.
 */
function presentCountMax(size: FilterSize, { falsePositiveRateMax, filtersMax }: Required<AdaptationOptions>): number {
  const rate = (Math.sqrt(1 + filtersMax * falsePositiveRateMax) - 1) / filtersMax
  return Math.max(1, Math.floor((-size.bits / size.hashes) * Math.log(1 - rate ** (1 / size.hashes))))
}
