/** The time that a coordinator uses: the process's own, or a simulator's. The date does not matter. */
import { createPessimisticClock } from './pessimistic-clock.js'

export interface Timing {
  /** Does not run fast: a wait measured by it is long enough. It may stand still while the machine sleeps. */
  nowMs(): number
  /** Does not run slow, not even while the machine sleeps: measures how long a promise of others holds. It may run fast. */
  pessimisticMs(): number
  /** Returns a function that cancels the action. */
  after(delayMs: number, action: () => void): () => void
}

export const PROCESS_TIMING: Timing = {
  nowMs: () => performance.now(),
  pessimisticMs: createPessimisticClock(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs)
    // A pending action does not keep the process alive.
    timer.unref()
    return () => clearTimeout(timer)
  },
}

export function pause(timing: Timing, delayMs: number): Promise<void> {
  return new Promise(resolve => timing.after(delayMs, resolve))
}
