/**
 * Which failures are worth a retry, and when: exponential back-off with full jitter, so that clients that failed together do not
 * come back together. If a server says when to come back, the client does not retry earlier.
 */
import { FreshetError, type FreshetErrorCode } from '@freshet/protocol'
import { pause } from './deadline.js'

export interface RetryPolicy {
  /** How many times to try after the first attempt. */
  readonly retriesMax: number
  readonly random: () => number
}

const FIRST_DELAY_MS_MAX = 100
const DELAY_MS_MAX = 2_000

/** Refused before anything was done; the same request may succeed in a moment. */
const REFUSALS: readonly FreshetErrorCode[] = ['RATE_LIMITED', 'SERVER_BUSY', 'SERVER_STOPPING', 'POSITION_NOT_REACHED']
/**
 * Together with REFUSALS, all codes with the status 429 or 503. A test compares this with the protocol's table; the table
 * itself, or a list of these codes, would be too large for the client's bundle.
 */
const UNAVAILABLE = /^(?:STORE_(?!FULL|DAMAGED)|(?:RING|SHARD)_UNAV|SHARDS_)/
/** From a proxy on the way, which reports a problem behind it. */
const PASSING_STATUSES = [408, 425, 429, 500, 502, 503, 504]

/** Decides whether to repeat after an error. It must return true only if repeating does no harm. */
export type Repeatable = (error: unknown) => boolean

/** For reads. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof FreshetError)) return false
  const { code, details } = error
  if (REFUSALS.includes(code) || UNAVAILABLE.test(code)) return true
  if (code !== 'REQUEST_FAILED' || details.closed === true) return false
  return typeof details.status === 'number' ? PASSING_STATUSES.includes(details.status) : true
}

/** For writes: it was certainly not done. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof FreshetError)) return false
  return REFUSALS.includes(error.code) || (error.details.outcome === 'not-done' && isPassing(error))
}

/** For writes: the request was sent, and its outcome is unknown. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof FreshetError)) return false
  if (error.code === 'OPERATION_IN_PROGRESS') return true
  return error.details.outcome === 'unknown' && (isPassing(error) || error.code === 'REQUEST_TIMEOUT')
}

/** Repeats until the attempt succeeds, fails in a way that is not repeatable, or has failed too often. */
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
  // It has a lease, and other clients wait for it.
  if (error instanceof FreshetError && error.details.lease !== undefined) return 0
  const jitterMs = random() * Math.min(DELAY_MS_MAX, FIRST_DELAY_MS_MAX * 2 ** tried)
  const retryAfterS = error instanceof FreshetError ? error.details.retryAfterS : undefined
  return typeof retryAfterS === 'number' ? retryAfterS * 1000 + jitterMs : jitterMs
}
