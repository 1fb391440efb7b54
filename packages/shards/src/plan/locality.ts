/**
 * Whether each shard can do its part of a FROM by itself: a row of the joined relation must come from one shard alone. So sharded
 * relations must be joined by their keys. And the side of an outer join whose rows are all kept must not be on every shard while
 * the other side is divided: each shard would keep all of its rows.
 */
import { sqlRefused } from './refusals.js'
import type { ResolvedSelect } from './resolve.js'
import { ALL_KEYS, EVERY_KEY, intersect, type KeyRange, type ShardMap, shardKeyOf } from './shard-map.js'
import { allOf, childrenOf, conjunctsOf, type Expression, type From, hasAggregate } from './sql-tree.js'

export type ParameterValue = string | number | boolean | null

export interface Locality {
  /** False if all of it is on every shard. */
  readonly isSharded: boolean
  /** The columns that are the key in every row, as `alias.column`. */
  readonly keys: ReadonlySet<string>
  readonly tables: ReadonlySet<string>
  /** The conditions that must hold for every row of the result. */
  readonly conjuncts: readonly Expression[]
  /** The keys that rows of the result can have. */
  readonly ranges: readonly KeyRange[]
}

export interface LocalSelect extends Locality {
  /** Rows with the same group are on one shard. */
  readonly isGroupLocal: boolean
}

/** Throws SQL_REFUSED. */
export function localityOf(select: ResolvedSelect, map: ShardMap, values: readonly ParameterValue[]): LocalSelect {
  const whereConjuncts = conjunctsOf(select.where)
  const inner = [...whereConjuncts, ...innerConditions(select.from)]
  const from = select.from ? fromLocality(select.from, map, values, equivalences(inner)) : NOWHERE
  const tables = new Set(from.tables)
  for (const expression of expressionsOf(select)) addInnerQueries(expression, map, values, tables)
  const conjuncts = [...whereConjuncts, ...from.conjuncts]
  const ranges = conjuncts.reduce((ranges, each) => intersect(ranges, rangesOf(each, from.keys, values)), from.ranges)
  const isGroupLocal = select.groupBy.some(each => isKey(each, from.keys))
  return { ...from, tables, conjuncts, ranges, isGroupLocal }
}

const NOWHERE: Locality = { isSharded: false, keys: new Set(), tables: new Set(), conjuncts: [], ranges: ALL_KEYS }

export function isKey(expression: Expression, keys: ReadonlySet<string>): boolean {
  return expression.kind === 'column' && keys.has(`${expression.relation}.${expression.name}`)
}

function expressionsOf(select: ResolvedSelect): readonly Expression[] {
  return [
    ...select.items.map(({ expression }) => expression),
    ...(select.where ? [select.where] : []),
    ...select.groupBy,
    ...(select.having ? [select.having] : []),
    ...select.orderBy.map(({ expression }) => expression),
  ]
}

/** Queries within conditions may only use tables that are whole on every shard. */
function addInnerQueries(
  expression: Expression,
  map: ShardMap,
  values: readonly ParameterValue[],
  tables: Set<string>,
): void {
  if (expression.kind === 'inQuery' || expression.kind === 'exists') {
    const query = expression.query as ResolvedSelect
    if (query.limit || query.offset) throw sqlRefused('a query within a condition has a LIMIT')
    const inner = localityOf(query, map, values)
    if (inner.isSharded) {
      throw sqlRefused('a query within a condition uses a sharded table. Join it by its key instead')
    }
    for (const table of inner.tables) tables.add(table)
  }
  for (const child of childrenOf(expression)) addInnerQueries(child, map, values, tables)
}

type Equivalences = (a: string, b: string) => boolean

function fromLocality(from: From, map: ShardMap, values: readonly ParameterValue[], isEqual: Equivalences): Locality {
  if (from.kind === 'table') {
    const key = shardKeyOf(map, from.table)
    if (key === undefined && !map.global.includes(from.table)) {
      throw sqlRefused(`the table ${from.table} is neither among the sharded nor among the global ones`)
    }
    const keys = new Set(key === undefined ? [] : [`${from.alias}.${key}`])
    return { isSharded: key !== undefined, keys, tables: new Set([from.table]), conjuncts: [], ranges: ALL_KEYS }
  }
  if (from.kind === 'query') return queryLocality(from.query as ResolvedSelect, from.alias, map, values)
  return joinLocality(from, map, values, isEqual)
}

