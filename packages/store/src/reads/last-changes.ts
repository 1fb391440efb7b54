/**
 * When each key last changed, from the change log, over a stretch of the log. It is the `last_ts` of a key where an engine
 * replicates by itself (Akbarinia, Pacitti, Valduriez, section 4): no request for a timestamp is needed, because a server
 * follows the log anyhow.
 *
 * A replica answers from its state at some position s. Its answer equals that of the state at `required` if
 *
 *     1. s is known: a position that the log, or its keeper, has reported. No position is given twice, so the state at s is then
 *        a state of this store, and not of a database that was cut off from it and continued by itself;
 *     2. and either s >= required, or nothing that the answer depends on changed after s, up to `required` at least.
 *
 * The stretch is (from, to]: all its changes are here, and none from before it. Where the answer is unknown, it is no.
 *
 * Invariant: for each name that changed in (from, to], `#last` has the position of its last change, in the order of these.
 */

import type { Key, LogEntry, Position } from '@freshet/core/store'
import { bucketOfKey } from '@freshet/protocol'

export interface LastChangesOptions {
  /** How many names are remembered, those that changed last, and how many positions. */
  readonly namesMax: number
}

export class LastChanges {
  readonly #namesMax: number
  readonly #last = new Map<string, Position>()
  /** The known positions, all at or after `from`. */
  readonly #known = new Set<Position>()
  #from: Position = Number.POSITIVE_INFINITY
  #to: Position = Number.NEGATIVE_INFINITY

  constructor({ namesMax }: LastChangesOptions) {
    this.#namesMax = namesMax
  }

  /** Nothing before it is known; infinite before `startAt`. */
  get from(): Position {
    return this.#from
  }

  get to(): Position {
    return this.#to
  }

  /** Forgets everything; nothing is known until `startAt`. */
  forget(): void {
    this.#last.clear()
    this.#known.clear()
    this.#from = Number.POSITIVE_INFINITY
    this.#to = Number.NEGATIVE_INFINITY
  }

  /** Begins at this position, which the store has reached. */
  startAt(position: Position): void {
    this.forget()
    this.#from = position
    this.#to = position
    this.#known.add(position)
  }

  /** The store has reported this position. */
  learn(position: Position): void {
    if (position >= this.#from) this.#known.add(position)
  }

  /** All entries after a position, up to another that the store has reached; entries that leave a gap are ignored. */
  append(after: Position, entries: readonly LogEntry[], upTo: Position): void {
    if (after > this.#to || upTo <= this.#to) return
    for (const { position, keys } of entries) {
      if (position <= this.#to) continue
      this.#known.add(position)
      for (const key of keys) {
        this.#note(key, position)
        this.#note(listOf(bucketOfKey(key)), position)
      }
    }
    this.#to = upTo
    this.#known.add(upTo)
    this.#shrink()
  }

  isKnown(position: Position): boolean {
    return this.#known.has(position)
  }

  /** Whether none of these has changed after a position, up to `to`. Also false if that is unknown. */
  areUnchangedSince(position: Position, names: readonly string[]): boolean {
    if (position < this.#from) return false
    return names.every(name => (this.#last.get(name) ?? 0) <= position)
  }

  #note(name: string, position: Position): void {
    // Moves it to the end.
    this.#last.delete(name)
    this.#last.set(name, position)
  }

  /** Removes a quarter at once: removing the first of many, one by one, is slow. */
  #shrink(): void {
    if (Math.max(this.#last.size, this.#known.size) <= this.#namesMax) return
    const quarter = Math.ceil(this.#namesMax / 4)
    const isFull = (size: number) => size > this.#namesMax
    const byName = isFull(this.#last.size) ? nth(this.#last.values(), quarter) : 0
    const byPosition = isFull(this.#known.size) ? nth(this.#known, quarter) : 0
    this.#from = Math.min(this.#to, Math.max(this.#from, byName, byPosition))
    for (const [name, position] of this.#last) {
      if (position > this.#from) break
      this.#last.delete(name)
    }
    for (const position of this.#known) if (position < this.#from) this.#known.delete(position)
  }
}

function nth(positions: Iterable<Position>, count: number): Position {
  let at = 0
  for (const position of positions) if (++at === count) return position
  return 0
}

/** The name of everything that is listed in a bucket. No key ends in a slash. */
export function listOf(bucket: Key): string {
  return `${bucket}/`
}
