/**
 * When the commit at a position was made, from a few marks along the log: so the age of any object follows from its version,
 * and nothing has to be kept for each object.
 *
 * Invariant: the returned time is never before the true one, so an age is never too great. A mark says that everything up
 * to its position was committed by its time; leaving out marks therefore only makes ages smaller. When there are too
 * many marks, those that lie closer together than their age requires are dropped.
 */
import type { Position } from '../../store/index.js'

interface Mark {
  readonly position: Position
  readonly timeMs: number
}

/** Marks closer than this are merged: lifetimes are sent in whole seconds. */
const STEP_MS = 1000

export class WriteTimes {
  readonly #marksMax: number
  /** How far apart marks may be, as a share of their age: so ages from a second to a month take half the marks. */
  readonly #coarseness: number
  /** By ascending position, and so by ascending time. */
  #marks: Mark[] = []

  constructor(marksMax: number) {
    if (!(marksMax >= 4)) throw new TypeError(`marksMax must be at least 4, not ${marksMax}.`)
    this.#marksMax = marksMax
    this.#coarseness = 32 / marksMax
  }

  get size(): number {
    return this.#marks.length
  }

  /** Everything up to this position was committed by then. Ignored if the marks say so already. */
  mark(position: Position, timeMs: number): void {
    const [before, last] = [this.#marks.at(-2), this.#marks.at(-1)]
    if (last && (position <= last.position || timeMs < last.timeMs)) return
    // The first mark stays where it is: nothing is known about the log before it.
    if (last && before && timeMs - before.timeMs < STEP_MS) this.#marks.pop()
    this.#marks.push({ position, timeMs })
    if (this.#marks.length > this.#marksMax) this.#thin()
  }

  /** The time by which the commit at `position` was there; undefined if it is after the last mark. */
  timeOf(position: Position): number | undefined {
    let [low, high] = [0, this.#marks.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#marks[middle]!.position < position) low = middle + 1
      else high = middle
    }
    return this.#marks[low]?.timeMs
  }

  #thin(): void {
    const marks = this.#marks
    const nowMs = marks.at(-1)!.timeMs
    const kept: Mark[] = []
    marks.forEach((mark, i) => {
      const next = marks[i + 1]
      const withoutMs = next && next.timeMs - (kept.at(-1)?.timeMs ?? Number.NEGATIVE_INFINITY)
      if (withoutMs === undefined || withoutMs > this.#coarseness * (nowMs - next!.timeMs)) kept.push(mark)
    })
    this.#marks = kept.length <= this.#marksMax ? kept : kept.filter((_, i) => i % 2 === (kept.length - 1) % 2)
  }
}
