/**
 * The age-partitioned filter (Shtul, Baquero, Almeida: Age-Partitioned Bloom Filters, 2020), with its k, l and r:
 *
 *     oldest ............................... youngest
 *     [ slice ] ... [ slice ][ slice ] ... [ slice ]       k + l slices of one index each
 *       v dropped            [---- add sets one bit in each of the k youngest ----]
 *     shift, when a generation is over: an empty slice comes in, the oldest one goes
 *
 * A key is k bits in k neighbouring slices, so `has` looks for k neighbours in a row that match. Slice number i uses
 * index i of the key (hashing/bit-array.ts), whatever its place in the row: a key never moves.
 *
 * Invariant: a slice is dropped only when the last key written to it has left the window; until then all k slices of
 * every younger key are present. At the expected load that keeps k + l slices, as in the paper.
 *
 * Departures: the paper counts keys, we promise time. A generation ends after windowMs / l, or earlier when it has taken
 * its share of the keys, 1 / l; a burst then costs slices (up to `slicesMax`, beyond that `add` refuses), not accuracy per
 * slice. And the paper fills slices to r = 1/2; we take the k, l and r that need the fewest bits.
 */
import { FilterError } from '../filter-error.js'
import { countBits, indexOf, indexScale } from '../hashing/bit-array.js'
import { hashKey, type Key, keyHash } from '../hashing/key-hash.js'
import { checkSeed, type Seed, seedHigh, seedLow } from '../hashing/seed.js'
import { BITS_MAX, checkRate, invalid } from '../plain/sizing.js'
import type { WindowedFilter } from './windowed-filter.js'

export interface AgePartitionedBloomOptions {
  /** How long a key is remembered, at least. */
  readonly windowMs: number
  /** Keys expected within one window. */
  readonly entriesMax: number
  readonly falsePositiveRateMax: number
  readonly seed?: Seed
}

export function createAgePartitionedBloom(options: AgePartitionedBloomOptions): AgePartitionedBloom {
  return new AgePartitionedBloom(options)
}

interface AgeSlice {
  readonly words: Int32Array
  /** When the last key was written to it. */
  newestMs: number
}

export class AgePartitionedBloom implements WindowedFilter {
  readonly windowMs: number
  /** k: slices that a key is written to. */
  readonly slicesPerKey: number
  /** l: generations that make up a window. */
  readonly generations: number
  /** Slices that a burst may use: four times those of the expected load. */
  readonly slicesMax: number
  readonly #sliceBits: number
  readonly #scale: number
  readonly #entriesPerGeneration: number
  readonly #generationMs: number
  readonly #seedLow: number
  readonly #seedHigh: number
  /** Oldest first. Either empty, or at least k slices; the k youngest are always written together. */
  readonly #slices: AgeSlice[] = []
  /** The number of the oldest slice, which determines the index of a key that it holds. */
  #oldest = 0
  #spare: AgeSlice | undefined
  #generationCount = 0
  #generationSinceMs = Number.NEGATIVE_INFINITY
  #nowMs = Number.NEGATIVE_INFINITY

  constructor(options: AgePartitionedBloomOptions) {
    const { windowMs, entriesMax, falsePositiveRateMax } = options
    if (!(Number.isFinite(windowMs) && windowMs > 0)) throw invalid(`windowMs must be a time above 0, not ${windowMs}.`)
    const shape = agePartitionedShape(entriesMax, falsePositiveRateMax)
    const seed = checkSeed(options.seed ?? 0n)
    this.windowMs = windowMs
    this.slicesPerKey = shape.slicesPerKey
    this.generations = shape.generations
    this.slicesMax = 4 * (shape.slicesPerKey + shape.generations)
    this.#sliceBits = shape.sliceBits
    this.#scale = indexScale(shape.sliceBits)
    this.#entriesPerGeneration = Math.ceil(entriesMax / shape.generations)
    this.#generationMs = windowMs / shape.generations
    this.#seedLow = seedLow(seed)
    this.#seedHigh = seedHigh(seed)
  }

