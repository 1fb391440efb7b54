/**
 * The store's clock, where several servers on several machines have one store.
 *
 * The engine keeps it: the head has a time, and when that was set by the engine's own clock. The store's time is that time
 * plus what has passed since by the engine's clock, but never more than LEASE_MS, and never less than nothing:
 *
 *     time(now) = head.time + clamp(now - head.set, 0, LEASE_MS)
 *
 * Each transaction that commits sets both, and so does each server several times within LEASE_MS when nothing is committed.
 * So it goes on while any server has the store open, and stands still when none has; and if the engine's time of day is set,
 * back or forward, however far, the store's clock loses or gains at most LEASE_MS by it, once.
 *
 * A server cannot ask for it each time: `nowMs` is synchronous, and on every path. It takes what it was told, and goes on from
 * there by its own monotonic clock. Two things keep this from ever being ahead of the store's time:
 * - What it was told was true before it arrived. So each sample is late, by the way back; the least late of the last few is used.
 *   (Only of the last few: two quartz clocks differ by some 50 millionths, so that old samples would run ahead. And only of those
 *   since when the store's clock cannot have stood still: from one to the next less than LEASE_MS went by.)
 * - It goes no further than LEASE_MS beyond what it knows the head to hold. A server that is cut off stands still.
 *
 * So whatever time any server has told anybody, a commit decided later has no earlier time: an age by this clock is never more
 * than the true one, on whichever server. And a commit that hangs on its way to the disk keeps the head locked: the clock then
 * stands still for everybody, so that no entry of the log is older, when it becomes visible, than LEASE_MS.
 */

/** How far time goes on by itself, and a server's clock without being told. */
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

  /** How long ago it was last told. */
  get silentMs(): number {
    return this.#monotonicMs() - this.#last.receivedMs
  }

  /** The head holds this time; it was set after `sentMs`, and told at `receivedMs`, by the machine's clock. */
  learn(timeMs: number, { sentMs, receivedMs }: Sample): void {
    const stoodStill = receivedMs - this.#last.sentMs > LEASE_MS
    this.#last = { sentMs, receivedMs }
    this.#offsets = [...(stoodStill ? [] : this.#offsets.slice(1 - SAMPLES)), timeMs - receivedMs]
    this.#offset = Math.max(...this.#offsets)
    this.#storedMs = Math.max(this.#storedMs, timeMs)
  }

  /** The log has a commit of this time. The head's time is at least as late, so this clock is still not ahead of it. */
  isAtLeast(timeMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, timeMs)
  }

  nowMs(): number {
    const byOwn = this.#monotonicMs() + this.#offset
    this.#lastMs = Math.max(this.#lastMs, Math.min(byOwn, this.#storedMs + LEASE_MS))
    return this.#lastMs
  }
}
