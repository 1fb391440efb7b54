/** Ages in buckets that grow by a twentieth each, so that a quantile is right to five per cent, however many ages there are. */
const GROWTH = Math.log(1.05)
const LEAST_MS = 0.01

export interface StalenessQuantiles {
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

export class StalenessHistogram {
  readonly #counts: number[] = []
  #count = 0
  #maxMs = 0

  add(ageMs: number): void {
    const bucket = ageMs <= LEAST_MS ? 0 : Math.ceil(Math.log(ageMs / LEAST_MS) / GROWTH)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#count++
    if (ageMs > this.#maxMs) this.#maxMs = ageMs
  }

  quantiles(): StalenessQuantiles {
    const [p50, p90, p99] = [0.5, 0.9, 0.99].map(share => this.#quantile(share)) as [number, number, number]
    return { count: this.#count, p50, p90, p99, max: this.#maxMs }
  }

  #quantile(share: number): number {
    let left = share * this.#count
    if (left === 0) return 0
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      left -= this.#counts[bucket] ?? 0
      if (left <= 0) return Math.min(LEAST_MS * Math.exp(GROWTH * bucket), this.#maxMs)
    }
    return this.#maxMs
  }
}
