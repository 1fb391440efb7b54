/** What a simulated machine's own clock shows: it begins anywhere, and runs a little wrong. */
import type { Random } from '../harness/random.js'

export interface ClockError {
  readonly offsetMs: number
  /** Its seconds in a real second. */
  readonly rate: number
}

/** Often as wrong as it may be, either way. */
export function drawClockRate(random: Random, driftMax: number): number {
  return 1 + driftMax * Math.min(1, Math.max(-1, 4 * random.float() - 2))
}
