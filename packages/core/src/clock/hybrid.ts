/**
 * Hybrid logical clocks (Kulkarni, Demirbas and others, 2014): timestamps that respect what happened before what, as Lamport's,
 * and stay close to the time of day. `timeMs` is the latest physical time that this event or any before it has read; `count`
 * tells apart the events for which that did not move.
 *
 * Invariant: if no clock is ahead of real time by more than e, then `timeMs` is never ahead by more than e either; and it is
 * never behind its own process's clock. A message from a clock that is too far ahead is refused, or one wrong clock would
 * drag all others along for ever.
 */
export interface HybridTime {
  readonly timeMs: number
  readonly count: number
}

export const HYBRID_ZERO: HybridTime = { timeMs: Number.NEGATIVE_INFINITY, count: 0 }

/** An event of its own, sending included. */
export function tickHybrid(clock: HybridTime, nowMs: number): HybridTime {
  return nowMs > clock.timeMs ? { timeMs: nowMs, count: 0 } : { timeMs: clock.timeMs, count: clock.count + 1 }
}

/** A message arrives that was sent at `sent`. Undefined if that is more than `aheadMsMax` ahead of our own time: refuse it. */
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
