/**
 * How likely it is that somebody who is heard of now and then has gone: phi, after Hayashibara, Défago, Yared and Katayama (The phi
 * accrual failure detector, 2004). At phi 1 one suspicion in ten is wrong, at 2 one in a hundred, at 8 one in a hundred million.
 *
 * Times between arrivals are taken to be exponential, as Cassandra does, and not normal as in the paper: what comes by way of others
 * comes irregularly. Then phi is how many of the usual intervals have passed, over ln 10: the time-out adapts to each peer.
 */
const SAMPLES_MAX = 100

export class Arrivals {
  readonly #intervalMsMin: number
  readonly #intervals: number[] = []
  #lastMs: number | undefined
  #sumMs = 0

  /** Shorter intervals count as this one: two that come together say little. */
  constructor(intervalMsMin: number) {
    this.#intervalMsMin = intervalMsMin
  }

  arrived(nowMs: number): void {
    if (this.#lastMs !== undefined) this.#add(Math.max(this.#intervalMsMin, nowMs - this.#lastMs))
    this.#lastMs = nowMs
  }

  phi(nowMs: number): number {
    if (this.#lastMs === undefined) return 0
    // One more, so that a single short interval does not make everybody impatient.
    const meanMs = (this.#sumMs + 2 * this.#intervalMsMin) / (this.#intervals.length + 1)
    return (nowMs - this.#lastMs) / (meanMs * Math.LN10)
  }

  #add(intervalMs: number): void {
    this.#intervals.push(intervalMs)
    this.#sumMs += intervalMs
    if (this.#intervals.length > SAMPLES_MAX) this.#sumMs -= this.#intervals.shift()!
  }
}
