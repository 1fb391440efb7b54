/**
 * The session's clock, in milliseconds since nothing in particular. What it times is how long ago something was known to
 * be true, so it must not run slow: a laptop that slept for an hour has an hour-old sketch. `performance.now()` may stand
 * still during sleep, and `Date.now()` may be set back; this clock advances by whichever of the two advanced more.
 *
 * Invariant: over any interval it advances at least as much as either, less 2 ms (`Date.now()` counts in whole ones, and
 * adding up its steps call by call would make a busy clock run at twice the speed). It may run fast: then a sketch is
 * fetched sooner than needed, and that is all. Two readings are never equal: "asked at or after" must be decidable, also
 * where browsers round their clocks to a millisecond and more.
 */
export type Clock = () => number

/** The two clocks of a platform, neither of which is good enough alone. */
export interface ClockSources {
  readonly performanceMs: () => number
  readonly dateMs: () => number
}

const PLATFORM: ClockSources = { performanceMs: () => performance.now(), dateMs: () => Date.now() }
const DIVERGENCE_MS_MAX = 2
const STEP_MS_MIN = 1e-4

/** The clock that `connect` uses unless it is given one: it advances by whichever of the two advanced more. */
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
      // From here on both count from now, so that what one of them is behind does not hide what it advances later.
      anchorMs = lastMs
      anchorPerformanceMs = nowPerformanceMs
      anchorDateMs = nowDateMs
    }
    return lastMs
  }
}
