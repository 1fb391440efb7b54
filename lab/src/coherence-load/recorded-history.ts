/**
 * Which writes are known, and since when, by the acknowledgements that writers got. Reads are judged by it.
 *
 * A change is known once its writer has the acknowledgement; by then it may have been visible for a while. So the history never
 * overstates what a read must reflect.
 */
import type { Position } from '@freshet/protocol'

/** What reads must reflect at a time: the last change acknowledged before it. Changed at 0: never. */
interface Known {
  readonly acknowledgedMs: number
  /** The highest so far. */
  readonly position: Position
}

interface ObjectHistory {
  readonly known: Known[]
  /** Positions of acknowledged deletes, ascending. */
  readonly deletes: Position[]
  /** Deletes that are under way, and those with an unknown outcome. */
  deletesUnknown: number
}

export class RecordedHistory {
  readonly #objects = new Map<string, ObjectHistory>()
  readonly #numbers = new Map<Position, number>()
  writes = 0

  /** Call this before sending the delete. */
  beginDelete(id: string): void {
    this.#of(id).deletesUnknown++
  }

  acknowledgeDelete(id: string, position: Position, nowMs: number): void {
    const { deletes } = this.#of(id)
    this.#of(id).deletesUnknown--
    deletes.push(position)
    deletes.sort((one, other) => one - other)
    this.#acknowledge(id, position, nowMs)
  }

  /** There was nothing to delete. */
  dropDelete(id: string): void {
    this.#of(id).deletesUnknown--
  }

  /** `number` identifies the value, and was written only once. */
  acknowledgePut(id: string, position: Position, number: number, nowMs: number): void {
    this.#numbers.set(position, number)
    this.#acknowledge(id, position, nowMs)
  }

  /** The position of the last change that was acknowledged before then. */
  dueAt(id: string, timeMs: number): Position {
    const { known } = this.#of(id)
    let low = 0
    let high = known.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (known[middle]!.acknowledgedMs < timeMs) low = middle + 1
      else high = middle
    }
    return known[low - 1]?.position ?? 0
  }

  /**
   * The first delete that makes an object absent for a reader that must see at least `least`. 0 if that may be an unacknowledged
   * delete; undefined if no delete explains the absence.
   */
  deleteSince(id: string, least: Position): Position | undefined {
    const { deletes, deletesUnknown } = this.#of(id)
    const isNeverWritten = least === 0
    return deletes.find(position => position >= least) ?? (deletesUnknown > 0 || isNeverWritten ? 0 : undefined)
  }

  /** The number written at that position, if known. */
  numberAt(position: Position): number | undefined {
    return this.#numbers.get(position)
  }

  /** Nearly always the latest. A writer in a browser reports its write a moment later. */
  #acknowledge(id: string, position: Position, acknowledgedMs: number): void {
    const { known } = this.#of(id)
    const later: Known[] = []
    while (known.length > 0 && known.at(-1)!.acknowledgedMs > acknowledgedMs) later.unshift(known.pop()!)
    for (const each of [{ acknowledgedMs, position }, ...later]) {
      known.push({ ...each, position: Math.max(each.position, known.at(-1)?.position ?? 0) })
    }
    this.writes++
  }

  #of(id: string): ObjectHistory {
    let history = this.#objects.get(id)
    if (history === undefined) {
      history = { known: [], deletes: [], deletesUnknown: 0 }
      this.#objects.set(id, history)
    }
    return history
  }
}
