/**
 * Simulated time for code that awaits. Events happen in order, and after the events of one moment everything that awaited them
 * runs before the next moment begins. Nodes are called over a network that loses, delays and doubles messages.
 */
import { setImmediate } from 'node:timers/promises'
import type { Timing } from '@freshet/cells'
import { FreshetError } from '@freshet/protocol'
import type { ClockError } from '../simulator/clock-error.js'
import type { EventQueue } from '../simulator/event-queue.js'
import type { Network } from '../simulator/network.js'
import { Standstill } from '../simulator/standstill.js'

export interface ClockSettings extends ClockError {
  /** The owner's name. */
  readonly name: string
  readonly isOver: () => boolean
}

const STEPS_PER_MOMENT = 24
/** After this many moments the process may do other work. */
const MOMENTS_PER_TURN = 2000

export class SimulatedNetwork {
  readonly #queue: EventQueue
  readonly #network: Network<string>
  readonly #sleeps = new Map<string, Standstill>()
  /** Timers that fired and did nothing: whole moments of them are skipped. */
  #idle = 0
  #moments = 0

  constructor(queue: EventQueue, network: Network<string>) {
    this.#queue = queue
    this.#network = network
  }

  /** Messages to a sleeping machine arrive when it wakes, and its timers do not fire before. */
  sleepOf(name: string): Standstill {
    const sleep = this.#sleeps.get(name) ?? new Standstill(this.#queue)
    this.#sleeps.set(name, sleep)
    return sleep
  }

  async runFor(ms: number, isOver: () => boolean = () => false): Promise<void> {
    const queue = this.#queue
    const endMs = queue.nowMs + ms
    while (queue.nextMs <= endMs && !isOver()) {
      const busy = queue.done - this.#idle
      queue.runUntil(queue.nextMs)
      if (queue.done - this.#idle === busy) continue
      // Code that awaited runs before this continues. If it takes more steps, it runs beside what comes next, in a fixed order.
      for (let step = 0; step < STEPS_PER_MOMENT; step++) await undefined
      if (++this.#moments % MOMENTS_PER_TURN === 0) await setImmediate()
    }
    if (!isOver()) queue.runUntil(endMs)
  }

  /** A call and its answer. If a message is lost in either direction, there is no answer. */
  call<Answer>(from: string, to: string, answer: () => Answer | Promise<Answer>): Promise<Answer> {
    const send = (sender: string, receiver: string, arrive: () => void) =>
      this.#network.send(sender, receiver, () => this.sleepOf(receiver).whenOver(arrive))
    return new Promise((resolve, reject) => {
      send(from, to, async () => {
        try {
          const answered = await answer()
          send(to, from, () => resolve(answered))
        } catch (error) {
          send(to, from, () => reject(error))
        }
      })
    })
  }

  /**
   * The clock of one owner. It runs slightly wrong, and stands still while the owner sleeps. Its timers no longer fire when the
   * owner has ended.
   */
  clock({ name, offsetMs, rate, isOver }: ClockSettings): Timing {
    const queue = this.#queue
    const sleep = this.sleepOf(name)
    const fire = (delayMs: number, action: () => void, isOff: () => boolean) => {
      const sleptMs = sleep.pastMs
      queue.after(Math.ceil(delayMs / rate), () => {
        const missedMs = sleep.pastMs - sleptMs
        const isDue = !isOff() && !isOver()
        if (isDue && !sleep.isNow && missedMs === 0) {
          action()
          return
        }
        this.#idle++
        if (isDue) sleep.whenOver(() => fire(missedMs * rate, action, isOff))
      })
    }
    return {
      nowMs: () => offsetMs + (queue.nowMs - sleep.pastMs) * rate,
      pessimisticMs: () => offsetMs + queue.nowMs * rate,
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