  add(key: Key, nowMs: number): void {
    this.#advance(nowMs)
    this.#shiftIfDue()
    hashKey(key, this.#seedLow, this.#seedHigh)
    const h1 = keyHash[1]!
    const first = this.#slices.length - this.slicesPerKey
    let x = (keyHash[0]! + Math.imul(this.#oldest + first, h1)) | 0
    for (let i = first; i < this.#slices.length; i++) {
      const slice = this.#slices[i]!
      const index = indexOf(x, this.#scale)
      slice.words[index >>> 5]! |= 1 << index
      slice.newestMs = this.#nowMs
      x = (x + h1) | 0
    }
    this.#generationCount++
  }

  /**
   * Algorithm 2 of the paper, youngest first because a retry usually follows soon. A slice that does not match rules out
   * every row of k that it is part of, so the next row to check ends just before it, and slices that matched there are
   * not checked again.
   */
  has(key: Key, nowMs: number): boolean {
    this.#advance(nowMs)
    hashKey(key, this.#seedLow, this.#seedHigh)
    const h0 = keyHash[0]!
    const h1 = keyHash[1]!
    let at = this.#slices.length - this.slicesPerKey
    let matchedBefore = 0
    let matched = 0
    while (at >= 0) {
      const index = indexOf((h0 + Math.imul(this.#oldest + at, h1)) | 0, this.#scale)
      if ((this.#slices[at]!.words[index >>> 5]! & (1 << index)) !== 0) {
        matched++
        if (matched + matchedBefore === this.slicesPerKey) return true
        at++
      } else {
        at -= this.slicesPerKey
        matchedBefore = matched
        matched = 0
      }
    }
    return false
  }

  estimatedRate(): number {
    const fills = this.#slices.map(slice => countBits(slice.words) / this.#sliceBits)
    return rowRate(fills, this.slicesPerKey)
  }

  sizeBytes(): number {
    const slices = this.#spare ? this.#slices.length + 1 : this.#slices.length
    return slices * (this.#sliceBits / 8)
  }

  /** Drops the slices whose newest key has left the window. */
  #advance(nowMs: number): void {
    if (nowMs > this.#nowMs) this.#nowMs = nowMs
    while (this.#slices.length > 0 && this.#nowMs - this.#slices[0]!.newestMs >= this.windowMs) {
      this.#spare = this.#slices.shift()
      this.#oldest = (this.#oldest + 1) | 0
    }
  }

  #shiftIfDue(): void {
    const isOver =
      this.#nowMs - this.#generationSinceMs >= this.#generationMs || this.#generationCount >= this.#entriesPerGeneration
    if (this.#slices.length > 0 && !isOver) return
    if (this.#slices.length >= this.slicesMax) throw this.#full()
    do this.#openSlice()
    while (this.#slices.length < this.slicesPerKey)
    this.#generationSinceMs = this.#nowMs
    this.#generationCount = 0
  }

  #openSlice(): void {
    const words = this.#spare?.words.fill(0) ?? new Int32Array(this.#sliceBits / 32)
    this.#spare = undefined
    this.#slices.push({ words, newestMs: this.#nowMs })
  }

  #full(): FilterError {
    return new FilterError(
      'FILTER_FULL',
      `All ${this.slicesMax} slices are in use: more than ${this.#entriesPerGeneration} keys in each ` +
        `${this.#generationMs} ms. Create the filter with a higher entriesMax, or slow the writers down.`,
    )
  }
}

/** The rate at which `length` slices in a row match by chance (the paper's recursion, section 4, run forwards). */
function rowRate(fills: readonly number[], length: number): number {
  // chances[a]: the probability that the slices so far end in a row of a matches, and no row was complete.
  const chances = new Float64Array(length)
  chances[0] = 1
  let complete = 0
  for (const fill of fills) {
    complete += chances[length - 1]! * fill
    let mismatch = 0
    for (let a = 0; a < length; a++) mismatch += chances[a]! * (1 - fill)
    for (let a = length - 1; a > 0; a--) chances[a] = chances[a - 1]! * fill
    chances[0] = mismatch
  }
  return complete
}

interface AgePartitionedShape {
  readonly slicesPerKey: number
  readonly generations: number
  readonly sliceBits: number
}

/** The k, l and slice size with the fewest bits in total. Long rows and many generations win; both cost time to look up. */
function agePartitionedShape(entriesMax: number, rate: number): AgePartitionedShape {
  if (!Number.isFinite(entriesMax) || entriesMax < 1) {
    throw invalid(`entriesMax must be a number of entries, 1 or more, not ${entriesMax}.`)
  }
  checkRate(rate)
  const rowLeast = Math.max(1, Math.ceil(-Math.log2(rate)))
  const candidates = [0, 1, 2, 3, 4, 5].flatMap(more =>
    [1, 2, 4, 7].map(ratio => shapeOf(entriesMax, rate, rowLeast + more, ratio * (rowLeast + more))),
  )
  const best = candidates.reduce((a, b) => (totalBits(b) < totalBits(a) ? b : a))
  if (totalBits(best) > BITS_MAX) {
    throw invalid(`${entriesMax} entries at a rate of ${rate} need more than ${BITS_MAX} bits. Pass fewer entries.`)
  }
  return best
}

function shapeOf(entriesMax: number, rate: number, slicesPerKey: number, generations: number): AgePartitionedShape {
  const fill = fillAtRate(rate, slicesPerKey, generations)
  const entriesPerSlice = slicesPerKey * Math.ceil(entriesMax / generations)
  const sliceBits = Math.ceil(entriesPerSlice / -Math.log(1 - fill) / 32) * 32
  return { slicesPerKey, generations, sliceBits }
}

function totalBits({ slicesPerKey, generations, sliceBits }: AgePartitionedShape): number {
  return (slicesPerKey + generations) * sliceBits
}

/** How full, r, the older slices may get, by bisection; the k youngest have had fewer generations of keys. */
function fillAtRate(rate: number, slicesPerKey: number, generations: number): number {
  let low = 0
  let high = 1
  for (let step = 0; step < 20; step++) {
    const fill = (low + high) / 2
    const fills = Array.from({ length: slicesPerKey + generations }, (_, age) =>
      age < slicesPerKey ? 1 - (1 - fill) ** ((age + 1) / slicesPerKey) : fill,
    )
    if (rowRate(fills, slicesPerKey) > rate) high = fill
    else low = fill
  }
  return low
}
