/**
 * How often keys are written: for each key its last write, and the smoothed time between its writes.
 *
 * Memory is fixed: sets of four places, and the hash of a key selects its set. A new key replaces the key of its set that
 * was neither read nor written for longest. A place is 28 bytes:
 *
 *     tag: uint32 | last write: float64 | last use: float64 | log of the interval: float64 (NaN: written once)
 *
 * Two keys of one set with the same tag are treated as one, which then seems to be written more often than either is.
 *
 * The interval is smoothed by its logarithm: it falls from a day to seconds within a few writes, where the mean of the
 * intervals themselves would take dozens, and one long pause does not hide that a key is written in bursts.
 */
import type { KeyHash } from '@freshet/bloom'

const WAYS = 4
const BYTES_PER_PLACE = 28
/** The weight of the newest interval. */
const WEIGHT = 0.25

export class WriteIntervals {
  readonly #sets: number
  readonly #tags: Uint32Array
  readonly #writtenMs: Float64Array
  readonly #usedMs: Float64Array
  readonly #logs: Float64Array

  /** `entriesMax` is rounded up to a power of two. */
  constructor(entriesMax: number) {
    if (!(entriesMax >= 1 && entriesMax <= 2 ** 26))
      throw new TypeError(`entriesMax must be 1 to 2^26, not ${entriesMax}.`)
    this.#sets = 2 ** Math.ceil(Math.log2(Math.max(1, entriesMax / WAYS)))
    const places = this.#sets * WAYS
    this.#tags = new Uint32Array(places)
    this.#writtenMs = new Float64Array(places)
    this.#usedMs = new Float64Array(places).fill(Number.NEGATIVE_INFINITY)
    this.#logs = new Float64Array(places)
  }

  get sizeBytes(): number {
    return this.#tags.length * BYTES_PER_PLACE
  }

  /** Records a write. Several at one time count as one. */
  wrote(hash: KeyHash, timeMs: number): void {
    const place = this.#find(hash)
    if (place === -1) {
      this.#begin(this.#victim(hash), hash, timeMs)
      return
    }
    const gapMs = timeMs - this.#writtenMs[place]!
    if (gapMs <= 0) return
    const [log, gap] = [this.#logs[place]!, Math.log(gapMs)]
    this.#logs[place] = Number.isNaN(log) ? gap : log + WEIGHT * (gap - log)
    this.#writtenMs[place] = timeMs
    this.#usedMs[place] = timeMs
  }

  /** Returns the smoothed interval, and records a read; undefined if fewer than two writes are remembered. */
  intervalMs(hash: KeyHash, nowMs: number): number | undefined {
    const place = this.#find(hash)
    if (place === -1) return undefined
    this.#usedMs[place] = Math.max(nowMs, this.#usedMs[place]!)
    const log = this.#logs[place]!
    return Number.isNaN(log) ? undefined : Math.exp(log)
  }

  #find({ low, high }: KeyHash): number {
    const start = this.#start(low)
    for (let place = start; place < start + WAYS; place++) {
      if (this.#tags[place] === high >>> 0 && this.#usedMs[place]! > Number.NEGATIVE_INFINITY) return place
    }
    return -1
  }

  #victim({ low }: KeyHash): number {
    const start = this.#start(low)
    let victim = start
    for (let place = start + 1; place < start + WAYS; place++) {
      if (this.#usedMs[place]! < this.#usedMs[victim]!) victim = place
    }
    return victim
  }

  #begin(place: number, { high }: KeyHash, timeMs: number): void {
    this.#tags[place] = high
    this.#writtenMs[place] = timeMs
    this.#usedMs[place] = timeMs
    this.#logs[place] = Number.NaN
  }

  #start(low: number): number {
    return (low & (this.#sets - 1)) * WAYS
  }
}
