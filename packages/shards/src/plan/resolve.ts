/**
 * Finds out what each name in a query means: every column gets its relation and its type, stars become columns, and numbers and
 * aliases in GROUP BY and ORDER BY become what they stand for. Unknown tables and columns are refused here, by their names.
 */
import type { Catalog, Column } from './catalog.js'
import { sqlInvalid, sqlRefused } from './refusals.js'
import {
  type ColumnRef,
  type Expression,
  type From,
  hasAggregate,
  mapChildren,
  type Select,
  type SelectItem,
  type Sorting,
} from './sql-tree.js'
import { valueTypeOf } from './value-type.js'

export interface OutputItem extends SelectItem {
  readonly alias: string
}

export interface ResolvedSelect extends Select {
  readonly items: readonly OutputItem[]
}

interface Relation {
  readonly alias: string
  readonly columns: readonly Column[]
}

interface Scope {
  readonly relations: readonly Relation[]
  /** Columns that several relations share by USING: a name does not refer to those of the right side. */
  readonly hidden: ReadonlySet<string>
  readonly outer: Scope | undefined
}

/** Throws SQL_INVALID, SQL_REFUSED. */
export function resolveSelect(select: Select, catalog: Catalog, outer?: Scope): ResolvedSelect {
  const { from, scope } = resolveFrom(select.from, catalog, outer)
  const resolve = (expression: Expression) => resolveExpression(expression, scope, catalog)
  const items = select.items.flatMap(item =>
    'kind' in item ? expandStar(item.relation, scope) : [named(item, resolve)],
  )
  if (items.length === 0) throw sqlInvalid('it selects nothing')
  const names = uniqueNames(items)
  const where = select.where && resolve(select.where)
  if (where && hasAggregate(where))
    throw sqlInvalid('WHERE contains an aggregate. Conditions on aggregates belong in HAVING')
  const groupBy = select.groupBy.map(each => resolveGroup(each, items, scope, resolve))
  if (groupBy.some(hasAggregate)) throw sqlInvalid('GROUP BY contains an aggregate')
  return {
    isDistinct: select.isDistinct,
    items: names,
    ...(from ? { from } : {}),
    ...(where ? { where } : {}),
    groupBy,
    ...(select.having ? { having: resolve(withAliases(select.having, items, scope)) } : {}),
    orderBy: select.orderBy.map(each => resolveSorting(each, names, resolve)),
    ...(select.limit ? { limit: select.limit } : {}),
    ...(select.offset ? { offset: select.offset } : {}),
  }
}

/** The columns of a query as a relation, each with one name. */
function columnsOf(select: ResolvedSelect): readonly Column[] {
  return select.items.map(({ expression, alias }) => ({ name: alias, ...valueTypeOf(expression) }))
}

function resolveFrom(
  from: From | undefined,
  catalog: Catalog,
  outer: Scope | undefined,
): { from?: From; scope: Scope } {
  if (from === undefined) return { scope: { relations: [], hidden: new Set(), outer } }
  if (from.kind === 'table') {
    const columns = catalog.tables.get(from.table)
    if (columns === undefined)
      throw sqlInvalid(`there is no table ${JSON.stringify(from.table)}`, { table: from.table })
    return { from, scope: { relations: [{ alias: from.alias, columns }], hidden: new Set(), outer } }
  }
  if (from.kind === 'query') {
    const query = resolveSelect(from.query, catalog)
    const relation = { alias: from.alias, columns: columnsOf(query) }
    return { from: { ...from, query }, scope: { relations: [relation], hidden: new Set(), outer } }
  }
  return resolveJoin(from, catalog, outer)
}

function resolveJoin(
  join: Extract<From, { kind: 'join' }>,
  catalog: Catalog,
  outer: Scope | undefined,
): { from: From; scope: Scope } {
  const left = resolveFrom(join.left, catalog, outer)
  const right = resolveFrom(join.right, catalog, outer)
  const relations = [...left.scope.relations, ...right.scope.relations]
  const twice = relations.find(({ alias }, i) => relations.findIndex(other => other.alias === alias) !== i)
  if (twice) throw sqlInvalid(`two relations are called ${JSON.stringify(twice.alias)}. Give one of them another alias`)
  const using = join.using ?? []
  const hidden = new Set([
    ...left.scope.hidden,
    ...right.scope.hidden,
    ...using.flatMap(name => right.scope.relations.map(({ alias }) => `${alias}.${name}`)),
  ])
  const scope = { relations, hidden, outer }
  const equalities = using.map(name => ({
    kind: 'binary' as const,
    operator: '=' as const,
    left: resolveColumn({ kind: 'column', name }, left.scope),
    right: resolveColumn({ kind: 'column', name }, right.scope),
  }))
  const on = join.on ? [resolveExpression(join.on, scope, catalog)] : equalities
  if (on.some(hasAggregate)) throw sqlInvalid('a join condition contains an aggregate')
  return {
    from: {
      kind: 'join',
      join: join.join,
      left: left.from!,
      right: right.from!,
      ...(on.length > 0 ? { on: on.length === 1 ? on[0]! : { kind: 'and', parts: on } } : {}),
    },
    scope,
  }
}

