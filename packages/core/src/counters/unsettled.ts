/**
 * The results of a client's unsettled operations, by sequence. There are very many such lists, most of them with one or two
 * operations: these have fields of their own, which costs half of the memory that arrays would. Further operations, after a
 * batch, are in arrays in their order: a new operation is mostly the last, and the settled ones are the first.
 */
import type { DoneOperation } from '../store/index.js'

/** No operation has this sequence. */
const NONE = 0

export class Unsettled {
  #first = NONE
  #firstDone: DoneOperation | undefined
  #second = NONE
  #secondDone: DoneOperation | undefined
  #others: Others | undefined

  get size(): number {
    return (this.#first === NONE ? 0 : 1) + (this.#second === NONE ? 0 : 1) + (this.#others?.sequences.length ?? 0)
  }

  get(sequence: number): DoneOperation | undefined {
    if (sequence === this.#first) return this.#firstDone
    if (sequence === this.#second) return this.#secondDone
    if (this.#others === undefined) return undefined
    const { sequences, done } = this.#others
    const place = placeOf(sequence, sequences)
    return sequences[place] === sequence ? done[place] : undefined
  }

  /** The sequence must not be in it. */
  add(sequence: number, done: DoneOperation): void {
    if (this.#second === NONE) {
      this.#second = sequence
      this.#secondDone = done
    } else if (this.#first === NONE) {
      this.#first = sequence
      this.#firstDone = done
    } else {
      this.#others ??= { sequences: [], done: [] }
      insert(this.#others, sequence, done)
    }
  }

  /** Up to and including `settledTo`. */
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
    const { sequences, done } = this.#others
    const count = placeOf(settledTo + 1, sequences)
    if (count === sequences.length) {
      this.#others = undefined
    } else {
      sequences.splice(0, count)
      done.splice(0, count)
    }
  }

  countAfter(settledTo: number): number {
    let count = 0
    for (const [sequence] of this) if (sequence > settledTo) count++
    return count
  }

  *[Symbol.iterator](): Generator<readonly [sequence: number, done: DoneOperation]> {
    if (this.#first !== NONE) yield [this.#first, this.#firstDone!]
    if (this.#second !== NONE) yield [this.#second, this.#secondDone!]
    const { sequences, done } = this.#others ?? { sequences: [], done: [] }
    for (const [i, sequence] of sequences.entries()) yield [sequence, done[i]!]
  }
}

interface Others {
  /** Ascending. */
  readonly sequences: number[]
  readonly done: DoneOperation[]
}

function insert({ sequences, done }: Others, sequence: number, operation: DoneOperation): void {
  const place = placeOf(sequence, sequences)
  if (place === sequences.length) {
    sequences.push(sequence)
    done.push(operation)
  } else {
    sequences.splice(place, 0, sequence)
    done.splice(place, 0, operation)
  }
}

/** The index where it is, or would be. */
function placeOf(sequence: number, sequences: readonly number[]): number {
  if (sequences.length === 0 || sequences.at(-1)! < sequence) return sequences.length
  let low = 0
  for (let high = sequences.length - 1; low < high; ) {
    const middle = (low + high) >>> 1
    if (sequences[middle]! < sequence) low = middle + 1
    else high = middle
  }
  return low
}
