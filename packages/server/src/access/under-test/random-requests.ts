/** For tests: random requests about one bucket, most of which can be answered, and some of which must be refused. */
import type { Random } from '@freshet/core/store/conformance'
import { type Filter, formatQuery, type Query, type Scalar } from '@freshet/protocol'

export interface AskedRequest {
  readonly method: string
  /**
   * Where the next request continues, if the answer before had a `next`: the same for every store, with that store's own
   * cursor.
   */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface RequestSource {
  readonly random: Random
  readonly bucket: string
  /** Ids of rows that existed at some time in any of the stores, and some that never existed. */
  readonly ids: readonly string[]
  /** From the first commit of the rows to the last. */
  readonly positions: { readonly first: number; readonly last: number }
}

export const FIELDS: readonly string[] = ['owner', 'team', 'level', 'open', 'note']
export const VALUES: readonly unknown[] = ['ann', 'bob', 'a', 'b', 'c', 0, 1, 2, 3, true, false, null]
const COMPARISONS = ['$eq', '$ne', '$lt', '$lte', '$gt', '$gte']

export function createRequest(source: RequestSource): AskedRequest {
  const { random, bucket, ids } = source
  const path = `/db/${bucket}`
  const object = `${path}/${random.pick(ids)}`
  switch (random.below(12)) {
    case 0:
    case 1:
      return { method: 'GET', path: `${path}${spelled(listParameters(source))}` }
    case 2:
    case 3:
    case 4:
      return { method: 'GET', path: `${path}?${formatQuery(queryOf(source))}`, ...condition(source) }
    case 5:
      return {
        method: 'GET',
        path: `${path}${spelled({ ids: [random.pick(ids), random.pick(ids)].join(','), embed: '' })}`,
      }
    case 6:
      return { method: random.pick(['GET', 'HEAD']), path: object, ...condition(source) }
    case 7:
      return {
        method: 'GET',
        path: `${path}${random.pick(['?settings', '?schemas', '?sum', '?top=3', '?explain&where={}'])}`,
      }
    case 8:
      return { method: 'GET', path: `${path}${spelled({ at: `${positionOf(source)}`, limit: '3' })}` }
    case 9:
      return { method: 'POST', path: '/commit', body: { lists: [listOf(source)], writes: [] } }
    case 10:
      return {
        method: 'POST',
        path: '/commit',
        body: { reads: [{ path: object, version: versionOf(source) }], writes: [] },
      }
    default:
      return { method: 'DELETE', path: object, ...condition(source) }
  }
}

function spelled(parameters: Readonly<Record<string, string>>): string {
  const all = Object.keys(parameters).sort()
  return `?${all.map(name => (parameters[name] === '' ? name : `${name}=${encodeURIComponent(parameters[name]!)}`)).join('&')}`
}

function listParameters({ random, ids }: RequestSource): Record<string, string> {
  return {
    limit: `${1 + random.below(6)}`,
    ...(random.chance(0.5) ? { embed: '' } : {}),
    ...(random.chance(0.3) ? { prefix: random.pick(['ann', 'r', 'b', 'ann-0']) } : {}),
    ...(random.chance(0.3) ? { from: random.pick(ids) } : {}),
    ...(random.chance(0.3) ? { to: random.pick(ids) } : {}),
  }
}

function queryOf({ random, ids }: RequestSource): Query {
  const value = () => random.pick(VALUES) as Scalar
  const member = (): Filter => {
    if (random.chance(0.1)) return { $id: random.chance(0.5) ? random.pick(ids) : { $prefix: 'r' } }
    if (random.chance(0.1)) return { [random.pick(FIELDS)]: { $exists: random.chance(0.5) } }
    if (random.chance(0.1)) return { [random.pick(FIELDS)]: { $in: [value(), value()] } }
    return { [random.pick(FIELDS)]: random.chance(0.6) ? value() : { [random.pick(COMPARISONS)]: value() } }
  }
  const either = (): Filter => ({ $or: [member(), { ...member(), ...member() }] })
  const where = { ...member(), ...(random.chance(0.4) ? member() : {}), ...(random.chance(0.2) ? either() : {}) }
  const fields = [random.pick(FIELDS), ...(random.chance(0.3) ? ['$id'] : [])]
  return {
    where: random.chance(0.2) ? {} : where,
    limit: 1 + random.below(6),
    ...(random.chance(0.5) ? { sort: fields.map(field => ({ field, descending: random.chance(0.3) })) } : {}),
    ...(random.chance(0.2) ? { fields: [random.pick(FIELDS)] } : {}),
  }
}

function condition(source: RequestSource): Pick<AskedRequest, 'headers'> {
  if (source.random.chance(0.7)) return {}
  const name = source.random.pick(['if-none-match', 'if-match'])
  return { headers: { [name]: source.random.chance(0.2) ? '*' : `"${versionOf(source)}"` } }
}

function listOf(source: RequestSource): unknown {
  const { random, bucket, ids } = source
  const list = { path: `/db/${bucket}`, version: positionOf(source) }
  const field = random.pick(FIELDS)
  switch (random.below(5)) {
    case 0:
      return { ...list, tags: [`${bucket}?${field}=[${JSON.stringify(random.pick(VALUES))}]`] }
    case 4:
      return {
        ...list,
        tags: [`${bucket}?${random.pick(['owner=["ann"]', 'team=["a"]', 'open=[true]', 'level=[2]'])}`],
      }
    case 1:
      return { ...list, prefix: random.pick(['ann', 'ann-', 'r', random.pick(ids)]) }
    case 2:
      return { ...list, from: random.pick(ids), through: random.pick(ids) }
    default:
      return list
  }
}

function versionOf(source: RequestSource): number {
  return source.random.chance(0.3) ? 0 : positionOf(source)
}

function positionOf({ random, positions: { first, last } }: RequestSource): number {
  return first + random.below(last - first + 1)
}
