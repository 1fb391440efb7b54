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

  /** Versions that writers made up themselves may be alike: then the last to come stays. Timestamps are never alike. */
  put(slot: string, copy: Copy, isVersion: boolean = false): void {
    const known = this.#bySlot.get(slot)
    const order = known === undefined ? 1 : compareTimestamps(copy.stamp, known.stamp)
    if (order > 0 || (isVersion && order === 0)) this.#bySlot.set(slot, copy)
  }

  /**
   * What lies in (after, upTo]. It stays here as well: the message may be lost, and the peer that it goes to as well. An old
   * copy does no harm, its timestamp says that it is one.
   */
  within(after: RingPosition, upTo: RingPosition): Handed['copies'] {
    if (this.#bySlot.size === 0) return NONE
    return [...this.#bySlot].filter(([slot]) => isWithin(positionOfSlot(slot), after, upTo))
  }
}
