/** The clock of a simulated machine: it begins anywhere, and runs slightly wrong. */
import type { Random } from '../harness/random.js'

export interface ClockError {
  readonly offsetMs: number
  /** The clock's seconds per real second. */
  readonly rate: number
}

/** Often at the largest allowed error, in either direction. */
export function drawClockRate(random: Random, driftMax: number): number {
  return 1 + driftMax * Math.min(1, Math.max(-1, 4 * random.float() - 2))
}
