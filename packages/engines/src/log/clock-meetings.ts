/**
 * The store's clock (`shared-clock.ts` of @freshet/store has the argument): that of the servers' machines, which meet several times a second. They
 * meet in numbers that only grow, so that what is read is the highest time that any of them has told, whoever it was. So does what each machine
 * adds to its clock: all its servers have the same.
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

  /** `atLeastMs`: a time that the log has seen. */
  async begin(atLeastMs: number): Promise<void> {
    await this.#learn(atLeastMs)
    await this.meet()
    // Another server of this machine may have begun at the same time.
    await this.#learn(atLeastMs)
  }

  /** Tells the others how late it is, and is told. */
  async meet(): Promise<void> {
    const nowMs = this.#clock.nowMs()
    const offsetMs = nowMs - this.#clock.monotonicMs()
    const told = new Map([
      [TIME, nowMs],
      [this.#boot, offsetMs],
    ])
    await this.#registers.raise(told)
    await this.#learn(0)
  }

  get #boot(): string {
    return `boot:${this.#clock.boot}`
  }

  async #learn(atLeastMs: number): Promise<void> {
    const told = await this.#registers.highest()
    // By now it is later than that: whoever is set to it is never ahead.
    const behindMs = Math.max(told.get(TIME) ?? 0, Math.ceil(atLeastMs)) - this.#clock.monotonicMs()
    this.#clock.meet(Math.max(told.get(this.#boot) ?? Number.NEGATIVE_INFINITY, behindMs))
  }
}
