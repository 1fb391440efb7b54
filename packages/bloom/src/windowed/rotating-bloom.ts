/**
 * The rotating filter: slices that each take all keys of one stretch of time, and are dropped whole.
 *
 *     oldest ...................... active
 *     [ slice ][ slice ][ slice ][ slice  <- add writes here, once
 *       dropped when its newest key is older than the window
 *
 * `has` checks every slice. Each slice has its own salt, so that a key that collides in one does not collide in all of them.
 *
 * Compared with the forgetful filter (forgetful-bloom.ts), which writes every key twice so that neighbours can vouch for
 * each other: single insertion into s slices at rate/s each needs 15.9 bits per remembered key at 1%, against 29.0 and
 * 21.7 for 3 and 10 forgetful filters. `npm run lab -- windowed` measures it.
 *
 * A slice that fills up before its time is closed early and another one opened, so a burst costs memory (up to `slicesMax`
 * slices) and never accuracy per slice; beyond that `add` refuses.
 */
import { FilterError } from '../filter-error.js'
import { hashKey, type Key, keyHash } from '../hashing/key-hash.js'
import { checkSeed, type Seed, seedHigh, seedLow, sliceSalt } from '../hashing/seed.js'
import { checkRate, type FilterSize, invalid, sizeFor } from '../plain/sizing.js'
import { Slice } from './slice.js'
import type { WindowedFilter } from './windowed-filter.js'

export interface RotatingBloomOptions {
  /** How long a key is remembered, at least. */
  readonly windowMs: number
  /** Keys expected within one window. */
  readonly entriesMax: number
  readonly falsePositiveRateMax: number
  /** Slices at the expected load; by default the number that needs the fewest bits. */
  readonly slices?: number
  /** Slices a burst may use; four times `slices` by default. */
  readonly slicesMax?: number
  readonly seed?: Seed
}

export function createRotatingBloom(options: RotatingBloomOptions): RotatingBloom {
  return new RotatingBloom(options)
}

export class RotatingBloom implements WindowedFilter {
  readonly windowMs: number
  readonly slicesMax: number
  readonly #size: FilterSize
  readonly #entriesPerSlice: number
  readonly #sliceMs: number
  readonly #seedLow: number
  readonly #seedHigh: number
  /** Oldest first; the last one is active. */
  readonly #slices: Slice[] = []
  #spare: Slice | undefined
  #activeSinceMs = Number.NEGATIVE_INFINITY
  #nowMs = Number.NEGATIVE_INFINITY
  #generation = 0

  constructor(options: RotatingBloomOptions) {
    const { windowMs, entriesMax, falsePositiveRateMax } = options
    if (!(Number.isFinite(windowMs) && windowMs > 0)) throw invalid(`windowMs must be a time above 0, not ${windowMs}.`)
    checkRate(falsePositiveRateMax)
    const slices = options.slices ?? bestSliceCount(entriesMax, falsePositiveRateMax)
    if (!Number.isInteger(slices) || slices < 2)
      throw invalid(`slices must be a whole number, 2 or more, not ${slices}.`)
    const slicesMax = options.slicesMax ?? 4 * slices
    if (!Number.isInteger(slicesMax) || slicesMax < slices) {
      throw invalid(`slicesMax must be a whole number, ${slices} (slices) or more, not ${slicesMax}.`)
    }
    const seed = checkSeed(options.seed ?? 0n)
    this.windowMs = windowMs
    this.slicesMax = slicesMax
    this.#size = sliceSize(entriesMax, falsePositiveRateMax, slices)
    this.#entriesPerSlice = Math.ceil(entriesMax / (slices - 1))
    this.#sliceMs = windowMs / (slices - 1)
    this.#seedLow = seedLow(seed)
    this.#seedHigh = seedHigh(seed)
  }

  add(key: Key, nowMs: number): void {
    this.#advance(nowMs)
    const active = this.#activeSlice()
    hashKey(key, this.#seedLow, this.#seedHigh)
    active.add(keyHash[0]!, keyHash[1]!)
    active.newestMs = this.#nowMs
  }

  has(key: Key, nowMs: number): boolean {
    this.#advance(nowMs)
    hashKey(key, this.#seedLow, this.#seedHigh)
    const h0 = keyHash[0]!
    const h1 = keyHash[1]!
    // Newest first: a retry usually follows soon.
    for (let i = this.#slices.length - 1; i >= 0; i--) if (this.#slices[i]!.has(h0, h1)) return true
    return false
  }

  estimatedRate(): number {
    return 1 - this.#slices.reduce((never, slice) => never * (1 - slice.rate()), 1)
  }

  sizeBytes(): number {
    const slices = this.#spare ? [...this.#slices, this.#spare] : this.#slices
    return slices.reduce((total, slice) => total + slice.sizeBytes, 0)
  }

  /** Drops the slices whose newest key has left the window. */
  #advance(nowMs: number): void {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs
    while (this.#slices.length > 0 && this.#nowMs - this.#slices[0]!.newestMs >= this.windowMs) {
      this.#spare = this.#slices.shift()
    }
  }

  #activeSlice(): Slice {
    const active = this.#slices.at(-1)
    const isOpen = active && this.#nowMs - this.#activeSinceMs < this.#sliceMs && active.count < this.#entriesPerSlice
    return isOpen ? active : this.#openSlice()
  }

  #openSlice(): Slice {
    if (this.#slices.length >= this.slicesMax) {
      throw new FilterError(
        'FILTER_FULL',
        `All ${this.slicesMax} slices of ${this.#entriesPerSlice} keys are in use within ${this.windowMs} ms. ` +
          'Create the filter with a higher entriesMax or slicesMax, or slow the writers down.',
      )
    }
    const salt = sliceSalt(this.#generation++)
    const slice = this.#spare ?? new Slice(this.#size, salt)
    slice.reuse(salt)
    this.#spare = undefined
    this.#activeSinceMs = this.#nowMs
    this.#slices.push(slice)
    return slice
  }
}

/** A slice is dropped late by up to its own length, so s slices cover s - 1 lengths; each gets its share of the rate. */
function sliceSize(entriesMax: number, rate: number, slices: number): FilterSize {
  return sizeFor(Math.ceil(entriesMax / (slices - 1)), 1 - (1 - rate) ** (1 / slices), 0)
}

function bestSliceCount(entriesMax: number, rate: number): number {
  let best = 2
  let bitsLeast = Number.POSITIVE_INFINITY
  for (let slices = 2; slices <= 16; slices++) {
    const bits = slices * sliceSize(entriesMax, rate, slices).bits
    if (bits < bitsLeast) [best, bitsLeast] = [slices, bits]
  }
  return best
}
