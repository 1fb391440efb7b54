/**
 * Knows which version of each object was acknowledged when, and judges reads by it: a read is stale if it returned a version that
 * an acknowledged write had replaced before the read began. Versions of an object are 0, 1, 2 and so on, written in that order.
 */
export interface StaleReads {
  readonly reads: number
  readonly stale: number
  /** Stale reads of a version that had been replaced longer ago than the bound. */
  readonly beyondBound: number
  /** How long ago the oldest version that was read had been replaced. */
  readonly oldestMs: number
}

export class StaleCounter {
  readonly #boundMs: number
  /** For each object, when each version was acknowledged. */
  readonly #acknowledgedMs = new Map<string, number[]>()
  #reads = 0
  #stale = 0
  #beyondBound = 0
  #oldestMs = 0

  /** `boundMs`: how old a read may be by the promise of the cache. */
  constructor(boundMs: number) {
    this.#boundMs = boundMs
  }

  acknowledged(id: string, nowMs: number): void {
    const times = this.#acknowledgedMs.get(id) ?? []
    times.push(nowMs)
    this.#acknowledgedMs.set(id, times)
  }

  /** `beganMs`: when the reader sent its request. */
  read(id: string, version: number, beganMs: number): void {
    this.#reads++
    const replacedMs = this.#acknowledgedMs.get(id)?.[version + 1]
    if (replacedMs === undefined || replacedMs >= beganMs) return
    const ageMs = beganMs - replacedMs
    this.#stale++
    if (ageMs > this.#boundMs) this.#beyondBound++
    this.#oldestMs = Math.max(this.#oldestMs, ageMs)
  }

  /** The newest version that was acknowledged; undefined if none was. */
  newest(id: string): number | undefined {
    const count = this.#acknowledgedMs.get(id)?.length
    return count === undefined ? undefined : count - 1
  }

  result(): StaleReads {
    const [reads, stale, beyondBound] = [this.#reads, this.#stale, this.#beyondBound]
    return { reads, stale, beyondBound, oldestMs: Math.round(this.#oldestMs) }
  }
}
