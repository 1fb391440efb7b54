/**
 * Reads a query from the parameters of a URL, and refuses those that are invalid or would cost too much: QUERY_INVALID names
 * the place and what to write instead.
 */
import { inexactNumber } from '../exact-number.js'
import { FreshetError } from '../freshet-error.js'
import { canonicalQuery } from './canonical-query.js'
import { parseCursor } from './cursor.js'
import { isWellFormed, objectionToField } from './field-path.js'
import { type Filter, ID_FIELD, QUERY_LIMIT_MAX, type Query, type Sort } from './query.js'

/** The most that a query may have of each. */
const MAX = { whereLength: 8192, depth: 6, clauses: 100, inValues: 100, sortFields: 4, fields: 64 }

/** Implemented by Map and by URLSearchParams. */
export interface QueryParameters {
  get(name: string): string | null | undefined
}

/** The query in its canonical form. Ignores other parameters. Throws QUERY_INVALID. */
export function parseQuery(parameters: QueryParameters): Query {
  const text = (name: string) => parameters.get(name) ?? undefined
  const where = text('where')
  const sort = text('sort')
  const limit = text('limit')
  const after = text('after')
  const fields = text('fields')
  const query = {
    ...(where !== undefined && { where: parseWhere(where) }),
    ...(sort !== undefined && { sort: parseSort(sort) }),
    ...(limit !== undefined && { limit: /^[0-9]{1,9}$/.test(limit) ? Number(limit) : Number.NaN }),
    ...(after !== undefined && { after }),
    ...(fields !== undefined && { fields: fields.split(',') }),
  }
  checkQuery(query, { depth: 1, clauses: 0 })
  return canonicalQuery(query)
}

/** Room for the conditions that a server adds to the filter of a caller that may see only some objects. */
const WITH_ROOM: Readonly<Effort> = { depth: -1, clauses: -20 }

/** Throws QUERY_INVALID unless the query is valid; for queries that were not parsed here. */
export function checkQuery(
  { where, sort = [], limit, after, fields = [] }: Query,
  begun: Readonly<Effort> = WITH_ROOM,
): void {
  if (where !== undefined) checkFilter(where, 'where', { ...begun })
  if (sort.length > MAX.sortFields) throw invalid('sort', `a sort has at most ${MAX.sortFields} fields`)
  for (const { field } of sort) checkField(field, 'sort')
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1 && limit <= QUERY_LIMIT_MAX)) {
    throw invalid('limit', `it must be a whole number from 1 to ${QUERY_LIMIT_MAX}`)
  }
  if (after !== undefined) parseCursor(after, sortLength(sort))
  if (fields.length > MAX.fields) throw invalid('fields', `at most ${MAX.fields} fields can be selected`)
  for (const field of fields) checkField(field, 'fields')
}

/** How many values a cursor of this sort has: those before the id. */
function sortLength(sort: readonly Sort[]): number {
  const id = sort.findIndex(({ field }) => field === ID_FIELD)
  return new Set(sort.slice(0, id === -1 ? undefined : id).map(({ field }) => field)).size
}

function parseWhere(text: string): Filter {
  if (text.length > MAX.whereLength) throw invalid('where', `it may have at most ${MAX.whereLength} characters`)
  const number = inexactNumber(text)
  if (number !== undefined) throw invalid('where', `${number.slice(0, 40)} would be rounded, and match other objects`)
  try {
    return JSON.parse(text) as Filter
  } catch (cause) {
    throw invalid('where', 'it must be JSON, such as {"category":"books","price":{"$lt":10}}', cause)
  }
}

function parseSort(text: string): readonly Sort[] {
  return text
    .split(',')
    .map(part => (part.startsWith('-') ? { field: part.slice(1), descending: true } : { field: part }))
}

interface Effort {
  readonly depth: number
  clauses: number
}

function checkFilter(filter: unknown, place: string, effort: Effort): void {
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    throw invalid(place, 'a filter must be an object, such as {"category":"books"}')
  }
  for (const [name, member] of Object.entries(filter)) {
    if (++effort.clauses > MAX.clauses) throw invalid(place, `a filter may have at most ${MAX.clauses} conditions`)
    const inner = `${place}.${name}`
    if (name === '$or' || name === '$and') checkClauses(member, inner, effort)
    else checkMember(name, member, inner)
  }
}

function checkClauses(clauses: unknown, place: string, effort: Effort): void {
  if (!Array.isArray(clauses) || clauses.length === 0) throw invalid(place, 'it needs a list of one or more filters')
  if (effort.depth === MAX.depth) throw invalid(place, `filters may be nested at most ${MAX.depth} deep`)
  const inner = { depth: effort.depth + 1, clauses: effort.clauses }
  for (const [i, clause] of clauses.entries()) checkFilter(clause, `${place}[${i}]`, inner)
  effort.clauses = inner.clauses
}

function checkMember(field: string, member: unknown, place: string): void {
  checkField(field, place)
  if (Array.isArray(member)) throw invalid(place, 'a field cannot be compared with a list; use {"$in":[...]}')
  if (typeof member !== 'object' || member === null) {
    checkScalar(member, place)
    return
  }
  const operators = Object.entries(member)
  if (operators.length === 0)
    throw invalid(place, 'a condition must not be empty; write {"$exists":true} to find objects that have the field')
  for (const [name, operand] of operators) checkOperator(name, operand, `${place}.${name}`)
}

function checkOperator(name: string, operand: unknown, place: string): void {
  if (SCALAR_OPERATORS.has(name)) {
    checkScalar(operand, place)
  } else if (name === '$in') {
    checkIn(operand, place)
  } else if (name === '$prefix') {
    if (typeof operand !== 'string') throw invalid(place, 'it needs a string')
    checkScalar(operand, place)
  } else if (name !== '$exists') {
    throw invalid(place, `there is no such operator; the operators are ${OPERATORS.join(', ')}`)
  } else if (typeof operand !== 'boolean') {
    throw invalid(place, 'it needs true or false')
  }
}

const SCALAR_OPERATORS: ReadonlySet<string> = new Set(['$eq', '$ne', '$lt', '$lte', '$gt', '$gte'])
const OPERATORS = [...SCALAR_OPERATORS, '$in', '$prefix', '$exists']

function checkIn(operand: unknown, place: string): void {
  if (!Array.isArray(operand) || operand.length === 0) throw invalid(place, 'it needs a list of one or more values')
  if (operand.length > MAX.inValues) throw invalid(place, `it may have at most ${MAX.inValues} values`)
  for (const [i, value] of operand.entries()) checkScalar(value, `${place}[${i}]`)
}

function checkScalar(value: unknown, place: string): void {
  if (value === null || typeof value === 'boolean') return
  if (typeof value === 'number' && Number.isFinite(value)) return
  if (typeof value === 'string' && isWellFormed(value)) return
  throw invalid(place, 'a value must be null, true, false, a finite number or a well-formed string')
}

function checkField(field: unknown, place: string): void {
  if (field === ID_FIELD) return
  const objection = objectionToField(field)
  if (objection !== undefined) throw invalid(place, objection)
}

function invalid(place: string, remedy: string, cause?: unknown): FreshetError {
  const bounded = place.length > 100 ? `${place.slice(0, 100)}…` : place
  const options = { details: { place: bounded }, ...(cause !== undefined && { cause }) }
  return new FreshetError('QUERY_INVALID', `The query is invalid at ${JSON.stringify(bounded)}: ${remedy}.`, options)
}
