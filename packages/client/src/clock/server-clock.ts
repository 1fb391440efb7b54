/**
 * How fresh a pushed event is, by the client's clock: Cristian's method, for a lower bound. (F. Cristian, Probabilistic
 * clock synchronization, 1989; he wants the middle of the round trip, we want what is certain.)
 *
 * In an exchange that began at t0 the server read its clock as s, at t0 or later. Its clock never runs faster than real
 * time, so an event that it stamped s2 >= s was made at t0 + (s2 - s) or later. Both clocks are quartz: allow for drift.
 * For s2 < s there is no such bound, since the server's clock may have stood still in between. Every head that is
 * fetched is such an exchange.
 */
const DRIFT_MAX = 0.0005
/** The server says its time in whole milliseconds. */
const ROUNDING_MS = 1

export class ServerClock {
  #askedAtMs = Number.NEGATIVE_INFINITY
  #serverMs = Number.NEGATIVE_INFINITY

  /** Takes note of an exchange; keeps it if it says more than the one known. */
  sample(askedAtMs: number, serverMs: number): void {
    if (askedAtMs < this.asOfMs(serverMs)) return
    this.#askedAtMs = askedAtMs
    this.#serverMs = serverMs
  }

  /** What the server stamped with this was made at or after the time returned; -Infinity if that cannot be known. */
  asOfMs(serverMs: number): number {
    const sinceMs = serverMs - this.#serverMs
    return sinceMs >= 0 && Number.isFinite(sinceMs)
      ? this.#askedAtMs + sinceMs * (1 - DRIFT_MAX) - ROUNDING_MS
      : Number.NEGATIVE_INFINITY
  }

  /**
   * What the server's clock shows now, or more: by as long as the exchange took, and by as long as the server was stopped
   * since, for its clock stands still meanwhile.
   */
  nowMs(nowMs: number): number {
    return this.#serverMs + nowMs - this.#askedAtMs
  }

  /** For a server with another log, whose clock is another one. */
  forget(): void {
    this.#askedAtMs = Number.NEGATIVE_INFINITY
    this.#serverMs = Number.NEGATIVE_INFINITY
  }
}
