/** Retries idempotent work until a database that does not answer has had enough time. */
import { setTimeout as delay } from 'node:timers/promises'
import { EngineBusy, EngineLost } from './engine-errors.js'
import { storeUnavailable } from './store-errors.js'

const PAUSE_MS = 20

export interface RetryingOptions {
  readonly place: string
  readonly waitMsMax: number
}

/** Without async functions where all goes well: every read takes this path. */
export function retrying<Result>(options: RetryingOptions, work: () => Promise<Result>): Promise<Result> {
  return work().catch(error => retry(options, error, work))
}

async function retry<Result>(
  { place, waitMsMax }: RetryingOptions,
  first: unknown,
  work: () => Promise<Result>,
): Promise<Result> {
  const deadlineMs = performance.now() + waitMsMax
  for (let error = first; ; ) {
    if (!(error instanceof EngineLost || error instanceof EngineBusy)) throw error
    if (performance.now() >= deadlineMs) throw storeUnavailable(place, error, 'not-done')
    await delay(PAUSE_MS * (1 + Math.random()))
    try {
      return await work()
    } catch (again) {
      error = again
    }
  }
}
