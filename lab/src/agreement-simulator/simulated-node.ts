/** A node of an agreement in simulated time. It keeps what it has written, unless a method makes it forget. */
import {
  type Accepted,
  type Ask,
  type Ballot,
  NO_BALLOT,
  type Promised,
  type Reply,
  SLOTS_PER_READ,
} from '@freshet/core/agreement'

export class SimulatedNode {
  isUp = true
  #promised: Promised | undefined = { ballot: NO_BALLOT, version: 1 }
  #before: Promised | undefined
  #slots = new Map<number, Accepted<string>>()
  #droppedTo = -1
  /** Versions are never reused, even after the node was emptied. */
  #versions = 1

  get isEmptied(): boolean {
    return this.#promised === undefined
  }

  do(ask: Ask<string>): Reply<string> {
    if (ask.kind === 'read') return this.#read(ask.first)
    if (this.#promised?.version !== ask.version) return { kind: 'refused' }
    if (ask.kind === 'accept') {
      this.#slots.set(ask.slot, ask.accepted)
      return { kind: 'done', version: ask.version }
    }
    return { kind: 'done', version: this.#promise(ask.ballot) }
  }

  /** Like replacing its disk with a new one. */
  empty(): void {
    this.#promised = undefined
    this.#before = undefined
    this.#slots.clear()
    this.#droppedTo = -1
  }

  /** Drops slots that were decided long ago. */
  drop(upTo: number): void {
    if (this.#promised === undefined) return
    this.#droppedTo = Math.max(this.#droppedTo, upTo)
    for (const slot of this.#slots.keys()) if (slot <= upTo) this.#slots.delete(slot)
  }

  /** A planted bug: drops slots without a note of it. */
  forgetDropped(): void {
    this.#droppedTo = -1
  }

  /** Takes over what a majority of the other nodes has. Then the node may vote again. */
  adopt(ballot: Ballot, ids: readonly string[], droppedTo: number): void {
    if (this.#promised !== undefined) return
    this.#droppedTo = droppedTo
    for (const [slot, id] of ids.entries()) {
      if (slot > droppedTo) this.#slots.set(slot, { ballot, entry: { id, previous: ids[slot - 1] ?? '', value: id } })
    }
    this.#promise(ballot)
  }

  /** A planted bug: its last promise was not on disk. */
  forgetPromise(): void {
    if (this.#promised !== undefined && this.#before !== undefined) this.#promised = this.#before
  }

  /** A planted bug: votes as if it had never promised or accepted anything. */
  vote(): void {
    if (this.#promised === undefined) this.#promise(NO_BALLOT)
  }

  #promise(ballot: Ballot): number {
    this.#before = this.#promised
    this.#promised = { ballot, version: ++this.#versions }
    return this.#versions
  }

  #read(first: number): Reply<string> {
    const slots = new Map<number, Accepted<string>>()
    for (let slot = first; slot < first + SLOTS_PER_READ; slot++) {
      const accepted = this.#slots.get(slot)
      if (accepted !== undefined) slots.set(slot, accepted)
    }
    return { kind: 'view', view: { promised: this.#promised, slots, droppedTo: this.#droppedTo } }
  }
}
