/**
 * How fresh a pushed event is, by the client's clock: Cristian's method, of which only the certain side is kept (see
 * `offset.ts`).
 *
 * In an exchange that began at t0 the server read its clock as s, at t0 or later. Its clock never runs faster than real
 * time, so an event that it stamped s2 >= s was made at t0 + (s2 - s) or later. Both clocks are quartz: allow for drift.
 * For s2 < s there is no such bound, since the server's clock may have stood still in between. Every head that is
 * fetched is such an exchange.
 */
import { cristianOffset } from './offset.js'

const DRIFT_MAX = 0.0005
/** The server says its time in whole milliseconds. */
const SERVER_STEP_MS = 1
const NEVER = Number.NEGATIVE_INFINITY

export class ServerClock {
  #serverMs = NEVER
  /** At the time of the exchange the server's clock was ahead of ours by no more than this. */
  #aheadMsMax = Number.NaN

  /** Takes note of an exchange; keeps it if it says more than the one known. */
  sample(askedAtMs: number, serverMs: number): void {
    const { most } = cristianOffset({
      ...{ asked: askedAtMs, answered: askedAtMs },
      ...{ server: serverMs, serverStep: SERVER_STEP_MS },
    })
    if (serverMs - most < this.asOfMs(serverMs)) return
    this.#aheadMsMax = most
    this.#serverMs = serverMs
  }

  /** What the server stamped with this was made at or after the time returned; -Infinity if that cannot be known. */
  asOfMs(serverMs: number): number {
    const sinceMs = serverMs - this.#serverMs
    return sinceMs >= 0 && Number.isFinite(sinceMs) ? serverMs - this.#aheadMsMax - sinceMs * DRIFT_MAX : NEVER
  }

  /**
   * What the server's clock shows now, or more: by as long as the exchange took, and by as long as the server was stopped
   * since, for its clock stands still meanwhile. NaN if there was no exchange.
   */
  nowMs(nowMs: number): number {
    return nowMs + this.#aheadMsMax - SERVER_STEP_MS
  }

  /** For a server with another log, whose clock is another one. */
  forget(): void {
    this.#serverMs = NEVER
    this.#aheadMsMax = Number.NaN
  }
}
