/**
 * Merges the answers of the shards, as `plan-query.ts` has planned. Pure, and exact: numbers are added as decimals.
 */
import { FreshetError } from '@freshet/protocol'
import { add, type Decimal, formatDecimal, parseDecimal, plainDecimal } from './decimal.js'
import {
  type Cell,
  type CellType,
  evaluate,
  exact,
  type Final,
  isTrue,
  type MergedGroup,
  NULL,
  quotient,
  type Value,
} from './final-expression.js'
import { sqlRefused } from './refusals.js'
import {
  commonTypes,
  compareKeys,
  keysOf,
  type Manner,
  orderOf,
  Row,
  type SortKey,
  type TextOrder,
} from './row-order.js'
import type { Dialect } from './shard-map.js'

export interface MergedAggregate {
  readonly name: 'count' | 'sum' | 'avg' | 'min' | 'max' | 'distinct'
  readonly slot: number
  /** For an average: the slot of its count. */
  readonly countSlot?: number
  /** For text: the slot of the weight by which texts are ordered and compared. */
  readonly weightSlot?: number
}

/** What identifies a group: the value, or in MariaDB the weight of text. */
export interface GroupSlot {
  readonly slot: number
  readonly weightSlot?: number
}

export interface GroupsMerge extends Manner {
  readonly kind: 'groups'
  readonly groups: readonly GroupSlot[]
  /** There is exactly one group, even of no rows. */
  readonly hasOneGroup: boolean
  readonly aggregates: readonly MergedAggregate[]
  readonly items: readonly Final[]
  readonly having?: Final
  readonly sortKeys: readonly SortKey[]
  readonly offset: number
  readonly limit: number | undefined
}

export interface RowsMerge extends Manner {
  readonly kind: 'rows'
  /** How many columns are selected; the columns after them are what rows are sorted by. */
  readonly width: number
  readonly sortKeys: readonly SortKey[]
  readonly offset: number
  readonly limit: number | undefined
}

export interface WholeMerge {
  readonly kind: 'whole'
  readonly width: number
}

export type Merge = WholeMerge | RowsMerge | GroupsMerge

/** What one shard has answered. */
export interface ShardRows {
  readonly types: readonly CellType[]
  readonly rows: readonly (readonly Cell[])[]
}

export interface MergedRows {
  readonly types: readonly CellType[]
  readonly rows: readonly (readonly Cell[])[]
}

/** Throws LIMIT_EXCEEDED, and SQL_REFUSED for what only the values show. */
export function mergeRows(merge: Merge, answers: readonly ShardRows[], rowsMax: number): MergedRows {
  const isTooMuch = answers.reduce((sum, { rows }) => sum + rows.length, 0) > rowsMax
  if (isTooMuch) throw tooManyRows(rowsMax)
  const types = commonTypes(answers.map(answer => answer.types))
  if (merge.kind === 'whole') return { types, rows: answers.flatMap(({ rows }) => rows) }
  return merge.kind === 'rows' ? concatenate(merge, answers, types) : mergeGroups(merge, answers, types)
}

function concatenate(merge: RowsMerge, answers: readonly ShardRows[], types: readonly CellType[]): MergedRows {
  const { width, sortKeys, offset, limit } = merge
  const groups = answers.flatMap(({ rows }) => rows.map(row => new Row(row, types)))
  const sorted = sortGroups(groups, sortKeys, merge)
  const end = limit === undefined ? undefined : offset + limit
  return { types: types.slice(0, width), rows: sorted.slice(offset, end).map(({ row }) => row.slice(0, width)) }
}

function mergeGroups(merge: GroupsMerge, answers: readonly ShardRows[], types: readonly CellType[]): MergedRows {
  const { dialect, having, items, sortKeys, offset, limit } = merge
  const merged = [...gather(merge, answers, types)].filter(
    group => having === undefined || isTrue(evaluate(having, group, dialect)) === true,
  )
  const end = limit === undefined ? undefined : offset + limit
  const values = sortGroups(merged, sortKeys, merge)
    .slice(offset, end)
    .map(group => items.map(item => evaluate(item, group, dialect)))
  return {
    types: items.map((_, i) => values.map(row => row[i]!).find(({ cell }) => cell !== null)?.type ?? 'other'),
    rows: values.map(row => row.map(({ cell }) => cell)),
  }
}

function gather(merge: GroupsMerge, answers: readonly ShardRows[], types: readonly CellType[]): Iterable<Group> {
  const groups = new Map<string, Group>()
  if (merge.hasOneGroup) groups.set('[]', new Group(undefined, types, merge))
  for (const { rows } of answers) {
    for (const row of rows) {
      const key = JSON.stringify(merge.groups.map(group => identityOf(row, group, types, merge.dialect)))
      const group = groups.get(key) ?? new Group(row, types, merge)
      groups.set(key, group)
      group.take(row)
    }
  }
  return groups.values()
}

