/** A machine, a process or a connection that stands still at times: what reaches it meanwhile waits until it goes on. */
import type { EventQueue } from './event-queue.js'

export class Standstill {
  readonly #queue: EventQueue
  #untilMs = 0
  #totalMs = 0

  constructor(queue: EventQueue) {
    this.#queue = queue
  }

  get isNow(): boolean {
    return this.#queue.nowMs < this.#untilMs
  }

  /** How long it has stood still so far, all times together. */
  get pastMs(): number {
    return this.#totalMs - Math.max(0, this.#untilMs - this.#queue.nowMs)
  }

  /** From now on, at least for so long. */
  begin(ms: number): void {
    const fromMs = Math.max(this.#untilMs, this.#queue.nowMs)
    this.#untilMs = Math.max(fromMs, this.#queue.nowMs + ms)
    this.#totalMs += this.#untilMs - fromMs
  }

  end(): void {
    this.#totalMs = this.pastMs
    this.#untilMs = 0
  }

  /** At once, or when it goes on. */
  whenOver(action: () => void): void {
    if (this.isNow) this.#queue.at(this.#untilMs, () => this.whenOver(action))
    else action()
  }
}
