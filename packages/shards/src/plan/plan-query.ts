/**
 * From a query to what each shard is asked, and how the answers become one:
 *
 * | whole  | one shard has all rows: it is sent the query as a whole                                        |
 * | rows   | every row or group is on one shard: results are concatenated, and sorted                       |
 * | groups | groups are on several shards: each sends what its rows add to a group, and that is added up    |
 *
 * An average is sent as sum and count. For a distinct count the values themselves are sent. A query that cannot be merged exactly
 * from parts is refused, with the reason (venkateswaran 3.5.3 has the shard map and the splitting, and says nothing about this).
 */
import type { Catalog } from './catalog.js'
import type { Final, Value } from './final-expression.js'
import { isKey, type LocalSelect, localityOf, type ParameterValue, type TakenRange, takeRange } from './locality.js'
import type { GroupsMerge, Merge, MergedAggregate } from './merge-rows.js'
import { sqlInvalid, sqlRefused } from './refusals.js'
import { renderSelect, type Statement } from './render-sql.js'
import { type ResolvedSelect, resolveSelect } from './resolve.js'
import type { SortKey, TextOrder } from './row-order.js'
import { type Dialect, EVERY_KEY, type KeyRange, rangeOfShard, type ShardMap, shardsOf } from './shard-map.js'
import {
  type Aggregate,
  allOf,
  childrenOf,
  conjunctsOf,
  type Expression,
  hasAggregate,
  keyOf,
  type Select,
  type SelectItem,
} from './sql-tree.js'
import { valueTypeOf } from './value-type.js'

export interface QueryPlan {
  /** The names of the columns selected. */
  readonly columns: readonly string[]
  /** The tables that the query depends on. */
  readonly tables: readonly string[]
  /** The shards that are asked, as places in the map. */
  readonly shards: readonly number[]
  /** Every shard has all the rows, so any one shard is asked. */
  readonly isAnywhere: boolean
  /** What each of these shards is asked. */
  readonly parts: readonly ShardPart[]
  readonly merge: Merge
}

/**
 * What one shard is asked. Conditions on the key become one range, cut to the range of the shard: so queries that differ only in
 * their ranges send the same statement to the shards in the middle.
 */
export interface ShardPart {
  readonly statement: Statement
  /** Equal for parts that differ only in their ranges. */
  readonly family: string
  readonly range: KeyRange
  /** Where in each row the key is, if the answer for a narrower range is the rows whose keys are in that range. */
  readonly keySlot?: number
}

export interface PlanOptions {
  readonly map: ShardMap
  readonly catalog: Catalog
  readonly values: readonly ParameterValue[]
  /** A shard that has more rows sends one more than this, and the query is refused. */
  readonly rowsMax: number
}

/** Longer text is not sorted or compared by its weights: these would be long as well. */
const WEIGHED_LENGTH_MAX = 255

/** Throws SQL_INVALID, SQL_REFUSED. */
export function planQuery(select: Select, options: PlanOptions): QueryPlan {
  const { map, catalog, values } = options
  const resolved = resolveSelect(select, catalog)
  const local = localityOf(resolved, map, values)
  const tables = [...local.tables].sort()
  const found = local.isSharded ? shardsOf(map, local.ranges) : [0]
  const shards = found.length === 0 ? [0] : found
  const bounds = { limit: countOf(resolved.limit, values), offset: countOf(resolved.offset, values) ?? 0 }
  const ranged = takeRange(resolved, local.keys, values)
  const rest = ranged?.rest ?? resolved
  const split =
    shards.length === 1 ? wholePlan(rest, bounds, options) : new Splitter(rest, local, bounds, options).split()
  const family = renderSelect(split.select, map.dialect, values)
  const shape = { family: JSON.stringify([family.text, family.values]), ...keySlotOf(resolved, local, split, bounds) }
  return {
    columns: resolved.items.map(({ alias }) => alias),
    tables,
    shards,
    isAnywhere: !local.isSharded,
    parts: shards.map(shard =>
      ranged
        ? rangedPart(split.select, ranged, shard, options, shape)
        : { ...shape, statement: family, range: EVERY_KEY },
    ),
    merge: split.merge,
  }
}

