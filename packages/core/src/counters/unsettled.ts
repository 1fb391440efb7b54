/**
 * What came of a client's operations that are not settled, by sequence. Mostly there are one or two, the new one is the last,
 * and settled ones are the first: so they are in order, in arrays that are not made anew for each.
 */
import type { DoneOperation } from '../store/index.js'

export class Unsettled {
  readonly #sequences: number[] = []
  readonly #done: DoneOperation[] = []

  get size(): number {
    return this.#sequences.length
  }

  get(sequence: number): DoneOperation | undefined {
    const place = this.#placeOf(sequence)
    return this.#sequences[place] === sequence ? this.#done[place] : undefined
  }

  set(sequence: number, done: DoneOperation): void {
    const place = this.#placeOf(sequence)
    if (place === this.#sequences.length) {
      this.#sequences.push(sequence)
      this.#done.push(done)
    } else {
      const isThere = this.#sequences[place] === sequence ? 1 : 0
      this.#sequences.splice(place, isThere, sequence)
      this.#done.splice(place, isThere, done)
    }
  }

  /** Up to and including this one. */
  dropTo(settledTo: number): void {
    const count = this.#placeOf(settledTo + 1)
    if (count < this.#sequences.length) {
      this.#sequences.splice(0, count)
      this.#done.splice(0, count)
    } else {
      for (let left = count; left > 0; left--) {
        this.#sequences.pop()
        this.#done.pop()
      }
    }
  }

  countAfter(settledTo: number): number {
    return this.#sequences.length - this.#placeOf(settledTo + 1)
  }

  *[Symbol.iterator](): Generator<readonly [sequence: number, done: DoneOperation]> {
    for (const [i, sequence] of this.#sequences.entries()) yield [sequence, this.#done[i]!]
  }

  /** Where it is, or would be. */
  #placeOf(sequence: number): number {
    const sequences = this.#sequences
    let low = sequences.length
    if (low === 0 || sequences[low - 1]! < sequence) return low
    low = 0
    for (let high = sequences.length - 1; low < high; ) {
      const middle = (low + high) >>> 1
      if (sequences[middle]! < sequence) low = middle + 1
      else high = middle
    }
    return low
  }
}
