/**
 * What to do when a worker has died. A worker that had been ready is replaced at once, the next ones after ever longer pauses;
 * five in a row that died before they were ready end the server, because another start would not help.
 */
export interface RestartState {
  /** Deaths since a worker last stayed alive for a while. */
  readonly deaths: number
  /** Of these, the last ones that died before they were ready. */
  readonly failedStarts: number
}

export interface WorkerDeath {
  readonly wasReady: boolean
  /** Since it was ready, or else since it was started. */
  readonly livedMs: number
}

export type RestartDecision =
  | { readonly kind: 'restart'; readonly afterMs: number; readonly state: RestartState }
  | { readonly kind: 'giveUp' }

export const NO_DEATHS: RestartState = { deaths: 0, failedStarts: 0 }
export const FAILED_STARTS_MAX = 5
const PAUSE_MS_FIRST = 100
const PAUSE_MS_MAX = 5000
/** A worker that lived this long did not die of what killed the one before. */
const STEADY_MS = 10_000

export function onWorkerDeath(state: RestartState, { wasReady, livedMs }: WorkerDeath): RestartDecision {
  const before = wasReady && livedMs >= STEADY_MS ? NO_DEATHS : state
  const failedStarts = wasReady ? 0 : before.failedStarts + 1
  if (failedStarts >= FAILED_STARTS_MAX) return { kind: 'giveUp' }
  const pauseMs = before.deaths === 0 && wasReady ? 0 : PAUSE_MS_FIRST * 2 ** before.deaths
  return {
    kind: 'restart',
    afterMs: Math.min(PAUSE_MS_MAX, pauseMs),
    state: { deaths: before.deaths + 1, failedStarts },
  }
}
