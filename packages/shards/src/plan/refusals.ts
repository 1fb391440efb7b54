/** Why a query is not answered. */
import { FreshetError } from '@freshet/protocol'

/** It cannot be understood. */
export function sqlInvalid(reason: string, details: Readonly<Record<string, unknown>> = {}): FreshetError {
  return new FreshetError('SQL_INVALID', `This query cannot be answered: ${reason}.`, { details })
}

/** It can be understood, and could not be answered correctly from parts. */
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
