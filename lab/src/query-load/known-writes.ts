/**
 * What was written, in the order of positions, as far as that is settled: a write without an answer yet may have taken any
 * position after those acknowledged before it began.
 */
import type { Position } from '@freshet/protocol'
import type { Product } from './asked-queries.js'

export interface KnownWrite {
  readonly position: Position
  readonly id: string
  /** Undefined: the product was deleted. */
  readonly product: Product | undefined
}

/** A write under way. */
export interface Ticket {
  readonly after: Position
}

interface Due {
  readonly acknowledgedMs: number
  readonly position: Position
}

export class KnownWrites {
  readonly #underWay = new Set<Ticket>()
  /** Known, but not settled; sorted by position. */
  #unsettled: KnownWrite[] = []
  readonly #due: Due[] = []
  readonly #onSettled: (write: KnownWrite) => void
  #latest: Position = 0
  count = 0

  constructor(onSettled: (write: KnownWrite) => void) {
    this.#onSettled = onSettled
  }

  /** The latest position in any acknowledgement. */
  get latest(): Position {
    return this.#latest
  }

  /** All writes up to here are known. */
  get settledTo(): Position {
    let settled = this.#latest
    for (const { after } of this.#underWay) settled = Math.min(settled, after)
    return settled
  }

  get isQuiet(): boolean {
    return this.#underWay.size === 0
  }

  /** Call this before sending the write. */
  begin(): Ticket {
    const ticket = { after: this.#latest }
    this.#underWay.add(ticket)
    return ticket
  }

  /** Records the outcome of a write; undefined: it did not happen. */
  end(ticket: Ticket, write: KnownWrite | undefined, nowMs: number): void {
    this.#underWay.delete(ticket)
    if (write !== undefined) {
      this.count++
      this.#latest = Math.max(this.#latest, write.position)
      this.#due.push({ acknowledgedMs: nowMs, position: this.#latest })
      this.#unsettled.push(write)
      this.#unsettled.sort((a, b) => a.position - b.position)
    }
    const settled = this.settledTo
    while (this.#unsettled[0] && this.#unsettled[0].position <= settled) this.#onSettled(this.#unsettled.shift()!)
  }

  /** The latest position acknowledged before this time. */
  dueAt(timeMs: number): Position {
    let low = 0
    let high = this.#due.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#due[middle]!.acknowledgedMs < timeMs) low = middle + 1
      else high = middle
    }
    return this.#due[low - 1]?.position ?? 0
  }
}
