/** The time that a coordinator lives by: the process's own, or a simulator's. Which day it is does not matter. */
import { createPessimisticClock } from './pessimistic-clock.js'

export interface Timing {
  /** Does not run fast: who waits by it waits long enough. It may stand still while the machine sleeps. */
  nowMs(): number
  /** Does not run slow, not even while the machine sleeps: for how long others may be relied on. It may run fast. */
  pessimisticMs(): number
  /** Returns the way to call it off. */
  after(delayMs: number, action: () => void): () => void
}

export const PROCESS_TIMING: Timing = {
  nowMs: () => performance.now(),
  pessimisticMs: createPessimisticClock(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs)
    // A process is not kept alive by what would only be done later.
    timer.unref()
    return () => clearTimeout(timer)
  },
}

export function pause(timing: Timing, delayMs: number): Promise<void> {
  return new Promise(resolve => timing.after(delayMs, resolve))
}
