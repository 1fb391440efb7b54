/** What a query should find, in the plainest form: with its own notion of values, of their order, and of filters. */

import type { Query } from '../store.js'
import { compareCodePoints } from './code-point-order.js'

/** A value as it is compared: a missing one is undefined, an array or object is {}. */
export type ModelValue = null | boolean | number | string | undefined | object

export interface ModelObject {
  readonly id: string
  readonly version: number
  readonly fields: Readonly<Record<string, ModelValue>>
}

export interface ModelPage {
  readonly found: readonly ModelObject[]
  readonly isLast: boolean
}

/** The page of these objects that follows an object, as that object was when it was shown. */
export function pageOf(objects: readonly ModelObject[], query: Query, after?: ModelObject): ModelPage {
  const { where = {}, limit = 100 } = query
  const found = objects
    .filter(object => isMatch(where, object))
    .filter(object => after === undefined || compare(query, object, after) > 0)
    .sort((a, b) => compare(query, a, b))
  return { found: found.slice(0, limit), isLast: found.length <= limit }
}

function valueIn(object: ModelObject, field: string): ModelValue {
  return field === '$id' ? object.id : object.fields[field]
}

function isMatch(filter: object, object: ModelObject): boolean {
  return Object.entries(filter).every(([name, member]) => {
    if (name === '$and') return (member as object[]).every(clause => isMatch(clause, object))
    if (name === '$or') return (member as object[]).some(clause => isMatch(clause, object))
    const value = valueIn(object, name)
    const condition = typeof member === 'object' && member !== null ? member : { $eq: member }
    return Object.entries(condition).every(([operator, operand]) => holds(operator, value, operand))
  })
}

function holds(operator: string, value: ModelValue, operand: unknown): boolean {
  const isSameType = rank(value) === rank(operand) || (typeof value === 'boolean' && typeof operand === 'boolean')
  const difference = isSameType ? order(value, operand as ModelValue) : Number.NaN
  switch (operator) {
    case '$eq':
      return difference === 0
    case '$ne':
      return difference !== 0
    case '$lt':
      return difference < 0
    case '$lte':
      return difference <= 0
    case '$gt':
      return difference > 0
    case '$gte':
      return difference >= 0
    case '$in':
      return (operand as unknown[]).some(one => holds('$eq', value, one))
    case '$prefix':
      return typeof value === 'string' && value.indexOf(operand as string) === 0
    default:
      return (value !== undefined) === operand
  }
}

function compare({ sort = [] }: Query, a: ModelObject, b: ModelObject): number {
  for (const { field, descending } of sort) {
    const difference = order(valueIn(a, field), valueIn(b, field))
    if (difference !== 0) return descending ? -difference : difference
  }
  return sort.at(-1)?.descending ? order(b.id, a.id) : order(a.id, b.id)
}

function order(a: ModelValue, b: ModelValue): number {
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (typeof a === 'number') return a - (b as number)
  return typeof a === 'string' ? compareCodePoints(a, b as string) : 0
}

const TYPES: readonly ((value: unknown) => boolean)[] = [
  value => value === undefined,
  value => value === null,
  value => value === false,
  value => value === true,
  value => typeof value === 'number',
  value => typeof value === 'string',
]

function rank(value: unknown): number {
  const found = TYPES.findIndex(is => is(value))
  return found === -1 ? TYPES.length : found
}
