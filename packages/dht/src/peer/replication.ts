/** Replicas of a key, one for each hash function of the replication: reads and writes them wherever they are. */
import type { Meter, Then } from './calls.js'
import type { Chord } from './chord.js'
import { slotOf } from './copies.js'
import type { Copy } from './messages.js'
import { positionOfKey } from './ring.js'

export class Replication {
  readonly #chord: Chord
  /** The number of hash functions. They are 1, 2, 3 and so on; 0 is for timestamps. */
  readonly replicas: number

  constructor(chord: Chord, replicas: number) {
    this.#chord = chord
    this.replicas = replicas
  }

  /** Undefined if there is no copy, or it was not reached. */
  get(key: string, hashFunction: number, nowMs: number, meter: Meter, then: Then<Copy | undefined>): void {
    const position = positionOfKey(key, hashFunction)
    const get = { kind: 'get', position, slot: slotOf(key, hashFunction) } as const
    this.#chord.askAt(position, get, nowMs, (answer, laterMs) => then(answer?.copy, laterMs), { meter })
  }

  /** Reads all replicas, `atOnce` at a time. Stops early when `isEnough` returns true. */
  read(
    key: string,
    options: { readonly atOnce: number; readonly meter: Meter; readonly isEnough?: (copy: Copy) => boolean },
    nowMs: number,
    then: Then<readonly (Copy | undefined)[]>,
  ): void {
    const copies: (Copy | undefined)[] = []
    let [next, isOver] = [1, false]
    const ask = (askedMs: number): void => {
      this.get(key, next++, askedMs, options.meter, (copy, answeredMs) => {
        if (isOver) return
        copies.push(copy)
        if (copies.length === this.replicas || (copy !== undefined && options.isEnough?.(copy) === true)) {
          isOver = true
          then(copies, answeredMs)
        } else if (next <= this.replicas) ask(answeredMs)
      })
    }
    for (let i = 0; i < Math.min(options.atOnce, this.replicas); i++) ask(nowMs)
  }

  /** Puts a copy everywhere, at once. `then` gets the number of peers that took it. */
  write(key: string, copy: Copy, isVersion: boolean, meter: Meter, nowMs: number, then: Then<number>): void {
    let [answered, stored] = [0, 0]
    for (let hashFunction = 1; hashFunction <= this.replicas; hashFunction++) {
      const position = positionOfKey(key, hashFunction)
      const put = { kind: 'put', position, slot: slotOf(key, hashFunction), copy, isVersion } as const
      const take: Then<object | undefined> = (answer, laterMs) => {
        if (answer !== undefined) stored++
        if (++answered === this.replicas) then(stored, laterMs)
      }
      this.#chord.askAt(position, put, nowMs, take, { meter })
    }
  }
}
