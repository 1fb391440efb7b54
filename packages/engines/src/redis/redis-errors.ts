/** The errors of Redis and its driver as errors of the store. */
import { FreshetError } from '@freshet/protocol'
import { ErrorReply } from '@redis/client'

/** Redis refuses for now and has done nothing; it may accept soon, here or at another address. */
const PASSING = [
  'LOADING',
  'READONLY',
  'MASTERDOWN',
  'MOVED',
  'ASK',
  'TRYAGAIN',
  'CLUSTERDOWN',
  'BUSY',
  'NOREPLICAS',
  'UNBLOCKED',
]
const FORBIDDEN = ['WRONGPASS', 'NOAUTH', 'NOPERM']

/** The first word of an error that Redis returned; undefined for any other error: then the connection was lost. */
export function wordOf(error: unknown): string | undefined {
  if (!(error instanceof ErrorReply)) return undefined
  // A script that reads has found that a part of its slot has already moved.
  if (error.message.includes('non local key')) return 'TRYAGAIN'
  return /^-?([A-Z]+)/.exec(error.message)?.[1] ?? 'ERR'
}

export function isPassing(word: string): boolean {
  return PASSING.includes(word)
}

/** An error that Redis returned, and would return again. */
export function refusalOf(where: string, error: unknown): unknown {
  const word = wordOf(error)
  if (word === undefined) return error
  const { message } = error as Error
  if (word === 'OOM') {
    const what =
      `Redis at ${where} has no memory left for writes (maxmemory). Nothing was written. ` +
      'Give it more memory, or delete data.'
    return new FreshetError('STORE_FULL', what, { cause: error })
  }
  if (word === 'MISCONF') {
    const what =
      `Redis at ${where} cannot write to its disk: ${message}. Nothing was written. ` +
      'See the log of Redis, and free some space on the disk.'
    return new FreshetError('STORE_FULL', what, { cause: error })
  }
  if (FORBIDDEN.includes(word)) return unusable(where, `it refuses access: ${message}`, error)
  return damaged(where, message, error)
}

export function damaged(where: string, why: string, cause?: unknown): FreshetError {
  const what = `Redis at ${where} does not hold the data that it should: ${why}. Find out which other program writes to it.`
  return new FreshetError('STORE_DAMAGED', what, { cause })
}

export function unusable(where: string, why: string, cause?: unknown): FreshetError {
  return new FreshetError('STORE_UNUSABLE', `Redis at ${where} cannot be used as a store: ${why}.`, { cause })
}

/** Whether a request that failed may have been done. */
export type Outcome = 'not-done' | 'unknown'

export function unavailable(where: string, outcome: Outcome, cause?: unknown): FreshetError {
  const what = outcome === 'unknown' ? 'A write was sent, and may or may not have been done.' : 'Nothing was done.'
  const reason = cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : ''
  const advice = 'Check that it runs; the server reconnects as soon as it answers.'
  const message = `Redis at ${where} cannot be reached${reason}. ${what} ${advice}`
  return new FreshetError('STORE_UNAVAILABLE', message, { cause, details: { outcome } })
}
