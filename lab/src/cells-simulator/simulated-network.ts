/**
 * Simulated time for code that awaits: events happen in order, and after those of one moment everything that awaited them goes on
 * before the next moment comes. Messages are lost, late and out of order as `harm` says.
 */
import { setImmediate } from 'node:timers/promises'
import { FreshetError } from '@freshet/protocol'
import type { Timing } from '@freshet/stores/cells'
import { EventQueue } from '../ring-simulator/event-queue.js'

/** When a message arrives: after each of these times; never, if there is none. */
export type Delays = (from: string, to: string) => readonly number[]

export interface ClockSettings {
  /** Whose it is. */
  readonly name: string
  readonly offsetMs: number
  readonly rate: number
  readonly isOver: () => boolean
}

const STEPS_PER_MOMENT = 24
/** Then the process may do something else. */
const MOMENTS_PER_TURN = 2000

export class SimulatedNetwork {
  readonly #queue = new EventQueue()
  readonly #delays: Delays
  readonly #sleeps = new Map<string, { untilMs: number; totalMs: number }>()
  #hasHappened = false
  #moments = 0

  constructor(delays: Delays) {
    this.#delays = delays
  }

  get nowMs(): number {
    return this.#queue.nowMs
  }

  get events(): number {
    return this.#queue.done
  }

  after(delayMs: number, action: () => void): void {
    // Whole milliseconds: so that more of it happens in one moment.
    this.#queue.after(Math.max(0, Math.ceil(delayMs)), () => {
      this.#hasHappened = true
      action()
    })
  }

  /** From now on, for so long: what is sent to it arrives when it wakes, and by its clocks nothing happens before. */
  sleep(name: string, ms: number): void {
    if (this.isAsleep(name)) return
    const totalMs = (this.#sleeps.get(name)?.totalMs ?? 0) + ms
    this.#sleeps.set(name, { untilMs: this.nowMs + ms, totalMs })
  }

  isAsleep(name: string): boolean {
    return this.nowMs < (this.#sleeps.get(name)?.untilMs ?? 0)
  }

  /** At once, or when it wakes. */
  whenAwake(name: string, action: () => void): void {
    if (this.isAsleep(name))
      this.after(this.#sleeps.get(name)!.untilMs - this.nowMs, () => this.whenAwake(name, action))
    else action()
  }

  #sleptMs(name: string): number {
    const { untilMs, totalMs } = this.#sleeps.get(name) ?? { untilMs: 0, totalMs: 0 }
    return totalMs - Math.max(0, untilMs - this.nowMs)
  }

  async runUntil(endMs: number, isOver: () => boolean = () => false): Promise<void> {
    while (this.#queue.nextMs <= endMs && !isOver()) {
      this.#hasHappened = false
      this.#queue.runUntil(this.#queue.nextMs)
      if (!this.#hasHappened) continue
      // What was awaited goes on before this does; if that takes more steps, beside what comes next, and always in the same way.
      for (let step = 0; step < STEPS_PER_MOMENT; step++) await undefined
      if (++this.#moments % MOMENTS_PER_TURN === 0) await setImmediate()
    }
    if (!isOver()) this.#queue.runUntil(endMs)
  }

  /** Asks, there and back. What is lost on either way is never answered. */
  call<Answer>(from: string, to: string, answer: () => Answer | Promise<Answer>): Promise<Answer> {
    const arrive = (name: string, delayMs: number, action: () => void) =>
      this.after(delayMs, () => this.whenAwake(name, action))
    return new Promise((resolve, reject) => {
      for (const delayMs of this.#delays(from, to)) {
        arrive(to, delayMs, async () => {
          try {
            const answered = await answer()
            for (const backMs of this.#delays(to, from)) arrive(from, backMs, () => resolve(answered))
          } catch (error) {
            for (const backMs of this.#delays(to, from)) arrive(from, backMs, () => reject(error))
          }
        })
      }
    })
  }

  /**
   * A clock of somebody's own, which runs a little wrong, and stands still while it sleeps; nothing happens by it any more when its
   * owner has ended.
   */
  clock({ name, offsetMs, rate, isOver }: ClockSettings): Timing {
    const fire = (delayMs: number, action: () => void, isOff: () => boolean) => {
      const sleptMs = this.#sleptMs(name)
      this.#queue.after(Math.ceil(delayMs / rate), () => {
        if (isOff() || isOver()) return
        const missedMs = this.#sleptMs(name) - sleptMs
        if (this.isAsleep(name)) this.whenAwake(name, () => fire(missedMs * rate, action, isOff))
        else if (missedMs > 0) fire(missedMs * rate, action, isOff)
        else {
          this.#hasHappened = true
          action()
        }
      })
    }
    return {
      nowMs: () => offsetMs + (this.nowMs - this.#sleptMs(name)) * rate,
      pessimisticMs: () => offsetMs + this.nowMs * rate,
      after: (delayMs, action) => {
        let isOff = false
        fire(delayMs, action, () => isOff)
        return () => {
          isOff = true
        }
      },
    }
  }
}

export function notAnswered(holder: string): FreshetError {
  return new FreshetError('RING_UNAVAILABLE', `${holder} did not answer.`, { details: { outcome: 'unknown' } })
}
