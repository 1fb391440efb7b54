/** The modes in which sessions read, and how old what they read may be in each. */
import { type ReadMode, within } from '@freshet/client'

export interface TimedMode {
  readonly mode: ReadMode
  readonly ageMs: number
}

/** What a session is asked for with `staleness`. */
export const STALENESS_MS = 300
const WITHIN_MS = 100

/** To pick from: `sessionTimes` times as often `session` as each of the others. */
export function readModes(sessionTimes: number): readonly TimedMode[] {
  return [
    ...Array.from({ length: sessionTimes }, (): TimedMode => ({ mode: 'session', ageMs: STALENESS_MS })),
    { mode: within(WITHIN_MS), ageMs: WITHIN_MS },
    { mode: 'current', ageMs: 0 },
  ]
}