function resolveExpression(expression: Expression, scope: Scope, catalog: Catalog): Expression {
  if (expression.kind === 'column') return resolveColumn(expression, scope)
  const mapped = mapChildren(expression, child => resolveExpression(child, scope, catalog))
  if (mapped.kind === 'inQuery' || mapped.kind === 'exists') {
    return { ...mapped, query: resolveSelect(mapped.query, catalog, scope) }
  }
  if (mapped.kind === 'aggregate' && mapped.of && hasAggregate(mapped.of)) throw sqlInvalid('aggregates are nested')
  return mapped
}

function resolveColumn(ref: ColumnRef, scope: Scope): ColumnRef {
  const { name, relation } = ref
  const found = scope.relations.flatMap(({ alias, columns }) => {
    const column = relation === undefined || relation === alias ? columns.find(each => each.name === name) : undefined
    const isMeant = column !== undefined && (relation !== undefined || !scope.hidden.has(`${alias}.${name}`))
    return isMeant ? [{ alias, column }] : []
  })
  const spelled = relation === undefined ? name : `${relation}.${name}`
  if (found.length > 1) throw sqlInvalid(`${spelled} is in several relations. Say which: relation.${name}`)
  const [only] = found
  if (only) {
    const { name: _, ...valueType } = only.column
    return { kind: 'column', relation: only.alias, name, valueType }
  }
  if (scope.outer) return resolveColumn(ref, scope.outer)
  throw sqlInvalid(`there is no column ${JSON.stringify(spelled)}`, { column: spelled })
}

function expandStar(relation: string | undefined, { relations, hidden }: Scope): readonly OutputItem[] {
  if (hidden.size > 0) throw sqlRefused('a star with USING is not supported. Name the columns')
  const meant = relations.filter(({ alias }) => relation === undefined || alias === relation)
  if (meant.length === 0)
    throw sqlInvalid(relation === undefined ? 'a star needs a FROM' : `there is no relation ${relation}`)
  return meant.flatMap(({ alias, columns }) =>
    columns.map(({ name, ...valueType }) => ({
      expression: { kind: 'column' as const, relation: alias, name, valueType },
      alias: name,
    })),
  )
}

function named(item: SelectItem, resolve: (expression: Expression) => Expression): OutputItem {
  const expression = resolve(item.expression)
  return { expression, alias: item.alias ?? nameFor(expression) }
}

function nameFor(expression: Expression): string {
  if (expression.kind === 'column' || expression.kind === 'aggregate' || expression.kind === 'call')
    return expression.name
  return 'column'
}

/** Clients get rows as objects, so each column needs a name of its own. */
function uniqueNames(items: readonly OutputItem[]): readonly OutputItem[] {
  const taken = new Set<string>()
  return items.map(item => {
    let alias = item.alias
    for (let count = 2; taken.has(alias); count++) alias = `${item.alias}_${count}`
    taken.add(alias)
    return { ...item, alias }
  })
}

function ordinal(expression: Expression, items: readonly OutputItem[]): Expression | undefined {
  if (expression.kind !== 'literal' || expression.type !== 'number') return undefined
  const item = items[Number(expression.text) - 1]
  if (item === undefined) throw sqlInvalid(`there is no column ${expression.text} in what it selects`)
  return item.expression
}

function resolveGroup(
  expression: Expression,
  items: readonly OutputItem[],
  scope: Scope,
  resolve: (expression: Expression) => Expression,
): Expression {
  return ordinal(expression, items) ?? resolve(withAliases(expression, items, scope))
}

/** A name that is both a column and an alias means the column. */
function withAliases(expression: Expression, items: readonly OutputItem[], scope: Scope): Expression {
  if (expression.kind !== 'column') return mapChildren(expression, child => withAliases(child, items, scope))
  const isColumn = scope.relations.some(({ columns }) => columns.some(({ name }) => name === expression.name))
  const item = expression.relation === undefined && !isColumn && items.find(({ alias }) => alias === expression.name)
  return item ? item.expression : expression
}

/** In ORDER BY, a name that is both a column and an alias means the alias. */
function resolveSorting(
  { expression, isDescending }: Sorting,
  items: readonly OutputItem[],
  resolve: (expression: Expression) => Expression,
): Sorting {
  const item =
    expression.kind === 'column' && expression.relation === undefined
      ? items.find(({ alias }) => alias === expression.name)
      : undefined
  return { expression: item?.expression ?? ordinal(expression, items) ?? resolve(expression), isDescending }
}
