/** What Redis and its driver say, in the words of the store. */

import { FreshetError } from '@freshet/protocol'
import { ErrorReply } from '@redis/client'

/** Redis would not just now, has done nothing, and may again soon, here or at another address. */
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

/** The first word of an answer that is an error; undefined if it is none: then the connection was lost. */
export function wordOf(error: unknown): string | undefined {
  if (!(error instanceof ErrorReply)) return undefined
  // A script that reads has met a slot of which a part has already moved.
  if (error.message.includes('non local key')) return 'TRYAGAIN'
  return /^-?([A-Z]+)/.exec(error.message)?.[1] ?? 'ERR'
}

export function isPassing(word: string): boolean {
  return PASSING.includes(word)
}

/** Something that Redis has refused, for a reason that does not pass by itself. */
export function refusalOf(where: string, error: unknown): unknown {
  const word = wordOf(error)
  if (word === undefined) return error
  const { message } = error as Error
  if (word === 'OOM') {
    const what = `Redis at ${where} has no memory left for writes (maxmemory). Nothing was written; give it more, or delete something.`
    return new FreshetError('STORE_FULL', what, { cause: error })
  }
  if (word === 'MISCONF') {
    const what = `Redis at ${where} cannot write to its disk: ${message}. Nothing was written; see its log, and free some space.`
    return new FreshetError('STORE_FULL', what, { cause: error })
  }
  if (FORBIDDEN.includes(word)) return unusable(where, `it does not let us in: ${message}`, error)
  const what = `Redis at ${where} does not hold what it should: ${message}. See who else writes to it.`
  return new FreshetError('STORE_DAMAGED', what, { cause: error })
}

export function unusable(where: string, why: string, cause?: unknown): FreshetError {
  return new FreshetError('STORE_UNUSABLE', `Redis at ${where} cannot be used as a store: ${why}.`, { cause })
}

/** Whether what was asked for may have been done all the same. */
export type Outcome = 'not-done' | 'unknown'

export function unavailable(where: string, outcome: Outcome, cause?: unknown): FreshetError {
  const what = outcome === 'unknown' ? 'A write was on its way: nobody knows whether it was done.' : 'Nothing was done.'
  const reason = cause instanceof Error && cause.message !== '' ? ` (${cause.message})` : ''
  const message = `Redis at ${where} cannot be reached${reason}. ${what} See that it runs; we go on as soon as it answers.`
  return new FreshetError('STORE_UNAVAILABLE', message, { cause, details: { outcome } })
}

export function closed(where: string): FreshetError {
  return new FreshetError('STORE_CLOSED', `The store in Redis at ${where} was closed. Open it again.`)
}
