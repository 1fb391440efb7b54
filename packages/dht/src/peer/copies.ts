/**
 * The replicas that a peer keeps, each in the slot of its key and hash function. A copy is only ever replaced by a later one.
 */
import type { Copy, Handed } from './messages.js'
import { isWithin, positionOfKey, type RingPosition } from './ring.js'
import { compareTimestamps } from './timestamp.js'

export function slotOf(key: string, hashFunction: number): string {
  return `${hashFunction}/${key}`
}

function positionOfSlot(slot: string): RingPosition {
  const cut = slot.indexOf('/')
  return positionOfKey(slot.slice(cut + 1), Number(slot.slice(0, cut)))
}

const NONE: Handed['copies'] = []

export class Copies {
  readonly #bySlot: Map<string, Copy>

  /** The map survives a crash if its owner keeps it. */
  constructor(bySlot: Map<string, Copy>) {
    this.#bySlot = bySlot
  }

  get(slot: string): Copy | undefined {
    return this.#bySlot.get(slot)
  }

  /** Two writers may make up the same version: then the last copy to come stays. Timestamps are never the same. */
  put(slot: string, copy: Copy, isVersion: boolean = false): void {
    const known = this.#bySlot.get(slot)
    const order = known === undefined ? 1 : compareTimestamps(copy.stamp, known.stamp)
    if (order > 0 || (isVersion && order === 0)) this.#bySlot.set(slot, copy)
  }

  /**
   * The copies in (after, upTo]. They stay here as well: the message may be lost, and so may the peer that it goes to. An old
   * copy does no harm: its timestamp shows that it is old.
   */
  within(after: RingPosition, upTo: RingPosition): Handed['copies'] {
    if (this.#bySlot.size === 0) return NONE
    return [...this.#bySlot].filter(([slot]) => isWithin(positionOfSlot(slot), after, upTo))
  }
}
