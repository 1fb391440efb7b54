/**
 * The one spelling of a query, so that caches keep one copy of its result: parts without effect are left out, unordered parts
 * are sorted, and the URL's parameters come by name. It refuses nothing: the server does that (`parse-query.ts`).
 */
import type { Condition, Filter, Query, Scalar, Sort } from './query.js'
import { ID_FIELD, QUERY_LIMIT_DEFAULT } from './query.js'

/** `fields=name,price&limit=20&sort=price,-name&where=%7B...%7D`; with more parameters, such as `at`, in their places. */
export function formatQuery(query: Query, more: Readonly<Record<string, string>> = {}): string {
  const { where, sort, limit, after, fields } = canonicalQuery(query)
  const parameters: Record<string, string | undefined> = {
    ...more,
    after,
    fields: fields?.join(','),
    limit: limit?.toString(),
    sort: sort?.map(({ field, descending }) => (descending ? `-${field}` : field)).join(','),
    // One of these must be present: without them it would be a list.
    where: where || !(sort || fields) ? JSON.stringify(where ?? {}) : undefined,
  }
  return Object.keys(parameters)
    .sort()
    .flatMap(name => (parameters[name] === undefined ? [] : [`${name}=${encodeValue(parameters[name])}`]))
    .join('&')
}

/** As encodeURIComponent does, and the apostrophe as well: URL parsers encode it in a query. */
function encodeValue(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27')
}

export function canonicalQuery({ where, sort, limit, after, fields }: Query): Query {
  const filter = where && canonicalFilter(where)
  const order = sort && canonicalSort(sort)
  return {
    ...(filter && Object.keys(filter).length > 0 && { where: filter }),
    ...(order && order.length > 0 && { sort: order }),
    ...(limit !== undefined && limit !== QUERY_LIMIT_DEFAULT && { limit }),
    ...(after !== undefined && { after }),
    ...(fields && fields.length > 0 && { fields: [...new Set(fields)].sort() }),
  }
}

/** Fields after the id, or repeated ones, have no effect. A sort by id alone, ascending, is the default. */
function canonicalSort(sort: readonly Sort[]): readonly Sort[] {
  const found = new Map<string, Sort>()
  for (const { field, descending = false } of sort) {
    if (!found.has(field)) found.set(field, descending ? { field, descending } : { field })
    if (field === ID_FIELD) break
  }
  const [first] = found.keys()
  return first === ID_FIELD && !found.get(first)?.descending ? [] : [...found.values()]
}

function canonicalFilter(filter: Filter): Filter {
  const members = Object.keys(filter).sort()
  return Object.fromEntries(members.map(name => [name, canonicalMember(filter[name]!)]))
}

function canonicalMember(member: Filter[string]): Filter[string] {
  if (Array.isArray(member)) return unique((member as readonly Filter[]).map(canonicalFilter))
  if (typeof member !== 'object' || member === null) return member as Scalar
  return canonicalCondition(member as Condition)
}

function canonicalCondition(condition: Condition): Scalar | Condition {
  const { $in: among, ...rest } = condition
  const values = Array.isArray(among) ? unique(among as readonly Scalar[]) : undefined
  const only = values?.length === 1 && !('$eq' in rest) ? { $eq: values[0] } : values && { $in: values }
  const members: Readonly<Record<string, unknown>> = { ...rest, ...only }
  const names = Object.keys(members).sort()
  if (names.length === 1 && names[0] === '$eq') return members.$eq as Scalar
  return Object.fromEntries(names.map(name => [name, members[name]])) as Condition
}

/** Sorted by their spelling, each once. */
function unique<Item>(items: readonly Item[]): Item[] {
  const spelled = new Map(items.map(item => [JSON.stringify(item), item]))
  return [...spelled.keys()].sort().map(text => spelled.get(text)!)
}
