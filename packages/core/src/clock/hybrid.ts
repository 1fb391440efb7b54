/**
 * Hybrid logical clocks (Kulkarni, Demirbas and others, 2014): timestamps that respect the happened-before order, as Lamport's
 * do, and stay close to the time of day. `timeMs` is the latest physical time that this event or any event before it has read;
 * `count` distinguishes the events with the same `timeMs`.
 *
 * Invariant: if no clock is ahead of real time by more than e, then `timeMs` is never ahead by more than e either; and it is
 * never behind its own process's clock. A message from a clock that is too far ahead is refused. Otherwise one wrong clock
 * would pull all others ahead for good.
 */
export interface HybridTime {
  readonly timeMs: number
  readonly count: number
}

export const HYBRID_ZERO: HybridTime = { timeMs: Number.NEGATIVE_INFINITY, count: 0 }

/** A local event, which includes sending a message. */
export function tickHybrid(clock: HybridTime, nowMs: number): HybridTime {
  return nowMs > clock.timeMs ? { timeMs: nowMs, count: 0 } : { timeMs: clock.timeMs, count: clock.count + 1 }
}

/** Receives a message that was sent at `sent`. Undefined if that is more than `aheadMsMax` ahead of our own time: refuse it. */
export function receiveHybrid(
  clock: HybridTime,
  sent: HybridTime,
  nowMs: number,
  aheadMsMax: number,
): HybridTime | undefined {
  if (sent.timeMs - nowMs > aheadMsMax) return undefined
  const latest = compareHybrid(sent, clock) > 0 ? sent : clock
  return tickHybrid(latest, nowMs)
}

export function compareHybrid(a: HybridTime, b: HybridTime): number {
  return a.timeMs === b.timeMs ? a.count - b.count : a.timeMs - b.timeMs
}
