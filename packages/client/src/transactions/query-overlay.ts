/**
 * The result of a query as a transaction sees it: what the server found, with what the transaction itself has written in it
 * and what it has deleted out of it, in the order asked for.
 */
import { compareBy, matches } from '@freshet/core/queries'
import type { Query } from '@freshet/protocol'
import type { Listed } from './transaction-bucket.js'

/** What a transaction has written; undefined: deleted. */
export interface OwnWrite {
  readonly id: string
  readonly value: object | undefined
}

export function overlay<T extends object>(
  query: Query,
  found: readonly Listed<T>[],
  own: readonly OwnWrite[],
): readonly Listed<T>[] {
  if (own.length === 0) return found
  const ids = new Set(own.map(({ id }) => id))
  const written = own.filter((write): write is Listed<T> => write.value !== undefined && matches(query.where, write))
  return [...found.filter(({ id }) => !ids.has(id)), ...written].sort(compareBy(query))
}
