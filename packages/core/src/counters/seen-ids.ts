/**
 * Which ids are certainly new: a rotating filter (docs/decisions/0003) whose slices grow with the load. All slices are asked; ids
 * go into the newest. When that is full a new one takes its place, twice as large if it filled up soon, so that there are few
 * slices. A slice is dropped when the last of its ids is too old to matter. So nothing is forgotten early, and memory follows
 * the load.
 */
import { type Bloom, createBloom, expectedRate, hashUnder, type KeyHash } from '@freshet/bloom'

export interface SeenIdsOptions {
  readonly windowMs: number
  readonly seed: bigint
}

interface Slice {
  readonly filter: Bloom
  readonly entriesMax: number
  readonly openedMs: number
  newestMs: number
}

const ENTRIES_FIRST = 10_000
/** Of each slice, when it is full. There are rarely more than eight slices. */
const SLICE_RATE_MAX = 0.001
/** A slice that lasts for less than this share of the window is too small. */
const SOON_SHARE = 0.25

export class SeenIds {
  readonly #windowMs: number
  readonly #hash: (id: string) => KeyHash
  /** Oldest first. */
  #slices: Slice[] = []

  constructor({ windowMs, seed }: SeenIdsOptions) {
    this.#windowMs = windowMs
    this.#hash = hashUnder(seed)
  }

  /** False: it was not added within the window. */
  has(id: string): boolean {
    const { low, high } = this.#hash(id)
    for (let i = this.#slices.length - 1; i >= 0; i--) if (this.#slices[i]!.filter.hasHash(low, high)) return true
    return false
  }

  /** `nowMs` must not go back. */
  add(id: string, nowMs: number): void {
    let slice = this.#slices.at(-1)
    if (slice === undefined || slice.filter.count >= slice.entriesMax) {
      this.#slices = this.#slices.filter(({ newestMs }) => nowMs - newestMs <= this.#windowMs)
      slice = this.#open(slice, nowMs)
    }
    const { low, high } = this.#hash(id)
    slice.filter.addHash(low, high)
    slice.newestMs = nowMs
  }

  /** The probability that a new id is taken for one that may have been seen. */
  estimatedRate(): number {
    return 1 - this.#slices.reduce((none, { filter }) => none * (1 - expectedRate(filter, filter.count)), 1)
  }

  sizeBytes(): number {
    return this.#slices.reduce((sum, { filter }) => sum + filter.words.byteLength, 0)
  }

  #open(last: Slice | undefined, nowMs: number): Slice {
    const wasFullSoon = last !== undefined && nowMs - last.openedMs < SOON_SHARE * this.#windowMs
    const entriesMax = last === undefined ? ENTRIES_FIRST : (wasFullSoon ? 2 : 1) * last.entriesMax
    const filter = createBloom({ entriesMax, falsePositiveRateMax: SLICE_RATE_MAX })
    const slice = { filter, entriesMax, openedMs: nowMs, newestMs: nowMs }
    this.#slices.push(slice)
    return slice
  }
}
