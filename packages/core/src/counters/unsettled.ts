/**
 * What came of a client's operations that are not settled, by sequence. There are very many such lists, and mostly one or two
 * operations in each: the new one is the last, and settled ones are the first. So two have places of their own, which costs
 * half of the memory that arrays would, and only what comes after them is in a map.
 */
import type { DoneOperation } from '../store/index.js'

/** Nothing has this sequence. */
const NONE = 0

export class Unsettled {
  #first = NONE
  #firstDone: DoneOperation | undefined
  #second = NONE
  #secondDone: DoneOperation | undefined
  #others: Map<number, DoneOperation> | undefined

  get size(): number {
    return (this.#first === NONE ? 0 : 1) + (this.#second === NONE ? 0 : 1) + (this.#others?.size ?? 0)
  }

  get(sequence: number): DoneOperation | undefined {
    if (sequence === this.#first) return this.#firstDone
    if (sequence === this.#second) return this.#secondDone
    return this.#others?.get(sequence)
  }

  set(sequence: number, done: DoneOperation): void {
    if (
      sequence === this.#second ||
      (this.#second === NONE && sequence !== this.#first && !this.#others?.has(sequence))
    ) {
      this.#second = sequence
      this.#secondDone = done
    } else if (sequence === this.#first || (this.#first === NONE && !this.#others?.has(sequence))) {
      this.#first = sequence
      this.#firstDone = done
    } else {
      this.#others ??= new Map()
      this.#others.set(sequence, done)
    }
  }

  /** Up to and including this one. */
  dropTo(settledTo: number): void {
    if (this.#first <= settledTo) {
      this.#first = NONE
      this.#firstDone = undefined
    }
    if (this.#second <= settledTo) {
      this.#second = NONE
      this.#secondDone = undefined
    }
    if (this.#others === undefined) return
    for (const sequence of this.#others.keys()) if (sequence <= settledTo) this.#others.delete(sequence)
    if (this.#others.size === 0) this.#others = undefined
  }

  countAfter(settledTo: number): number {
    let count = 0
    for (const [sequence] of this) if (sequence > settledTo) count++
    return count
  }

  *[Symbol.iterator](): Generator<readonly [sequence: number, done: DoneOperation]> {
    if (this.#first !== NONE) yield [this.#first, this.#firstDone!]
    if (this.#second !== NONE) yield [this.#second, this.#secondDone!]
    if (this.#others !== undefined) yield* this.#others
  }
}