/** A query in FROM, as one relation. */
function queryLocality(
  query: ResolvedSelect,
  alias: string,
  map: ShardMap,
  values: readonly ParameterValue[],
): Locality {
  const { isSharded, keys, tables, ranges, isGroupLocal } = localityOf(query, map, values)
  if (query.limit || query.offset)
    throw sqlRefused('a query in FROM has a LIMIT, which each shard would apply to its own rows')
  const outputs = query.items.filter(({ expression }) => isKey(expression, keys)).map(item => `${alias}.${item.alias}`)
  const isGrouped =
    query.groupBy.length > 0 || query.having !== undefined || query.items.some(item => hasAggregate(item.expression))
  if (isSharded && isGrouped && !isGroupLocal) {
    throw sqlRefused(
      'a query in FROM makes groups of rows that are on several shards. Group by the key of the shards as well',
    )
  }
  if (isSharded && query.isDistinct && outputs.length === 0) {
    throw sqlRefused('a query in FROM has DISTINCT over rows of several shards. Select the key of the shards as well')
  }
  return { isSharded, keys: new Set(outputs), tables, conjuncts: [], ranges }
}

function joinLocality(
  { join, left, right, on }: Extract<From, { kind: 'join' }>,
  map: ShardMap,
  values: readonly ParameterValue[],
  isEqual: Equivalences,
): Locality {
  const conditions = conjunctsOf(on)
  const [a, b] = [left, right].map(side => fromLocality(side, map, values, isEqual)) as [Locality, Locality]
  const tables = new Set([...a.tables, ...b.tables])
  for (const condition of conditions) addInnerQueries(condition, map, values, tables)
  const isInner = join === 'inner'
  if (!isInner && b.isSharded && !a.isSharded) {
    throw sqlRefused(
      'the left side of a LEFT JOIN is on every shard and the right side is not: each shard would keep all of it',
    )
  }
  if (a.isSharded && b.isSharded) {
    const own = equivalences(conditions)
    const areJoined = [...a.keys].some(x => [...b.keys].some(y => (isInner && isEqual(x, y)) || own(x, y)))
    if (!areJoined)
      throw sqlRefused('sharded tables are not joined by their keys, so rows of several shards would meet')
  }
  return {
    isSharded: a.isSharded || b.isSharded,
    // In rows without a match, the keys of the right side are null, and such rows are on every shard.
    keys: isInner ? new Set([...a.keys, ...b.keys]) : a.keys,
    tables,
    ranges: isInner ? intersect(a.ranges, b.ranges) : a.ranges,
    conjuncts: isInner ? [...a.conjuncts, ...b.conjuncts, ...conditions] : a.conjuncts,
  }
}

/** The conditions of joins that hold for every row. */
function innerConditions(from: From | undefined): readonly Expression[] {
  if (from?.kind !== 'join') return []
  if (from.join === 'left') return innerConditions(from.left)
  return [...conjunctsOf(from.on), ...innerConditions(from.left), ...innerConditions(from.right)]
}

/** Which columns are equal, given conditions that must hold. */
function equivalences(conjuncts: readonly Expression[]): Equivalences {
  const parents = new Map<string, string>()
  const find = (name: string): string => {
    const parent = parents.get(name)
    return parent === undefined ? name : find(parent)
  }
  for (const each of conjuncts) {
    if (each.kind !== 'binary' || each.operator !== '=') continue
    if (each.left.kind !== 'column' || each.right.kind !== 'column') continue
    const [a, b] = [each.left, each.right].map(({ relation, name }) => find(`${relation}.${name}`)) as [string, string]
    if (a !== b) parents.set(a, b)
  }
  return (a, b) => find(a) === find(b)
}

export interface TakenRange {
  readonly rest: ResolvedSelect
  /** The column that the range applies to. */
  readonly key: Expression
  readonly range: KeyRange
}

