/**
 * A clock for how long a promise of others may still be relied on: it must not run slow. `performance.now()` stands still while
 * the machine sleeps (CLOCK_MONOTONIC on Linux). The time of day does not, but may be set. This clock never advances less than
 * `performance.now()`. It advances by as much more as the time of day gets ahead, because the machine slept or because the time
 * of day was set forward. In the second case it runs fast, and a lease ends sooner than necessary. A coordinator that waits for
 * another's promise to run out must not use this clock.
 */
export interface ClockSources {
  readonly performanceMs: () => number
  readonly dateMs: () => number
}

const PLATFORM: ClockSources = { performanceMs: () => performance.now(), dateMs: () => Date.now() }
/** `Date.now()` counts in whole milliseconds. */
const DIFFERENCE_MS_MIN = 2

export function createPessimisticClock({ performanceMs, dateMs }: ClockSources = PLATFORM): () => number {
  let aheadMs = 0
  let differenceMs = dateMs() - performanceMs()
  return () => {
    const nowMs = performanceMs()
    const grownMs = dateMs() - nowMs - differenceMs
    if (Math.abs(grownMs) > DIFFERENCE_MS_MIN) {
      // If the difference has shrunk, the time of day was set back: what it gets ahead from here on counts again.
      aheadMs += Math.max(0, grownMs)
      differenceMs += grownMs
    }
    return nowMs + aheadMs
  }
}
