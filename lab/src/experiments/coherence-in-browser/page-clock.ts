/**
 * A page's clock compared with ours, as Cristian does: it is asked for its time, and that was between when we asked and
 * when it answered. Both count the same machine's ticks, so they never drift apart, and the best of some attempts will do.
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
    // Each answer is right, so what all of them allow is right too.
    best = {
      leastMs: Math.max(best.leastMs, askedMs - theirsMs),
      mostMs: Math.min(best.mostMs, answeredMs - theirsMs),
    }
  }
  return best
}
