/**
 * Which failures are worth another try, and when: exponential back-off with full jitter, so that clients that failed
 * together do not come back together. A server that says when to come back is not asked earlier.
 */
import { FreshetError, type FreshetErrorCode } from '@freshet/protocol'
import { pause } from './deadline.js'

export interface RetryPolicy {
  /** So many tries after the first. */
  readonly retriesMax: number
  readonly random: () => number
}

const FIRST_DELAY_MS_MAX = 100
const DELAY_MS_MAX = 2_000

/** Refused before anything was done; the same request may well succeed in a moment. */
const REFUSALS: readonly FreshetErrorCode[] = ['RATE_LIMITED', 'SERVER_BUSY', 'SERVER_STOPPING', 'POSITION_NOT_REACHED']
/**
 * With those, all that have the status 429 or 503; a test holds this to the protocol's table, which is too long to carry along, as
 * a list of them would be.
 */
const UNAVAILABLE = /^(?:STORE_(?!FULL|DAMAGED)|(?:RING|SHARD)_UNAV|SHARDS_)/
/** From somebody on the way, who passes on that all is not well behind him. */
const PASSING_STATUSES = [408, 425, 429, 500, 502, 503, 504]

/** What asks for something to be repeated must know that repeating it does no harm. */
export type Repeatable = (error: unknown) => boolean

/** For reads. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof FreshetError)) return false
  const { code, details } = error
  if (REFUSALS.includes(code) || UNAVAILABLE.test(code)) return true
  if (code !== 'REQUEST_FAILED' || details.closed === true) return false
  return typeof details.status === 'number' ? PASSING_STATUSES.includes(details.status) : true
}

/** For writes: it surely was not done. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof FreshetError)) return false
  return REFUSALS.includes(error.code) || (error.details.outcome === 'not-done' && isPassing(error))
}

/** For writes: the request left, and nobody knows yet what became of it. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof FreshetError)) return false
  if (error.code === 'OPERATION_IN_PROGRESS') return true
  return error.details.outcome === 'unknown' && (isPassing(error) || error.code === 'REQUEST_TIMEOUT')
}

/** Tries until it succeeds, fails in a way that repeating does not mend, or has failed too often. */
export async function retry<Result>(
  policy: RetryPolicy,
  signal: AbortSignal,
  isRepeatable: Repeatable,
  attempt: (tried: number) => Promise<Result>,
): Promise<Result> {
  for (let tried = 0; ; tried++) {
    try {
      return await attempt(tried)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (tried >= policy.retriesMax || !isRepeatable(error)) throw error
      await pause(delayMs(error, tried, policy.random), signal)
    }
  }
}

function delayMs(error: unknown, tried: number, random: () => number): number {
  // It is its turn, and others wait for it.
  if (error instanceof FreshetError && error.details.lease !== undefined) return 0
  const jitterMs = random() * Math.min(DELAY_MS_MAX, FIRST_DELAY_MS_MAX * 2 ** tried)
  const retryAfterS = error instanceof FreshetError ? error.details.retryAfterS : undefined
  return typeof retryAfterS === 'number' ? retryAfterS * 1000 + jitterMs : jitterMs
}
