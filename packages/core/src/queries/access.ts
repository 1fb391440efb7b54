/**
 * How a query is answered: through which index, how far that narrows it down, and whether entries come in the requested order.
 *
 * An index serves the equality that the filter demands of its first fields; then, for the field after them, a range, or the
 * sort's order, or both. If the index order has more fields than the sort, or fewer, runs of entries that are equal by the
 * index are sorted one by one, and a page still ends when it is full.
 */
import {
  type Condition,
  ID_FIELD,
  type IndexDeclaration,
  type Query,
  type QueryPlan,
  type Sort,
  type TagValue,
} from '@freshet/protocol'
import type { IndexState, StoreQuery } from '../store/store.js'
import { type Candidate, fieldOf } from './candidate.js'
import { type Conditions, conditionsOf, valuesDemanded } from './conditions.js'
import { matchesCondition } from './matches.js'
import { type Order, orderOf } from './order.js'

/** The most places at which one query may enter an index. */
const PLACES_MAX = 100
const RANGE_OPERATORS = ['$lt', '$lte', '$gt', '$gte', '$prefix'] as const

export interface Access {
  /** Undefined: the bucket itself, by id. */
  readonly index?: IndexState
  /** The values that the filter demands of each of the index's first fields. */
  readonly equal: readonly (readonly TagValue[])[]
  /** The field after those, or the id, and the conditions on it. */
  readonly range?: { readonly field: string; readonly conditions: readonly Condition[] }
  readonly isSorted: boolean
  readonly isDescending: boolean
  /** How many of the index's fields are in the sort's order; undefined: all of them, and the ids as well. */
  readonly sortedFields?: number
}

export function chooseAccess(query: StoreQuery, indexes: readonly IndexState[]): Access {
  const conditions = conditionsOf(query.where)
  const order = orderOf(query)
  let best = accessById(conditions, order)
  let bestScore = query.through?.length ? -1 : scoreOf(best)
  for (const index of throughOf(query, indexes)) {
    if (!index.isReady) continue
    const access = accessThrough(index, conditions, order)
    const score = scoreOf(access)
    const isShorter = best.index !== undefined && index.fields.length < best.index.fields.length
    if (score < bestScore || (score === bestScore && !isShorter)) continue
    best = access
    bestScore = score
  }
  return best
}

/** The indexes that a query may use. */
export function throughOf<Index extends IndexDeclaration>(
  { through }: StoreQuery,
  indexes: readonly Index[],
): readonly Index[] {
  return through === undefined ? indexes : indexes.filter(({ name }) => through.includes(name))
}

function scoreOf({ index, equal, range, isSorted }: Access): number {
  if (index === undefined) return range === undefined ? 0 : 3
  return 4 * equal.length + (range === undefined ? 0 : 2) + (isSorted ? 1 : 0)
}

function accessById(conditions: Conditions, order: Order): Access {
  const ofId = conditions.get(ID_FIELD)
  return {
    equal: [],
    ...(ofId !== undefined && { range: { field: ID_FIELD, conditions: ofId } }),
    isSorted: varyingFields(conditions, order).length === 0,
    isDescending: order.isIdDescending,
  }
}

function accessThrough(index: IndexState, conditions: Conditions, order: Order): Access {
  const equal = demandedPrefix(index, conditions)
  // Entries that are equal by the index come in the order of their ids.
  const field = index.fields[equal.length] ?? ID_FIELD
  const bounds = (conditions.get(field) ?? []).filter(condition => field === ID_FIELD || isRange(condition))
  return {
    index,
    equal,
    ...(bounds.length > 0 && { range: { field, conditions: bounds } }),
    ...sortedness(index, equal, varyingFields(conditions, order), order),
  }
}

