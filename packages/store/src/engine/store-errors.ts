/** What can go wrong with a database, in the terms of the store. */
import type { Position } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'

/** `outcome`, for a commit: whether it may have been made nevertheless. */
export function storeUnavailable(place: string, cause: unknown, outcome: 'not-done' | 'unknown'): FreshetError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const made = outcome === 'unknown' ? ' A commit that was under way may or may not have been made.' : ''
  return new FreshetError('STORE_UNAVAILABLE', `The database at ${place} does not answer: ${reason}.${made}`, {
    cause,
    details: { outcome },
  })
}

export function storeUnusable(place: string, why: string, cause?: unknown): FreshetError {
  return new FreshetError('STORE_UNUSABLE', `The database at ${place} cannot be used: ${why}.`, { cause })
}

export function storeFull(place: string, cause: unknown): FreshetError {
  return new FreshetError(
    'STORE_FULL',
    `There is no space left for the database at ${place}. Nothing was written; free some space and try again.`,
    { cause },
  )
}

export function storeDamaged(what: string): FreshetError {
  return new FreshetError(
    'STORE_DAMAGED',
    `The tables of the store cannot be trusted: ${what}. Another program may have written to them; restore a backup if it persists.`,
  )
}

export function storeClosed(place: string): FreshetError {
  return new FreshetError('STORE_CLOSED', `The store at ${place} was closed. Open it again.`)
}

export function logTrimmed(after: Position, trimmedTo: Position): FreshetError {
  return new FreshetError(
    'LOG_TRIMMED',
    `The log begins after position ${trimmedTo}; the entries after ${after} are no longer complete. Start over.`,
  )
}
