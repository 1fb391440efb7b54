/**
 * What a server's clock shows in terms of ours: Cristian's method, of which only the certain side is kept (see `offset.ts`).
 *
 * In an exchange that began at t0 the server read its clock as s, at t0 or later. If that clock never runs faster than real time,
 * everything it stamped s2 >= s was stamped at t0 + (s2 - s) or later. Both clocks are quartz: allow for drift. For s2 < s there
 * is no such bound.
 *
 * The clock of a server process is such a clock: pushed events are stamped with it, and the start of a stream is the exchange.
 * The store's clock is not: where several servers have one store it may stand still and then catch up. So nothing is considered
 * fresh by the store's clock. An exchange that contradicts the bound, because it ended before the time that the bound gives for
 * it, replaces the bound.
 */
import { offsetMost } from './offset-most.js'

const DRIFT_MAX = 0.0005
/** The server gives its time in whole milliseconds. */
const SERVER_STEP_MS = 1

export class ServerClock {
  #serverMs!: number
  /** At the time of the exchange the server's clock, as read, was ahead of ours by no more than this. */
  #aheadMsMax!: number

  constructor() {
    this.forget()
  }

  /** Takes an exchange; keeps it if it says more than the known one, or if it contradicts that one. */
  sample(askedAtMs: number, serverMs: number, answeredAtMs: number = Number.POSITIVE_INFINITY): void {
    const asOfMs = this.asOfMs(serverMs)
    if (askedAtMs < asOfMs && asOfMs <= answeredAtMs) return
    this.#aheadMsMax = offsetMost(serverMs, askedAtMs)
    this.#serverMs = serverMs
  }

  /** Everything with this server stamp was made at or after the returned time; -Infinity if that cannot be known. */
  asOfMs(serverMs: number): number {
    const driftMs = (serverMs - this.#serverMs) * DRIFT_MAX
    return driftMs >= 0 ? serverMs - this.#aheadMsMax - driftMs - SERVER_STEP_MS : Number.NEGATIVE_INFINITY
  }

  /**
   * What the server's clock shows now, or more: at most by the duration of the exchange, and by how long it has stood still
   * since. Less only if it has caught up since. NaN if there was no exchange.
   */
  nowMs(nowMs: number): number {
    return nowMs + this.#aheadMsMax
  }

  /** For a server with another log, whose clock is another one. */
  forget(): void {
    this.#serverMs = this.#aheadMsMax = Number.NaN
  }
}
