/**
 * The store's clock, where several servers on several machines have one store.
 *
 * The engine keeps it: the head stores a time, and the reading of the engine's own clock when that time was set. The store's
 * time is the stored time plus what has passed since by the engine's clock, limited to the range from 0 to LEASE_MS:
 *
 *     time(now) = head.time + clamp(now - head.set, 0, LEASE_MS)
 *
 * Each transaction that commits sets both, and each server does so several times within LEASE_MS when nothing is committed.
 * So the clock advances while any server has the store open, and stands still when none has. If the engine's time of day is
 * set, back or forward, however far, the store's clock loses or gains at most LEASE_MS, once.
 *
 * A server cannot query the engine each time: `nowMs` is synchronous, and on every path. The server takes the time of the
 * last reply and advances it by its own monotonic clock. Two rules keep the result from ever being ahead of the store's time:
 * - A reply was true before it arrived. So each sample is late by the time that the reply took; the least late of the last few
 *   samples is used. (Only of the last few: two quartz clocks differ by some 50 millionths, so old samples would run ahead.
 *   And only samples from a period in which the store's clock cannot have stood still: less than LEASE_MS passed from each to
 *   the next.)
 * - The server goes at most LEASE_MS beyond the last time that it knows the head to hold. The clock of a server that is cut
 *   off stands still.
 *
 * So whatever time any server has reported, a commit decided later has no earlier time: an age by this clock never exceeds
 * the true age, on any server. A commit that is stuck on its way to the disk keeps the head locked, and the clock then stands
 * still for every server; so an entry of the log is never older than LEASE_MS when it becomes visible.
 */

/** How far the store's time advances when no server sets it, and a server's clock when it hears nothing from the engine. */
export const LEASE_MS = 1000
const SAMPLES = 8

export interface Sample {
  readonly sentMs: number
  readonly receivedMs: number
}

export class FleetClock {
  readonly #monotonicMs: () => number
  /** The store's time less the machine's, of the last samples. */
  #offsets: number[] = []
  #offset = 0
  #storedMs = 0
  #last: Sample = { sentMs: Number.NEGATIVE_INFINITY, receivedMs: Number.NEGATIVE_INFINITY }
  #lastMs = 0

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  get monotonicMs(): number {
    return this.#monotonicMs()
  }

  /** The time since the last reply from the engine. */
  get silentMs(): number {
    return this.#monotonicMs() - this.#last.receivedMs
  }

  /** The head holds `timeMs`: it was set after `sentMs`, and the reply arrived at `receivedMs`, both by the machine's clock. */
  learn(timeMs: number, { sentMs, receivedMs }: Sample): void {
    const stoodStill = receivedMs - this.#last.sentMs > LEASE_MS
    this.#last = { sentMs, receivedMs }
    this.#offsets = [...(stoodStill ? [] : this.#offsets.slice(1 - SAMPLES)), timeMs - receivedMs]
    this.#offset = Math.max(...this.#offsets)
    this.#storedMs = Math.max(this.#storedMs, timeMs)
  }

  /** The log has a commit with this time. The head's time is at least as late, so this clock is still not ahead of it. */
  isAtLeast(timeMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, timeMs)
  }

  nowMs(): number {
    const byOwn = this.#monotonicMs() + this.#offset
    this.#lastMs = Math.max(this.#lastMs, Math.min(byOwn, this.#storedMs + LEASE_MS))
    return this.#lastMs
  }
}
