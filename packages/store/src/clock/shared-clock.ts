/**
 * The store's clock, over several machines whose clocks are independent. Redis offers only the time of day, which may jump;
 * so this clock uses the monotonic clocks of the machines that have the store open.
 *
 * Each machine has an offset, kept in Redis, that is added to its monotonic clock, so all processes of a machine have exactly
 * the same clock. Several times a second each process compares its clock with the store's; the one that is behind is set
 * forward to the other.
 *
 * Why it is never faster than real time: the most advanced of these clocks runs as fast as one machine's clock, until another
 * clock, which runs at the same rate, becomes the most advanced. Setting a clock forward never takes it beyond the most
 * advanced, because the time that it is set to was that clock's time at an earlier moment. A machine that has just joined, or has
 * slept, may be behind until it has met the others, and its commits then have times that are too early: by one meeting
 * interval and one round trip at most, since no commit gets a time before the store's clock. So an age may seem longer than
 * it is by less than a second; `slackMs` covers this.
 */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { monotonicMs } from './store-clock.js'

export class SharedClock {
  /** Processes with the same value share one monotonic clock. */
  readonly boot: string = bootId()
  #offsetMs: number | undefined
  #lastMs = 0

  /** In whole milliseconds, like every time in this file. */
  monotonicMs(): number {
    return Math.floor(monotonicMs())
  }

  /** 0 until the store has been met. */
  nowMs(): number {
    if (this.#offsetMs === undefined) return 0
    this.#lastMs = Math.max(this.#lastMs, this.monotonicMs() + this.#offsetMs)
    return this.#lastMs
  }

  meet(offsetMs: number): void {
    this.#offsetMs = Math.max(this.#offsetMs ?? offsetMs, offsetMs)
  }

  /** The log has an entry with this time, so the clock is never before it. */
  isAtLeast(timeMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, timeMs)
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Not Linux: each process has its own clock, as if it were on a machine of its own.
    return `${hostname()}:${process.pid}:${performance.timeOrigin}`
  }
}
