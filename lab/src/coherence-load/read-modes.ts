/** The modes in which sessions read, and the largest age that each allows. */
import { type ReadMode, within } from '@freshet/client'

export interface TimedMode {
  readonly mode: ReadMode
  readonly ageMs: number
}

/** The `staleness` of the sessions. */
export const STALENESS_MS = 300
const WITHIN_MS = 100

/** A list to pick from: `session` occurs `sessionTimes` times as often as each of the others. */
export function readModes(sessionTimes: number): readonly TimedMode[] {
  return [
    ...Array.from({ length: sessionTimes }, (): TimedMode => ({ mode: 'session', ageMs: STALENESS_MS })),
    { mode: within(WITHIN_MS), ageMs: WITHIN_MS },
    { mode: 'current', ageMs: 0 },
  ]
}
