/**
 * The session's clock, in milliseconds since an arbitrary moment. It measures how long ago something was known to be true, so it
 * must not run slow: after a laptop slept for an hour, its sketch is an hour old. `performance.now()` may stand still during
 * sleep, and `Date.now()` may be set back; this clock advances by whichever of the two advanced more.
 *
 * Invariant: over any interval it advances at least as much as either, less 2 ms (`Date.now()` counts whole milliseconds, and
 * adding up its steps call by call would make a busy clock run at twice the speed). It may run fast: then a sketch is only
 * fetched sooner than needed. Two readings are never equal: "requested at or after" must be decidable, even in browsers that
 * round their clocks to a millisecond or more.
 */
export type Clock = () => number

/** The two clocks of a platform, neither of which is good enough by itself. */
export interface ClockSources {
  /** As `performance.now()`: it may stand still while the machine sleeps. */
  readonly performanceMs: () => number
  /** As `Date.now()`: it may be set back. */
  readonly dateMs: () => number
}

const PLATFORM: ClockSources = { performanceMs: () => performance.now(), dateMs: () => Date.now() }
const DIVERGENCE_MS_MAX = 2
const STEP_MS_MIN = 1e-4

/**
 * The default clock of `connect`: it advances by whichever of the two advanced more. Replace its sources in tests.
 *
 * @example
 * import { connect, createPessimisticClock } from '@freshet/client'
 *
 * let nowMs = 0
 * const clock = createPessimisticClock({ performanceMs: () => nowMs, dateMs: () => nowMs })
 * const db = await connect('http://localhost:7700', { clock })
 * nowMs += 60_000 // what the session knows is a minute old now
 * db.close()
 */
export function createPessimisticClock({ performanceMs, dateMs }: ClockSources = PLATFORM): Clock {
  let anchorMs = 0
  let anchorPerformanceMs = performanceMs()
  let anchorDateMs = dateMs()
  let lastMs = 0

  return () => {
    const nowPerformanceMs = performanceMs()
    const nowDateMs = dateMs()
    const byPerformanceMs = nowPerformanceMs - anchorPerformanceMs
    const byDateMs = nowDateMs - anchorDateMs
    lastMs = Math.max(lastMs + STEP_MS_MIN, anchorMs + Math.max(byPerformanceMs, byDateMs))
    if (Math.abs(byPerformanceMs - byDateMs) > DIVERGENCE_MS_MAX) {
      // Both count from now on, so that the lag of one does not hide what it advances later.
      anchorMs = lastMs
      anchorPerformanceMs = nowPerformanceMs
      anchorDateMs = nowDateMs
    }
    return lastMs
  }
}