/** Equal for equal values. */
function identityOf(
  row: readonly Cell[],
  { slot, weightSlot }: GroupSlot,
  types: readonly CellType[],
  dialect: Dialect,
): Cell {
  if (weightSlot !== undefined) return row[weightSlot]!
  const [cell, type] = [row[slot]!, types[slot]!]
  if (cell === null || type === 'integer' || type === 'date' || type === 'boolean') return cell
  const decimal = type === 'decimal' ? parseDecimal(String(cell)) : undefined
  if (decimal) return plainDecimal(decimal)
  if (type === 'text' && dialect === 'postgres') return cell
  throw sqlRefused(
    type === 'text'
      ? 'GROUP BY or COUNT(DISTINCT ...) is applied to text whose collation only its server knows. Use a column'
      : 'GROUP BY or COUNT(DISTINCT ...) is applied to a value that is not an exact number, text, date or boolean. Cast it',
  )
}

class Group implements MergedGroup {
  readonly #first: readonly Cell[] | undefined
  readonly #types: readonly CellType[]
  readonly #merge: GroupsMerge
  readonly #totals: (Decimal | undefined)[]
  readonly #counts: bigint[]
  readonly #extremes: (Value | undefined)[]
  readonly #distinct: Set<Cell>[]

  constructor(first: readonly Cell[] | undefined, types: readonly CellType[], merge: GroupsMerge) {
    this.#first = first
    this.#types = types
    this.#merge = merge
    const { aggregates } = merge
    this.#totals = aggregates.map(() => undefined)
    this.#counts = aggregates.map(() => 0n)
    this.#extremes = aggregates.map(() => undefined)
    this.#distinct = aggregates.map(() => new Set())
  }

  take(row: readonly Cell[]): void {
    this.#merge.aggregates.forEach((aggregate, i) => {
      const { name, slot, countSlot, weightSlot } = aggregate
      const cell = row[slot]!
      if (name === 'count') this.#counts[i]! += BigInt(String(cell))
      if (countSlot !== undefined) this.#counts[i]! += BigInt(String(row[countSlot]!))
      if (cell === null) return
      const type = this.#types[slot]!
      if (name === 'sum' || name === 'avg') {
        const more = exact({ type, cell })
        this.#totals[i] = this.#totals[i] ? add(this.#totals[i], more) : more
      } else if (name === 'distinct') {
        this.#distinct[i]!.add(identityOf(row, aggregate, this.#types, this.#merge.dialect))
      } else if (name !== 'count') {
        const weight = weightSlot === undefined ? {} : { weight: String(row[weightSlot]) }
        this.#extremes[i] = further(name, this.#extremes[i], { type, cell, ...weight }, this.#merge.textOrder)
      }
    })
  }

  cell(slot: number, weightSlot: number | undefined): Value {
    return this.#first === undefined ? NULL : new Row(this.#first, this.#types).cell(slot, weightSlot)
  }

  aggregate(index: number): Value {
    const { name, slot } = this.#merge.aggregates[index]!
    const total = this.#totals[index]
    if (name === 'count') return { type: 'integer', cell: `${this.#counts[index]!}` }
    if (name === 'distinct') return { type: 'integer', cell: `${this.#distinct[index]!.size}` }
    if (name === 'min' || name === 'max') return this.#extremes[index] ?? NULL
    if (total === undefined) return NULL
    if (name === 'sum') return { type: this.#types[slot]!, cell: formatDecimal(total) }
    return quotient(total, { units: this.#counts[index]!, scale: 0 }, false, this.#merge.dialect)
  }
}

function further(name: 'min' | 'max', known: Value | undefined, other: Value, textOrder: TextOrder): Value {
  if (known === undefined) return other
  const order = orderOf(known, other, textOrder)
  return name === 'min' ? (order <= 0 ? known : other) : order >= 0 ? known : other
}

function sortGroups<G extends MergedGroup>(
  groups: readonly G[],
  sortKeys: readonly SortKey[],
  manner: Manner,
): readonly G[] {
  if (sortKeys.length === 0) return groups
  const keyed = groups.map(group => ({ group, keys: keysOf(group, sortKeys, manner) }))
  keyed.sort((a, b) => compareKeys(a.keys, b.keys, sortKeys, manner))
  return keyed.map(({ group }) => group)
}

function tooManyRows(rowsMax: number): FreshetError {
  return new FreshetError(
    'LIMIT_EXCEEDED',
    `The shards would send more than ${rowsMax} rows or groups for this query, the most that this server merges. Narrow it, ` +
      'or raise sqlRowsMax on the server: --sql-rows-max, or FRESHET_SQL_ROWS_MAX.',
    { details: { rowsMax, setting: 'sqlRowsMax' } },
  )
}
