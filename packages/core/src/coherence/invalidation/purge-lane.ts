/**
 * One pass over the change log: how far it was read, which targets wait, and which are under way.
 *
 * Invariant: every change up to `settled` was purged, by this pass, after it was made. Targets wait in the order of their
 * oldest change, so the first one determines `settled`. A target that changes again while it waits is purged once; one
 * that changes while it is under way waits again, since the purge under way may have come before the change.
 */

import type { Position } from '@freshet/protocol'
import type { LogEntry } from '../../store/index.js'
import { EVERYTHING, type PurgeTarget, targetsOf } from './purge-targets.js'

/** The oldest change that a target waits for. */
export interface OldestChange {
  readonly position: Position
  /** By the store's clock. */
  readonly timeMs: number
}

export class PurgeLane {
  #waiting = new Map<PurgeTarget, OldestChange>()
  #underWay: OldestChange | undefined
  /** How far the log was read. */
  position: Position

  constructor(position: Position) {
    this.position = position
  }

  get size(): number {
    return this.#waiting.size
  }

  get settled(): Position {
    return this.oldest === undefined ? this.position : this.oldest.position - 1
  }

  /** The oldest change that is not purged yet. */
  get oldest(): OldestChange | undefined {
    const [waiting] = this.#waiting.values()
    const underWay = this.#underWay
    return underWay !== undefined && !(waiting && waiting.position < underWay.position) ? underWay : waiting
  }

  targets(): IterableIterator<PurgeTarget> {
    return this.#waiting.keys()
  }

  /** Takes the entries read up to a position, while fewer than `targetsMax` targets wait; a commit is not taken in part. */
  add(entries: readonly LogEntry[], upTo: Position, targetsMax: number): void {
    if (entries.length === 0) this.position = upTo
    for (const entry of entries) {
      if (entry.position > upTo) this.position = upTo
      if (entry.position > upTo || this.size >= targetsMax) return
      for (const target of targetsOf(entry.keys)) if (!this.#waiting.has(target)) this.#waiting.set(target, entry)
      this.position = entry.position
    }
  }

  /** Everything up to a position is purged at once, instead of the waiting targets and the entries not read yet. */
  widen(upTo: Position, timeMs: number): void {
    const [oldest = { position: this.position + 1, timeMs }] = this.#waiting.values()
    this.#waiting = new Map([[EVERYTHING, oldest]])
    this.position = upTo
  }

  /** The changes that these targets purge no longer wait: they are under way. */
  depart(targets: readonly PurgeTarget[]): void {
    this.#underWay = undefined
    if (targets[0] === EVERYTHING) {
      this.#underWay = this.oldest
      this.#waiting.clear()
      return
    }
    for (const target of targets) {
      const change = this.#waiting.get(target)
      if (change === undefined) continue
      if (this.#underWay === undefined || change.position < this.#underWay.position) this.#underWay = change
      this.#waiting.delete(target)
    }
  }

  arrive(): void {
    this.#underWay = undefined
  }
}
