/**
 * The store's clock (`shared-clock.ts` of @freshet/store has the argument): the clocks of the servers' machines, which compare
 * times several times a second. They compare by numbers that only grow, so a read returns the highest time that any server has
 * written. The offset that each machine adds to its clock is such a number too: all servers of one machine have the same
 * offset.
 */
import type { SharedClock } from '@freshet/store/clock'
import type { Registers } from './log-storage.js'

const TIME = 'time'

export class ClockMeetings {
  readonly #registers: Registers
  readonly #clock: SharedClock

  constructor(registers: Registers, clock: SharedClock) {
    this.#registers = registers
    this.#clock = clock
  }

  /** `atLeastMs`: a time that the log has reached. */
  async begin(atLeastMs: number): Promise<void> {
    await this.#learn(atLeastMs)
    await this.meet()
    // Another server of this machine may have begun at the same time.
    await this.#learn(atLeastMs)
  }

  /** Writes this server's time for the others, and reads theirs. */
  async meet(): Promise<void> {
    const nowMs = this.#clock.nowMs()
    const offsetMs = nowMs - this.#clock.monotonicMs()
    const own = new Map([
      [TIME, nowMs],
      [this.#boot, offsetMs],
    ])
    await this.#registers.raise(own)
    await this.#learn(0)
  }

  get #boot(): string {
    return `boot:${this.#clock.boot}`
  }

  async #learn(atLeastMs: number): Promise<void> {
    const highest = await this.#registers.highest()
    // By now it is later than the time that was read, so a clock that is set to it is never ahead.
    const behindMs = Math.max(highest.get(TIME) ?? 0, Math.ceil(atLeastMs)) - this.#clock.monotonicMs()
    this.#clock.meet(Math.max(highest.get(this.#boot) ?? Number.NEGATIVE_INFINITY, behindMs))
  }
}
