/** Why a query or a global write is refused. */
import { FreshetError } from '@freshet/protocol'

/** The query cannot be understood. */
export function sqlInvalid(reason: string, details: Readonly<Record<string, unknown>> = {}): FreshetError {
  return new FreshetError('SQL_INVALID', `This query cannot be answered: ${reason}.`, { details })
}

/** The query can be understood, but could not be answered correctly from parts. */
export function sqlRefused(reason: string): FreshetError {
  return new FreshetError('SQL_REFUSED', `This query cannot be split over the shards: ${reason}.`, {
    details: { reason },
  })
}

export function globalRefused(reason: string): FreshetError {
  return new FreshetError('GLOBAL_REFUSED', `This cannot be written to every shard: ${reason}.`, {
    details: { reason },
  })
}
