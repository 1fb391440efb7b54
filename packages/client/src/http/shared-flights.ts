/**
 * Single-flight: callers that want the same thing at the same time share one request. It is aborted when no caller waits for it
 * any longer, and not before: one caller that gives up takes nothing from the others.
 */
import { untilAborted } from './deadline.js'

interface Flight<Result> {
  readonly promise: Promise<Result>
  readonly controller: AbortController
  waiters: number
}

export class SharedFlights<Result> {
  readonly #flights = new Map<string, Flight<Result>>()

  /** The outcome of `start`, whether this call started it or another. Rejects with the signal's reason if that is aborted. */
  async join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const flight = this.#flights.get(key) ?? this.#begin(key, start)
    flight.waiters++
    try {
      return await untilAborted(flight.promise, signal)
    } finally {
      if (--flight.waiters === 0) this.#leave(key, flight)
    }
  }

  #begin(key: string, start: (signal: AbortSignal) => Promise<Result>): Flight<Result> {
    const controller = new AbortController()
    const promise = start(controller.signal)
    const flight = { promise, controller, waiters: 0 }
    this.#flights.set(key, flight)
    const done = () => this.#remove(key, flight)
    promise.then(done, done)
    return flight
  }

  #leave(key: string, flight: Flight<Result>): void {
    // The flight has ended. Aborting it would change nothing, and costs a sixth of a fetch or more.
    if (this.#flights.get(key) !== flight) return
    flight.controller.abort()
    this.#remove(key, flight)
  }

  #remove(key: string, flight: Flight<Result>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key)
  }
}
