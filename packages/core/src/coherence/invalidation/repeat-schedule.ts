/**
 * When each stretch of the log is purged again. A cache may be filling with an old answer while it is purged, and
 * keep that answer; it left the server at most the longest response time after the change. A purge after that time has
 * the last word.
 *
 * Stretches that were read shortly after one another are repeated together, with the last of them. So there are only a
 * few, and an object that changes all the time is repeated a few times per response time, not once for each change.
 */
import type { Position } from '@freshet/protocol'

interface Stretch {
  readonly firstMs: number
  lastMs: number
  to: Position
}

const STRETCHES_PER_REPEAT = 8

export class RepeatSchedule {
  readonly #afterMs: number
  readonly #stretches: Stretch[] = []
  #dueTo: Position

  constructor(afterMs: number, from: Position) {
    this.#afterMs = afterMs
    this.#dueTo = from
  }

  get size(): number {
    return this.#stretches.length
  }

  /** The log up to `to` has been read now, so nothing in it was committed later. */
  add(to: Position, nowMs: number): void {
    this.dueTo(nowMs)
    const last = this.#stretches.at(-1)
    if (last !== undefined && nowMs - last.firstMs < this.#afterMs / STRETCHES_PER_REPEAT) {
      last.lastMs = nowMs
      last.to = to
    } else this.#stretches.push({ firstMs: nowMs, lastMs: nowMs, to })
  }

  /** How far the log may be purged again now. */
  dueTo(nowMs: number): Position {
    while (this.#stretches.length > 0 && this.#stretches[0]!.lastMs + this.#afterMs <= nowMs) {
      this.#dueTo = this.#stretches.shift()!.to
    }
    return this.#dueTo
  }

  get nextMs(): number | undefined {
    const [first] = this.#stretches
    return first && first.lastMs + this.#afterMs
  }
}
