/**
 * How far the store is durable. LMDB shows a commit to readers a moment before it is on disk; a reader that finds something
 * above the mark waits here until the mark has passed it.
 */
import type { Position } from '@freshet/core/store'

interface Waiter {
  readonly position: Position
  resolve(): void
  reject(error: unknown): void
}

export class DurableMark {
  #position: Position
  #failure: { readonly error: unknown } | undefined
  #waiters: Waiter[] = []

  constructor(position: Position) {
    this.#position = position
  }

  get position(): Position {
    return this.#position
  }

  has(position: Position): boolean {
    return position <= this.#position
  }

  /** Resolves once the mark has reached the position; rejects if it never will. */
  reached(position: Position): Promise<void> {
    if (this.has(position)) return Promise.resolve()
    if (this.#failure) return Promise.reject(this.#failure.error)
    return new Promise((resolve, reject) => this.#waiters.push({ position, resolve, reject }))
  }

  advance(position: Position): void {
    if (position <= this.#position) return
    this.#position = position
    if (this.#waiters.length === 0) return
    const waiters = this.#waiters
    this.#waiters = waiters.filter(waiter => waiter.position > position)
    for (const waiter of waiters) if (waiter.position <= position) waiter.resolve()
  }

  /** The mark will not move again. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) waiter.reject(error)
  }
}
