/** What can go wrong with tables that are buckets, or cannot be, in the terms of the store. */
import { FreshetError } from '@freshet/protocol'
import { CommitRefused, storeUnavailable } from '@freshet/store/engine'
import { type ExposedTable, fullName } from './exposed-table.js'

export function unsuitable(table: string, why: string, cause?: unknown): FreshetError {
  return new FreshetError('CONFIG_INVALID', `The table ${table} cannot be a bucket: ${why}.`, { cause })
}

/** This object cannot be a row. */
export function cannotBeRow(table: ExposedTable, id: string, why: string): CommitRefused {
  const text = `${table.bucket}/${id} cannot be a row of ${fullName(table)}: ${why}`
  return new CommitRefused(rowRefused(table, text))
}

/** The database has refused a row. `details`: which constraint or column. */
export function notTaken(table: ExposedTable, message: unknown, cause: unknown, details: object): CommitRefused {
  const text = `The table ${fullName(table)}, which is the bucket ${table.bucket}, refused this: ${message}`
  return new CommitRefused(rowRefused(table, text, cause, details))
}

export function rowIsLocked(table: ExposedTable): CommitRefused {
  const why = 'another program has locked a row in a transaction that does not end'
  return new CommitRefused(storeUnavailable(fullName(table), why, 'not-done'))
}

/** For the process that makes a table a bucket. */
export function tableIsLocked(cause: unknown): FreshetError {
  return new FreshetError(
    'STORE_UNAVAILABLE',
    'The table is in use by a transaction that does not end. Nothing was changed; try again.',
    { cause },
  )
}

function rowRefused(table: ExposedTable, text: string, cause?: unknown, details = {}): FreshetError {
  return new FreshetError('ROW_REFUSED', `${text}. Nothing was written.`, {
    ...(cause !== undefined && { cause }),
    details: { bucket: table.bucket, ...details },
  })
}
