/**
 * Simulated time for code that awaits: events happen in order, and after those of one moment everything that awaited them goes on
 * before the next moment comes. Messages are lost, late and out of order as `harm` says.
 */
import { setImmediate } from 'node:timers/promises'
import type { Timing } from '@freshet/stores/cells'
import { EventQueue } from '../ring-simulator/event-queue.js'

/** When a message arrives: after each of these times; never, if there is none. */
export type Delays = (from: string, to: string) => readonly number[]

const STEPS_PER_MOMENT = 24
/** Then the process may do something else. */
const MOMENTS_PER_TURN = 2000

export class SimulatedNetwork {
  readonly #queue = new EventQueue()
  readonly #delays: Delays
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
    return new Promise((resolve, reject) => {
      for (const delayMs of this.#delays(from, to)) {
        this.after(delayMs, async () => {
          try {
            const answered = await answer()
            for (const backMs of this.#delays(to, from)) this.after(backMs, () => resolve(answered))
          } catch (error) {
            for (const backMs of this.#delays(to, from)) this.after(backMs, () => reject(error))
          }
        })
      }
    })
  }

  /** A clock of somebody's own, which runs a little wrong; nothing happens by it any more when its owner has ended. */
  clock({ offsetMs, rate, isOver }: { offsetMs: number; rate: number; isOver: () => boolean }): Timing {
    return {
      nowMs: () => offsetMs + this.nowMs * rate,
      after: (delayMs, action) => {
        let isOff = false
        this.#queue.after(Math.ceil(delayMs / rate), () => {
          if (isOff || isOver()) return
          this.#hasHappened = true
          action()
        })
        return () => {
          isOff = true
        }
      },
    }
  }
}
