/**
 * The store's clock: it continues from the last time that the store recorded, by the machine's monotonic clock, which is the
 * same for all its processes. It never uses the time of day, which may jump.
 */

/** What another process of this machine needs to have the same clock. */
export interface ClockBase {
  /** The store's time when the machine's monotonic clock stood at `originMs`. */
  readonly baseMs: number
  readonly originMs: number
}

export class StoreClock {
  readonly base: ClockBase
  #lastMs = 0

  constructor(base: ClockBase) {
    this.base = base
  }

  nowMs(): number {
    const { baseMs, originMs } = this.base
    this.#lastMs = Math.max(this.#lastMs, baseMs + (monotonicMs() - originMs))
    return this.#lastMs
  }
}

/** Milliseconds of CLOCK_MONOTONIC: since the machine started, without the time that it slept. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}
