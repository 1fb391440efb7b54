/**
 * Since when a peer has been responsible for a position. It is responsible for (predecessor, itself]; that range grows when a
 * predecessor goes and shrinks when one comes. A peer that becomes responsible for a key must wait before it gives timestamps
 * for it (section 4.2.2 of the paper); one that has always been responsible need not.
 *
 * All ranges end at the peer itself, and the oldest is the narrowest: each is kept with the time it began.
 */
import { distance, isWithin, type RingPosition } from './ring.js'

interface Range {
  readonly after: RingPosition
  readonly sinceMs: number
}

/** More steps of growth than this are merged into one, the latest. */
const RANGES_MAX = 6

export class OwnedRange {
  readonly #upTo: RingPosition
  #ranges: Range[] = []

  constructor(upTo: RingPosition) {
    this.#upTo = upTo
  }

  /** From now on the range is (after, upTo]. */
  set(after: RingPosition, nowMs: number): void {
    const widest = this.#ranges.at(-1)
    if (widest !== undefined && this.#sizeFrom(after) <= this.#sizeFrom(widest.after)) this.#shrink(after)
    else this.#grow({ after, sinceMs: nowMs })
  }

  /** Infinity if the peer is not responsible for the position. */
  sinceMs(position: RingPosition): number {
    const range = this.#ranges.find(({ after }) => isWithin(position, after, this.#upTo))
    return range?.sinceMs ?? Number.POSITIVE_INFINITY
  }

  #shrink(after: RingPosition): void {
    const kept = this.#ranges.filter(range => this.#sizeFrom(range.after) < this.#sizeFrom(after))
    const cut = this.#ranges[kept.length]
    this.#ranges = cut === undefined ? kept : [...kept, { after, sinceMs: cut.sinceMs }]
  }

  #grow(range: Range): void {
    if (this.#ranges.length === RANGES_MAX) this.#ranges.pop()
    this.#ranges.push(range)
  }

  #sizeFrom(after: RingPosition): number {
    return distance(after, this.#upTo) || Number.POSITIVE_INFINITY
  }
}
