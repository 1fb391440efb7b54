/**
 * Lamport's clock (Time, Clocks, and the Ordering of Events, 1978): a number that grows along every chain of messages. If a
 * happened before b then a < b. The reverse does not hold; use vectors for that.
 *
 * The state is a plain number that its owner keeps, 0 at first.
 */

/** A local event, which includes sending a message. */
export function tickLamport(clock: number): number {
  return clock + 1
}

/** Receives a message that was sent at `sent`. */
export function receiveLamport(clock: number, sent: number): number {
  return Math.max(clock, sent) + 1
}

/** A total order: by the clock, and among equal clocks by the process. It respects the happened-before order. */
export function compareLamport(a: LamportEvent, b: LamportEvent): number {
  return a.clock - b.clock || (a.process < b.process ? -1 : a.process > b.process ? 1 : 0)
}

export interface LamportEvent {
  readonly clock: number
  readonly process: string
}
