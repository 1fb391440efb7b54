/**
 * Lamport's clock (Time, Clocks, and the Ordering of Events, 1978): a number that grows along every chain of messages. If a
 * happened before b then a < b; the reverse does not hold, for that there are vectors.
 *
 * State is a plain number that its owner keeps: 0 at first.
 */

/** An event of its own, sending included. */
export function tickLamport(clock: number): number {
  return clock + 1
}

/** A message arrives that was sent at `sent`. */
export function receiveLamport(clock: number, sent: number): number {
  return Math.max(clock, sent) + 1
}

/** One order for everybody: by the clock, and among equals by the process. It respects what happened before what. */
export function compareLamport(a: LamportEvent, b: LamportEvent): number {
  return a.clock - b.clock || (a.process < b.process ? -1 : a.process > b.process ? 1 : 0)
}

export interface LamportEvent {
  readonly clock: number
  readonly process: string
}