/** Rows of a narrower range can be selected if each row has its key, and if rows do not depend on each other. */
function keySlotOf(
  { items, groupBy }: ResolvedSelect,
  { keys, isGroupLocal }: LocalSelect,
  { merge }: Split,
  { limit, offset }: Bounds,
): { keySlot?: number } {
  const isGrouped = groupBy.length > 0 || items.some(({ expression }) => hasAggregate(expression))
  const keySlot = items.findIndex(({ expression }) => isKey(expression, keys))
  const isApart = merge.kind !== 'groups' && limit === undefined && offset === 0 && (!isGrouped || isGroupLocal)
  return isApart && keySlot >= 0 ? { keySlot } : {}
}

function rangedPart(
  select: Select,
  { key, range }: TakenRange,
  shard: number,
  { map, values }: PlanOptions,
  shape: Pick<ShardPart, 'family' | 'keySlot'>,
): ShardPart {
  const own = rangeOfShard(map, shard)
  const low = Math.max(range.low, own.low)
  const high = Math.min(range.high, own.high)
  const bounds =
    low === high
      ? [{ operator: '=', value: low } as const]
      : [
          ...(Number.isFinite(low) ? [{ operator: '>=', value: low } as const] : []),
          ...(Number.isFinite(high) ? [{ operator: '<=', value: high } as const] : []),
        ]
  const conditions = bounds.map(({ operator }, i): Expression => {
    return { kind: 'binary', operator, left: key, right: { kind: 'parameter', index: values.length + i } }
  })
  const where = allOf([...conjunctsOf(select.where), ...conditions])
  const statement = renderSelect({ ...select, ...(where ? { where } : {}) }, map.dialect, [
    ...values,
    ...bounds.map(({ value }) => value),
  ])
  return { ...shape, statement, range: { low, high } }
}

interface Bounds {
  readonly limit: number | undefined
  readonly offset: number
}

interface Split {
  readonly select: Select
  readonly merge: Merge
}

function wholePlan(resolved: ResolvedSelect, { limit, offset }: Bounds, { rowsMax }: PlanOptions): Split {
  const most = Math.min(limit ?? Number.POSITIVE_INFINITY, rowsMax + 1)
  const select = { ...resolved, limit: number(most), offset: number(offset) }
  return { select, merge: { kind: 'whole', width: resolved.items.length } }
}

/** LIMIT and OFFSET: a number, or a parameter that is one. */
function countOf(expression: Expression | undefined, values: readonly ParameterValue[]): number | undefined {
  if (expression === undefined) return undefined
  if (expression.kind === 'literal' && expression.type === 'null') return undefined
  const value =
    expression.kind === 'parameter'
      ? values[expression.index]
      : expression.kind === 'literal' && expression.type === 'number'
        ? Number(expression.text)
        : undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw sqlInvalid('LIMIT and OFFSET take a whole number, or a parameter that is one')
}

function number(value: number): Expression {
  return { kind: 'literal', type: 'number', text: `${value}` }
}

class Splitter {
  readonly #select: ResolvedSelect
  readonly #local: LocalSelect
  readonly #bounds: Bounds
  readonly #options: PlanOptions
  readonly #dialect: Dialect
  readonly #items: SelectItem[] = []
  readonly #slots = new Map<string, number>()
  readonly #aggregates: MergedAggregate[] = []
  readonly #aggregatePlaces = new Map<string, number>()
  /** The expressions of distinct counts: they split the groups that shards send. */
  readonly #grain: Expression[] = []

  constructor(select: ResolvedSelect, local: LocalSelect, bounds: Bounds, options: PlanOptions) {
    this.#select = select
    this.#local = local
    this.#bounds = bounds
    this.#options = options
    this.#dialect = options.map.dialect
  }