/** Takes the conditions out of WHERE that only limit the range of keys, and returns that range and the rest of the query. */
export function takeRange(
  select: ResolvedSelect,
  keys: ReadonlySet<string>,
  values: readonly ParameterValue[],
): TakenRange | undefined {
  const found = conjunctsOf(select.where).map(condition => ({ condition, taken: rangeOf(condition, keys, values) }))
  const [first] = found.flatMap(({ taken }) => (taken ? [taken] : []))
  if (first === undefined) return undefined
  const range = found.reduce(
    (range, { taken }) => ({
      low: Math.max(range.low, taken?.range.low ?? range.low),
      high: Math.min(range.high, taken?.range.high ?? range.high),
    }),
    EVERY_KEY,
  )
  const where = allOf(found.filter(({ taken }) => taken === undefined).map(({ condition }) => condition))
  const { where: _, ...others } = select
  return { rest: where ? { ...others, where } : others, key: first.key, range }
}

function rangeOf(
  condition: Expression,
  keys: ReadonlySet<string>,
  values: readonly ParameterValue[],
): { readonly key: Expression; readonly range: KeyRange } | undefined {
  const isRange =
    (condition.kind === 'between' && !condition.isNegated) ||
    (condition.kind === 'binary' && MIRRORED[condition.operator] !== undefined)
  if (!isRange) return undefined
  const ends = condition.kind === 'between' ? [condition.low, condition.high] : [condition.left, condition.right]
  const key = condition.kind === 'between' ? condition.of : ends.find(end => isKey(end, keys))
  const others = ends.filter(end => end !== key)
  if (key === undefined || !isKey(key, keys) || others.some(end => wholeNumber(end, values) === undefined))
    return undefined
  // Ends in the wrong order are an empty range: no row has such a key.
  const [range = NO_KEY] = rangesOf(condition, keys, values)
  return { key, range }
}

const NO_KEY: KeyRange = { low: 1, high: 0 }

/** The keys of rows for which the condition can hold: possibly too many, never too few. */
function rangesOf(
  condition: Expression,
  keys: ReadonlySet<string>,
  values: readonly ParameterValue[],
): readonly KeyRange[] {
  switch (condition.kind) {
    case 'or':
      return condition.parts.flatMap(part => rangesOf(part, keys, values))
    case 'and':
      return condition.parts.reduce((ranges, part) => intersect(ranges, rangesOf(part, keys, values)), ALL_KEYS)
    case 'between':
      if (condition.isNegated || !isKey(condition.of, keys)) return ALL_KEYS
      return intersect(comparison('>=', condition.low, values), comparison('<=', condition.high, values))
    case 'in':
      if (condition.isNegated || !isKey(condition.of, keys)) return ALL_KEYS
      return condition.list.flatMap(each => comparison('=', each, values))
    case 'binary':
      if (isKey(condition.left, keys)) return comparison(condition.operator, condition.right, values)
      return isKey(condition.right, keys)
        ? comparison(MIRRORED[condition.operator] ?? '', condition.left, values)
        : ALL_KEYS
    default:
      return ALL_KEYS
  }
}

const MIRRORED: Readonly<Record<string, string>> = { '=': '=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

function comparison(operator: string, to: Expression, values: readonly ParameterValue[]): readonly KeyRange[] {
  const value = wholeNumber(to, values)
  if (value === undefined) return ALL_KEYS
  const [low, high] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]
  switch (operator) {
    case '=':
      return [{ low: value, high: value }]
    case '<':
      return [{ low, high: value - 1 }]
    case '<=':
      return [{ low, high: value }]
    case '>':
      return [{ low: value + 1, high }]
    case '>=':
      return [{ low: value, high }]
    default:
      return ALL_KEYS
  }
}

/** Undefined if the value is not a whole number, or is not known: then no shard is left out. */
function wholeNumber(expression: Expression, values: readonly ParameterValue[]): number | undefined {
  if (expression.kind === 'negative') {
    const value = wholeNumber(expression.of, values)
    return value === undefined ? undefined : -value
  }
  if (expression.kind === 'parameter') {
    const value = values[expression.index]
    return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
  }
  const isNumber = expression.kind === 'literal' && expression.type === 'number' && /^-?\d{1,15}$/.test(expression.text)
  return isNumber ? Number(expression.text) : undefined
}
