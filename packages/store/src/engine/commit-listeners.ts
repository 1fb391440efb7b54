/** Listeners for commits. Calls are merged: only the last position counts. */
import type { Position } from '@freshet/core/store'

export class CommitListeners {
  readonly #listeners = new Set<(position: Position) => void>()
  #pending: Position | undefined

  add(listener: (position: Position) => void): () => void {
    // A new function, so that the same listener added twice is called twice and stopped once.
    const own = (position: Position) => listener(position)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  get isEmpty(): boolean {
    return this.#listeners.size === 0
  }

  /** Later in this turn, so that a listener that throws does not interrupt the caller. */
  notifySoon(position: Position): void {
    const isFirst = this.#pending === undefined
    this.#pending = position
    if (isFirst) queueMicrotask(() => this.#notify())
  }

  clear(): void {
    this.#listeners.clear()
  }

  #notify(): void {
    const position = this.#pending!
    this.#pending = undefined
    for (const listener of [...this.#listeners]) listener(position)
  }
}