  split(): Split {
    const { items, having, orderBy, groupBy, isDistinct } = this.#select
    const parts = [...items, ...orderBy].map(({ expression }) => expression)
    const isGrouped = groupBy.length > 0 || having !== undefined || parts.some(hasAggregate)
    const { isGroupLocal, keys } = this.#local
    const isDistinctLocal =
      isGroupLocal && groupBy.every(each => items.some(item => keyOf(item.expression) === keyOf(each)))
    if (isGrouped && isDistinct && !(isDistinctLocal || items.some(({ expression }) => isKey(expression, keys)))) {
      throw sqlRefused('DISTINCT is applied to groups. Leave it out, or select all that it groups by')
    }
    const isSelected = (expression: Expression) => items.some(item => keyOf(item.expression) === keyOf(expression))
    if (isDistinct && !orderBy.every(({ expression }) => isSelected(expression))) {
      throw sqlRefused('DISTINCT rows are sorted by an expression that is not selected. Select it as well')
    }
    if (isGrouped) return isGroupLocal ? this.#rows() : this.#groups(groupBy)
    if (!isDistinct || items.some(({ expression }) => isKey(expression, keys))) return this.#rows()
    return this.#groups(items.map(({ expression }) => expression))
  }

  #rows(): Split {
    const { items, orderBy } = this.#select
    for (const item of items) this.#items.push(item)
    for (const [i, { expression }] of [...items.entries()].reverse()) this.#slots.set(keyOf(expression), i)
    const sortKeys = orderBy.map(({ expression, isDescending }): SortKey => {
      return { value: { kind: 'cell', ...this.#comparable(expression, 'ORDER BY') }, isDescending }
    })
    const { limit, offset } = this.#bounds
    const most = Math.min(limit === undefined ? Number.POSITIVE_INFINITY : limit + offset, this.#options.rowsMax + 1)
    const { offset: _, ...select } = this.#select
    return {
      select: { ...select, items: this.#items, limit: number(most) },
      merge: { kind: 'rows', ...this.#manner(), width: items.length, sortKeys, offset, limit },
    }
  }

  #groups(groupBy: readonly Expression[]): Split {
    const { items, having, orderBy, from, where } = this.#select
    const groups = groupBy.map(each => this.#comparable(each, 'GROUP BY', true))
    const finals = items.map(({ expression }) => this.#final(expression, groupBy))
    const condition = having && this.#final(having, groupBy)
    const sortKeys = orderBy.map(({ expression, isDescending }): SortKey => {
      const value = this.#final(expression, groupBy)
      this.#checkSorted(expression)
      return { value, isDescending }
    })
    const merge: GroupsMerge = {
      kind: 'groups',
      ...this.#manner(),
      groups,
      hasOneGroup: groupBy.length === 0,
      aggregates: this.#aggregates,
      items: finals,
      ...(condition ? { having: condition } : {}),
      sortKeys,
      ...this.#bounds,
    }
    const partial: Select = {
      isDistinct: false,
      items: this.#items.map(({ expression }) => ({ expression })),
      ...(from ? { from } : {}),
      ...(where ? { where } : {}),
      groupBy: [...groupBy, ...this.#grain],
      orderBy: [],
      limit: number(this.#options.rowsMax + 1),
    }
    return { select: partial, merge }
  }

  #manner(): { readonly dialect: Dialect; readonly textOrder: TextOrder } {
    const byBytes = this.#options.catalog.isTextOrderedByBytes ? 'bytes' : 'unknown'
    return { dialect: this.#dialect, textOrder: this.#dialect === 'mariadb' ? 'weights' : byBytes }
  }

  #slot(expression: Expression): number {
    const key = keyOf(expression)
    const known = this.#slots.get(key)
    if (known !== undefined) return known
    const slot = this.#items.push({ expression }) - 1
    this.#slots.set(key, slot)
    return slot
  }

  /** The slot of its value, and the slot of the weight that it is compared by, if there is one. */
  #comparable(expression: Expression, where: string, onlyEquality = false): { slot: number; weightSlot?: number } {
    const slot = this.#slot(expression)
    if (valueTypeOf(expression).type !== 'text') return { slot }
    checkNotLoose(expression, where)
    if (!onlyEquality) this.#checkSorted(expression)
    if (this.#dialect === 'postgres') return { slot }
    return { slot, weightSlot: this.#weightSlot(expression, expression, where) }
  }

  /** `column`: the column whose text it is. */
  #weightSlot(of: Expression, column: Expression, where: string): number {
    const { lengthMax, weightsMax, isUnpadded = false } = valueTypeOf(column)
    if (column.kind !== 'column' || lengthMax === undefined || lengthMax > WEIGHED_LENGTH_MAX) {
      throw sqlRefused(
        `${where} compares text whose collation only its server knows. Use a column of at most ${WEIGHED_LENGTH_MAX} characters`,
      )
    }
    return this.#slot({ kind: 'weight', of, weightsMax: weightsMax ?? lengthMax, isUnpadded })
  }

  #checkSorted(expression: Expression): void {
    const { type, isUnordered } = valueTypeOf(expression)
    if (isUnordered) throw sqlRefused('a column has an order of its own, as an ENUM has')
    if (type === 'text' && this.#dialect === 'postgres' && !this.#options.catalog.isTextOrderedByBytes) {
      throw sqlRefused(
        'text is ordered by a collation that only its server knows. Create the databases with the collation C',
      )
    }
  }

  #final(expression: Expression, groupBy: readonly Expression[]): Final {
    const group = groupBy.find(each => keyOf(each) === keyOf(expression))
    if (group) return { kind: 'cell', ...this.#comparable(group, 'GROUP BY', true) }
    if (expression.kind === 'aggregate') return { kind: 'aggregate', index: this.#aggregate(expression) }
    if (!hasAggregate(expression)) return this.#withoutAggregate(expression, groupBy)
    const final = (part: Expression) => this.#final(part, groupBy)
    switch (expression.kind) {
      case 'binary':
        if (expression.operator === 'like' || expression.operator === 'not like') throw afterMerging('LIKE')
        if ('+-*/%'.includes(expression.operator)) this.#checkOperands(expression.left, expression.right)
        return {
          kind: 'binary',
          operator: expression.operator,
          left: final(expression.left),
          right: final(expression.right),
        }
      case 'and':
      case 'or':
        return { kind: expression.kind, parts: expression.parts.map(final) }
      case 'not':
      case 'negative':
        return { kind: expression.kind, of: final(expression.of) }
      case 'isNull':
        return { kind: 'isNull', of: final(expression.of), isNegated: expression.isNegated }
      case 'between': {
        const of = final(expression.of)
        const low: Final = { kind: 'binary', operator: '>=', left: of, right: final(expression.low) }
        const high: Final = { kind: 'binary', operator: '<=', left: of, right: final(expression.high) }
        return negatedIf(expression.isNegated, { kind: 'and', parts: [low, high] })
      }
      case 'in': {
        const left = final(expression.of)
        const parts = expression.list.map(
          (each): Final => ({ kind: 'binary', operator: '=', left, right: final(each) }),
        )
        return negatedIf(expression.isNegated, { kind: 'or', parts })
      }
      default:
        throw afterMerging(expression.kind === 'call' ? expression.name : expression.kind.toUpperCase())
    }
  }

  /** MariaDB computes with more digits of a quotient than it shows, unless its plan puts the quotient into a temporary table. */
  #checkOperands(...operands: readonly Expression[]): void {
    if (this.#dialect === 'mariadb' && operands.some(hasQuotient)) {
      throw sqlRefused(
        'arithmetic is applied to an average or a quotient, and the result in MariaDB depends on its plan. ' +
          'Divide last: sum(a) * 100 / count(*)',
      )
    }
  }

  /** The engine computes it, from what the query groups by. */
  #withoutAggregate(expression: Expression, groupBy: readonly Expression[]): Final {
    const constant = constantOf(expression, this.#options.values)
    if (constant) return { kind: 'constant', value: constant }
    if (!dependsOn(expression, groupBy)) {
      throw sqlInvalid('it selects, or has a condition on, a column that is neither in GROUP BY nor in an aggregate')
    }
    if (groupBy.length === 0)
      throw sqlRefused('an expression beside aggregates contains neither a column nor an aggregate')
    return { kind: 'cell', slot: this.#slot(expression) }
  }

  #aggregate(aggregate: Aggregate): number {
    const key = keyOf(aggregate)
    const known = this.#aggregatePlaces.get(key)
    if (known !== undefined) return known
    const index = this.#aggregates.push(this.#merged(aggregate)) - 1
    this.#aggregatePlaces.set(key, index)
    return index
  }

  #merged(aggregate: Aggregate): MergedAggregate {
    const { name, of, isDistinct } = aggregate
    const partial = (name: Aggregate['name']) => this.#slot({ ...aggregate, name, isDistinct: false })
    if (name === 'min' || name === 'max') return this.#extreme(name, { ...aggregate, isDistinct: false })
    if (isDistinct && of) {
      if (name !== 'count')
        throw sqlRefused(`${name}(DISTINCT ...) cannot be merged from parts. Group by it, and add up the groups`)
      // No value of a key is on two shards; but it can be in several parts of a group that another distinct count splits.
      if (isKey(of, this.#local.keys) && !this.#hasGrain()) return { name: 'count', slot: this.#slot(aggregate) }
      const found = this.#comparable(of, 'COUNT(DISTINCT ...)', true)
      if (!this.#grain.some(each => keyOf(each) === keyOf(of))) this.#grain.push(of)
      return { name: 'distinct', ...found }
    }
    if (name === 'avg') return { name, slot: partial('sum'), countSlot: partial('count') }
    return { name, slot: partial(name) }
  }

  /** Whether there is a distinct count of anything but keys. */
  #hasGrain(): boolean {
    const { items, having, orderBy } = this.#select
    const counts = (expression: Expression): boolean => {
      const isCounted = expression.kind === 'aggregate' && expression.name === 'count' && expression.isDistinct
      return (isCounted && !isKey(expression.of!, this.#local.keys)) || childrenOf(expression).some(counts)
    }
    return (
      [...items, ...orderBy].some(({ expression }) => counts(expression)) || (having !== undefined && counts(having))
    )
  }

  #extreme(name: 'min' | 'max', aggregate: Aggregate): MergedAggregate {
    const of = aggregate.of!
    const slot = this.#slot(aggregate)
    if (valueTypeOf(of).type !== 'text') return { name, slot }
    checkNotLoose(of, name.toUpperCase())
    this.#checkSorted(of)
    if (this.#dialect === 'postgres') return { name, slot }
    return { name, slot, weightSlot: this.#weightSlot(aggregate, of, name.toUpperCase()) }
  }
}

function checkNotLoose(expression: Expression, where: string): void {
  if (!isLoose(expression)) return
  throw sqlRefused(`${where} compares text of a column with a collation in which only its server knows what is equal`)
}

function isLoose(expression: Expression): boolean {
  return (
    (expression.kind === 'column' && expression.valueType?.isLoose === true) || childrenOf(expression).some(isLoose)
  )
}

function hasQuotient(expression: Expression): boolean {
  const isQuotient = expression.kind === 'binary' && expression.operator === '/' && hasAggregate(expression)
  return (
    isQuotient ||
    (expression.kind === 'aggregate' ? expression.name === 'avg' : childrenOf(expression).some(hasQuotient))
  )
}

function negatedIf(isNegated: boolean, of: Final): Final {
  return isNegated ? { kind: 'not', of } : of
}

function afterMerging(what: string): Error {
  return sqlRefused(
    `${what} is applied to an aggregate. Supported there are + - * /, comparisons, AND, OR, NOT, BETWEEN, IN and IS NULL`,
  )
}

/** Whether it has the same value for all rows of a group. */
function dependsOn(expression: Expression, groupBy: readonly Expression[]): boolean {
  if (groupBy.some(each => keyOf(each) === keyOf(expression))) return true
  if (expression.kind === 'column' || expression.kind === 'inQuery' || expression.kind === 'exists') return false
  return childrenOf(expression).every(child => dependsOn(child, groupBy))
}

function constantOf(expression: Expression, values: readonly ParameterValue[]): Value | undefined {
  if (expression.kind === 'literal') {
    const { type, text } = expression
    if (type === 'null') return { type: 'other', cell: null }
    if (type === 'boolean') return { type: 'boolean', cell: text === 'true' }
    if (type === 'text') return { type: 'text', cell: text }
    return { type: /^-?\d+$/.test(text) ? 'integer' : 'decimal', cell: text }
  }
  if (expression.kind !== 'parameter') return undefined
  const value = values[expression.index]
  if (value === undefined) throw sqlInvalid(`it has no value for $${expression.index + 1}`)
  if (value === null) return { type: 'other', cell: null }
  if (typeof value === 'boolean') return { type: 'boolean', cell: value }
  if (typeof value === 'string') return { type: 'text', cell: value }
  return Number.isSafeInteger(value) ? { type: 'integer', cell: `${value}` } : { type: 'float', cell: value }
}
