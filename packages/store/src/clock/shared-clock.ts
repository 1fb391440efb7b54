/**
 * The store's clock, over several machines whose clocks have nothing to do with each other. Redis has only the time of day,
 * which may jump; so it goes by the monotonic clocks of those who have the store open.
 *
 * Each machine has an offset, kept in Redis, that is added to its monotonic clock: so all its processes have the same clock,
 * exactly. Several times a second each process meets the clock of the store: what is behind the other is set forward to it.
 *
 * Why it is never faster than real time: the most advanced of all these clocks goes as one machine's does, until another
 * becomes the most advanced, by going just as fast; setting forward takes nobody beyond it, since what a machine is set to was
 * its time at some moment before. What may happen is that a machine that has just come, or has slept, is behind until it has met
 * the others, and stamps its commits so: by a meeting's interval and a round trip at most, since no commit is stamped earlier
 * than the store's clock. So an age may seem longer than it is by less than a second, which is what `slackMs` is there for.
 */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { monotonicMs } from './store-clock.js'

export class SharedClock {
  /** All that have this in common have the same monotonic clock. */
  readonly boot: string = bootId()
  #offsetMs: number | undefined
  #lastMs = 0

  /** In whole milliseconds, as is everything here. */
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

  /** A time that the log has seen: it is not to come. */
  isAtLeast(timeMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, timeMs)
  }
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Not on Linux: then each process has a clock of its own, as if on a machine of its own.
    return `${hostname()}:${process.pid}:${performance.timeOrigin}`
  }
}
