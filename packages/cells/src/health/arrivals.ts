/**
 * How likely it is that a peer that sends now and then has gone: phi, after Hayashibara, Défago, Yared and Katayama (The phi
 * accrual failure detector, 2004). At phi 1 one suspicion in ten is wrong, at 2 one in a hundred, at 8 one in a hundred million.
 *
 * Times between arrivals are assumed to be exponentially distributed, as in Cassandra, and not normally as in the paper: what
 * arrives through other peers arrives irregularly. Then phi is the number of usual intervals that have passed, divided by ln 10:
 * the time-out adapts to each peer.
 */
const SAMPLES_MAX = 100

export class Arrivals {
  readonly #intervalMsMin: number
  readonly #intervals: number[] = []
  #lastMs: number | undefined
  #sumMs = 0

  /** Shorter intervals count as this one: two arrivals close together say little. */
  constructor(intervalMsMin: number) {
    this.#intervalMsMin = intervalMsMin
  }

  arrived(nowMs: number): void {
    if (this.#lastMs !== undefined) this.#add(Math.max(this.#intervalMsMin, nowMs - this.#lastMs))
    this.#lastMs = nowMs
  }

  phi(nowMs: number): number {
    if (this.#lastMs === undefined) return 0
    // Two minimal intervals are added to the sum and one to the count, so that a single short interval does not raise phi too
    // fast.
    const meanMs = (this.#sumMs + 2 * this.#intervalMsMin) / (this.#intervals.length + 1)
    return (nowMs - this.#lastMs) / (meanMs * Math.LN10)
  }

  #add(intervalMs: number): void {
    this.#intervals.push(intervalMs)
    this.#sumMs += intervalMs
    if (this.#intervals.length > SAMPLES_MAX) this.#sumMs -= this.#intervals.shift()!
  }
}
