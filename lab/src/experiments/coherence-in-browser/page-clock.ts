/**
 * A page's clock compared with ours, as Cristian does. We ask the page for its time, which lies between our question and
 * its answer. Both clocks count the same machine's ticks, so they never drift apart, and the best of some attempts suffices.
 */
export interface ClockBounds {
  /** Our time is at least the page's plus this, and at most plus `mostMs`. */
  readonly leastMs: number
  readonly mostMs: number
}

const ATTEMPTS = 20

export async function compareClocks(pageNow: () => Promise<number>): Promise<ClockBounds> {
  let best: ClockBounds = { leastMs: Number.NEGATIVE_INFINITY, mostMs: Number.POSITIVE_INFINITY }
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const askedMs = performance.now()
    const theirsMs = await pageNow()
    const answeredMs = performance.now()
    // Every answer gives a valid range, so the range that all of them allow is valid too.
    best = {
      leastMs: Math.max(best.leastMs, askedMs - theirsMs),
      mostMs: Math.min(best.mostMs, answeredMs - theirsMs),
    }
  }
  return best
}
