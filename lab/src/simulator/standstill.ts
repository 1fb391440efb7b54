/** A machine, a process or a connection that stalls at times. What reaches it meanwhile waits until it resumes. */
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

  /** The total time that it has stalled so far. */
  get pastMs(): number {
    return this.#totalMs - Math.max(0, this.#untilMs - this.#queue.nowMs)
  }

  /** Stalls from now on, for at least this long. */
  begin(ms: number): void {
    const fromMs = Math.max(this.#untilMs, this.#queue.nowMs)
    this.#untilMs = Math.max(fromMs, this.#queue.nowMs + ms)
    this.#totalMs += this.#untilMs - fromMs
  }

  end(): void {
    this.#totalMs = this.pastMs
    this.#untilMs = 0
  }

  /** Runs at once, or when the stall ends. */
  whenOver(action: () => void): void {
    if (this.isNow) this.#queue.at(this.#untilMs, () => this.whenOver(action))
    else action()
  }
}
