/** Answers a query in the plainest way, from all entries of a bucket: every other way must agree with it. */
import { QUERY_LIMIT_DEFAULT, type Query } from '@freshet/protocol'
import type { StoredEntry } from '../store/store.js'
import { type Access, isReached } from './access.js'
import { type Candidate, parseFields } from './candidate.js'
import { matches } from './matches.js'
import { comparePlaces, cursorAt, orderOf, placeOf, startOf } from './order.js'

export interface Found {
  readonly entries: readonly StoredEntry[]
  readonly next?: string
  readonly examined: number
}

/** Answers from the entries that this access reaches; with how many entries a store that has the index would look at. */
export function answerQuery(entries: readonly StoredEntry[], query: Query, access: Access): Found {
  const order = orderOf(query)
  const start = startOf(query, order)
  const { limit = QUERY_LIMIT_DEFAULT } = query
  const reached = entries
    .map(entry => ({ entry, candidate: candidateOf(entry) }))
    .filter(({ candidate }) => isReached(access, candidate))
    .map(one => ({ ...one, place: placeOf(order, one.candidate) }))
    .filter(({ place }) => !access.isSorted || start === undefined || comparePlaces(order, place, start) > 0)
    .sort((a, b) => comparePlaces(order, a.place, b.place))
  const found: typeof reached = []
  let examined = 0
  for (const one of reached) {
    if (access.isSorted && found.length > limit) break
    examined++
    const isAfter = start === undefined || comparePlaces(order, one.place, start) > 0
    if (isAfter && matches(query.where, one.candidate)) found.push(one)
  }
  const page = found.slice(0, limit)
  return {
    entries: page.map(({ entry }) => entry),
    ...(found.length > limit && { next: cursorAt(order, page.at(-1)!.candidate) }),
    examined,
  }
}

export function candidateOf({ id, contentType, body }: StoredEntry): Candidate {
  return { id, value: parseFields(contentType, body) }
}
