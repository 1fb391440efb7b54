/** The order of values and of entries (see `Query` in @freshet/protocol). */
import {
  canonicalQuery,
  compareUtf8,
  formatCursor,
  ID_FIELD,
  type Place,
  parseCursor,
  type Query,
  type Sort,
  type SortValue,
} from '@freshet/protocol'
import { type Candidate, fieldOf } from './candidate.js'

/** The fields of a sort that come before the id, each once, and the direction of the id that ends the sort. */
export interface Order {
  readonly fields: readonly Sort[]
  readonly isIdDescending: boolean
}

export function orderOf(query: Query): Order {
  const sort = canonicalQuery(query).sort ?? []
  const fields = sort.filter(({ field }) => field !== ID_FIELD)
  return { fields, isIdDescending: sort.at(-1)?.descending ?? false }
}

/** Below 0 if `a` comes before `b`, above if after, 0 if they are equal. */
export function compareValues(a: SortValue, b: SortValue): number {
  const difference = rankOf(a) - rankOf(b)
  if (difference !== 0) return difference
  if (typeof a === 'number') return a - (b as number)
  return typeof a === 'string' ? compareUtf8(a, b as string) : 0
}

function rankOf(value: SortValue): number {
  if (value === undefined) return 0
  if (value === null) return 1
  if (typeof value === 'boolean') return value ? 3 : 2
  if (typeof value === 'number') return 4
  return typeof value === 'string' ? 5 : 6
}

export function placeOf({ fields }: Order, candidate: Candidate): Place {
  return { values: fields.map(({ field }) => fieldOf(candidate, field)), id: candidate.id }
}

export function comparePlaces({ fields, isIdDescending }: Order, a: Place, b: Place): number {
  for (let i = 0; i < fields.length; i++) {
    const difference = compareValues(a.values[i], b.values[i])
    if (difference !== 0) return fields[i]!.descending ? -difference : difference
  }
  return isIdDescending ? compareUtf8(b.id, a.id) : compareUtf8(a.id, b.id)
}

/** The order that a query asks for. It is total. */
export function compareBy(query: Query): (a: Candidate, b: Candidate) => number {
  const order = orderOf(query)
  return (a, b) => comparePlaces(order, placeOf(order, a), placeOf(order, b))
}

/** The place after which a query continues; undefined for its first page. Throws QUERY_INVALID. */
export function startOf(query: Query, order: Order): Place | undefined {
  return query.after === undefined ? undefined : parseCursor(query.after, order.fields.length)
}

/** The cursor just after an entry. */
export function cursorAt(order: Order, candidate: Candidate): string {
  return formatCursor(placeOf(order, candidate))
}
