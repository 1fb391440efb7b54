/** The error for a query that would have to look at too much: it names the index that would help, or another remedy. */
import { FreshetError, INDEX_FIELDS_MAX, type IndexDeclaration, type Key, type Query } from '@freshet/protocol'
import type { IndexState } from '../store/store.js'
import { fieldsToIndex } from './access.js'

export const SCAN_MAX_DEFAULT = 10_000

export interface TooBroad {
  readonly bucket: Key
  readonly query: Query
  readonly indexes: readonly IndexState[]
  readonly scanMax: number
}

export function queryTooBroad({ bucket, query, indexes, scanMax }: TooBroad): FreshetError {
  const fields = fieldsToIndex(query, INDEX_FIELDS_MAX)
  const existing = indexes.find(index => fields.every((field, i) => index.fields[i] === field))
  const index = fields.length > 0 && !existing ? { name: indexNameOf(fields), fields } : undefined
  return new FreshetError(
    'QUERY_TOO_BROAD',
    `The query would have to look at more than ${scanMax} entries of ${bucket}. ${remedy(index, fields, existing)}`,
    { details: { scanMax, ...(index && { index }) } },
  )
}

function remedy(
  index: IndexDeclaration | undefined,
  fields: readonly string[],
  existing: IndexState | undefined,
): string {
  if (index) return `Declare the index ${JSON.stringify(index)} with the bucket's settings.`
  if (fields.length === 0)
    return 'Filter by equality or a range of a field at the top level of the filter, and index that field.'
  if (existing?.isReady)
    return 'Filter by equality of more fields, narrow the range, or sort by the fields of an index.'
  return `The index ${existing?.name} will help when it is ready; ${existing?.done} of ${existing?.total} objects are in it.`
}

/** A name for an index of these fields. */
export function indexNameOf(fields: readonly string[]): string {
  const name = `by-${fields.join('-')}`.toLowerCase().replace(/[^a-z0-9_-]+/g, '-')
  return name.slice(0, 63)
}