function demandedPrefix(index: IndexState, conditions: Conditions): readonly (readonly TagValue[])[] {
  const equal: (readonly TagValue[])[] = []
  let places = 1
  for (const field of index.fields) {
    const demanded = valuesDemanded(conditions.get(field))
    places *= demanded?.length ?? 0
    if (demanded === undefined || places > PLACES_MAX) break
    equal.push(demanded)
  }
  return equal
}

function isRange(condition: Condition): boolean {
  return RANGE_OPERATORS.some(operator => operator in condition)
}

/** The sort's fields, without those that can have only one value. */
function varyingFields(conditions: Conditions, { fields }: Order): readonly Sort[] {
  return fields.filter(({ field }) => valuesDemanded(conditions.get(field))?.length !== 1)
}

function sortedness(
  index: IndexState,
  equal: readonly (readonly TagValue[])[],
  sort: readonly Sort[],
  order: Order,
): Pick<Access, 'isSorted' | 'isDescending' | 'sortedFields'> {
  const rest = index.fields.slice(equal.length)
  const isDescending = (sort[0] ?? { descending: order.isIdDescending }).descending ?? false
  const isOnePlace = equal.every(values => values.length === 1)
  let inOrder = 0
  while (inOrder < sort.length && isNext(sort[inOrder]!, rest[inOrder], isDescending)) inOrder++
  const isComplete = inOrder === sort.length && inOrder === rest.length && order.isIdDescending === isDescending
  if (!isOnePlace || (inOrder === 0 && !isComplete)) return { isSorted: false, isDescending: false }
  return { isSorted: true, isDescending, ...(!isComplete && { sortedFields: equal.length + inOrder }) }
}

function isNext({ field, descending = false }: Sort, next: string | undefined, isDescending: boolean): boolean {
  return field === next && descending === isDescending
}

/** Whether this access reaches the entry. */
export function isReached({ index, equal, range }: Access, candidate: Candidate): boolean {
  const isEqual = equal.every((values, i) => values.includes(fieldOf(candidate, index!.fields[i]!) as TagValue))
  if (!isEqual || range === undefined) return isEqual
  return range.conditions.every(condition => matchesCondition(condition, fieldOf(candidate, range.field)))
}

/** How a query would be answered with these indexes. Only those that are ready are used. */
export function planQuery(query: Query, indexes: readonly IndexState[]): QueryPlan {
  return describeAccess(chooseAccess(query, indexes))
}

export function describeAccess({ index, equal, range, isSorted }: Access): QueryPlan {
  const fields = (index?.fields ?? []).slice(0, equal.length)
  const place = index ? `Reads the index ${index.name}` : 'Reads the bucket by id'
  const narrowed = [
    ...(fields.length > 0 ? [`where ${fields.join(' and ')} ${fields.length === 1 ? 'is' : 'are'} equal`] : []),
    ...(range ? [`over a range of ${range.field}`] : []),
  ]
  const order = isSorted ? 'in the requested order, until the page is full' : 'then sorts all that it finds'
  return {
    ...(index && { index: index.name }),
    equal: fields,
    ...(range && { range: range.field }),
    isSorted,
    text: `${[place, ...narrowed].join(' ')}, ${order}.`,
  }
}

/** The fields of the index that would help most: those with equality first, then those of a range or the sort. */
export function fieldsToIndex(query: Query, fieldsMax: number): IndexDeclaration['fields'] {
  const conditions = conditionsOf(query.where)
  const names = [...conditions.keys()].filter(field => field !== ID_FIELD)
  const equal = names.filter(field => valuesDemanded(conditions.get(field)) !== undefined)
  const range = names.filter(field => !equal.includes(field) && conditions.get(field)!.some(isRange))
  const sort = varyingFields(conditions, orderOf(query)).map(({ field }) => field)
  // A range serves the sort as well if it is on the sort's first field; otherwise the sort's fields would not help.
  const last = range.length > 0 && !range.includes(sort[0] ?? '') ? range.slice(0, 1) : sort
  return [...new Set([...equal, ...last])].slice(0, fieldsMax)
}
