/**
 * What is computed after the rows of several shards have been merged: sums of sums, quotients, conditions on aggregates. Only an
 * expression whose result here is exactly that of the engine has a form; the rest is refused. The engines compute all expressions
 * without an aggregate, which are cells here.
 */
import {
  add,
  compare,
  type Decimal,
  divide,
  divideWhole,
  formatDecimal,
  multiply,
  parseDecimal,
  round,
  shownScale,
  subtract,
} from './decimal.js'
import { sqlInvalid, sqlRefused } from './refusals.js'
import type { Dialect } from './shard-map.js'
import type { Arithmetic, Comparison } from './sql-tree.js'

/** As shards send them: whole numbers and decimals are text, because a JavaScript number cannot hold them all exactly. */
export type Cell = string | number | boolean | null

export type CellType = 'integer' | 'decimal' | 'float' | 'text' | 'date' | 'boolean' | 'other'

export interface Value {
  readonly type: CellType
  readonly cell: Cell
  /** For text in MariaDB: the bytes that it is ordered by. */
  readonly weight?: string
  /** For a quotient in MariaDB: its value with the digits that MariaDB computes with and does not show. */
  readonly inner?: Decimal
}

export type Final =
  | { readonly kind: 'cell'; readonly slot: number; readonly weightSlot?: number }
  | { readonly kind: 'aggregate'; readonly index: number }
  | { readonly kind: 'constant'; readonly value: Value }
  | {
      readonly kind: 'binary'
      readonly operator: Arithmetic | Comparison
      readonly left: Final
      readonly right: Final
    }
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Final[] }
  | { readonly kind: 'not' | 'negative'; readonly of: Final }
  | { readonly kind: 'isNull'; readonly of: Final; readonly isNegated: boolean }

export interface MergedGroup {
  cell(slot: number, weightSlot: number | undefined): Value
  aggregate(index: number): Value
}

export const NULL: Value = { type: 'other', cell: null }

export function evaluate(final: Final, group: MergedGroup, dialect: Dialect): Value {
  switch (final.kind) {
    case 'cell':
      return group.cell(final.slot, final.weightSlot)
    case 'aggregate':
      return group.aggregate(final.index)
    case 'constant':
      return final.value
    case 'isNull':
      return truth((evaluate(final.of, group, dialect).cell === null) !== final.isNegated, dialect)
    case 'not': {
      const is = isTrue(evaluate(final.of, group, dialect))
      return truth(is === undefined ? undefined : !is, dialect)
    }
    case 'and':
    case 'or':
      return truth(
        together(
          final.kind,
          final.parts.map(part => isTrue(evaluate(part, group, dialect))),
        ),
        dialect,
      )
    case 'negative': {
      const of = evaluate(final.of, group, dialect)
      return of.cell === null ? NULL : arithmetic('-', { type: 'integer', cell: '0' }, of, dialect)
    }
    case 'binary': {
      const [left, right] = [evaluate(final.left, group, dialect), evaluate(final.right, group, dialect)]
      if (left.cell === null || right.cell === null) return NULL
      const { operator } = final
      return isArithmetic(operator)
        ? arithmetic(operator, left, right, dialect)
        : truth(COMPARISONS[operator](compareValues(left, right)), dialect)
    }
  }
}

/** Undefined if unknown, because the value is null. */
export function isTrue({ type, cell }: Value): boolean | undefined {
  if (cell === null) return undefined
  if (typeof cell === 'boolean') return cell
  if (type === 'integer') return cell !== '0'
  throw sqlRefused('after merging, a value that is not a condition is used as one')
}

function truth(is: boolean | undefined, dialect: Dialect): Value {
  if (is === undefined) return NULL
  return dialect === 'mariadb' ? { type: 'integer', cell: is ? '1' : '0' } : { type: 'boolean', cell: is }
}

function together(kind: 'and' | 'or', parts: readonly (boolean | undefined)[]): boolean | undefined {
  const decisive = kind === 'or'
  if (parts.includes(decisive)) return decisive
  return parts.includes(undefined) ? undefined : !decisive
}

function isArithmetic(operator: Arithmetic | Comparison): operator is Arithmetic {
  return '+-*/%'.includes(operator)
}

const COMPARISONS: Readonly<Record<Comparison, (order: number) => boolean>> = {
  '=': order => order === 0,
  '<>': order => order !== 0,
  '<': order => order < 0,
  '<=': order => order <= 0,
  '>': order => order > 0,
  '>=': order => order >= 0,
}

function arithmetic(operator: Arithmetic, left: Value, right: Value, dialect: Dialect): Value {
  const [a, b] = [exact(left), exact(right)]
  const areWhole = left.type === 'integer' && right.type === 'integer'
  const type = areWhole ? 'integer' : 'decimal'
  const shown = [left, right].map(value => parseDecimal(String(value.cell))!) as [Decimal, Decimal]
  switch (operator) {
    case '+':
      return computed(type, add(a, b), Math.max(shown[0].scale, shown[1].scale))
    case '-':
      return computed(type, subtract(a, b), Math.max(shown[0].scale, shown[1].scale))
    case '*':
      return computed(type, multiply(a, b), dialect === 'mariadb' ? shownScale('*', ...shown) : a.scale + b.scale)
    case '/':
      return quotient(a, b, areWhole, dialect, shown)
    default:
      throw sqlRefused('% is applied to an aggregate')
  }
}

function computed(type: CellType, inner: Decimal, scale: number): Value {
  const cell = formatDecimal(round(inner, scale))
  return inner.scale > scale ? { type, cell, inner } : { type, cell }
}

/** MariaDB never divides whole numbers as whole numbers, and division by 0 gives NULL there. */
export function quotient(
  a: Decimal,
  b: Decimal,
  areWhole: boolean,
  dialect: Dialect,
  shown: readonly [Decimal, Decimal] = [a, b],
): Value {
  if (b.units === 0n) {
    if (dialect === 'mariadb') return NULL
    throw sqlInvalid('it divides by zero')
  }
  if (dialect === 'mariadb') return computed('decimal', divide(a, b, dialect), shownScale('/', ...shown))
  if (areWhole) return { type: 'integer', cell: formatDecimal(divideWhole(a, b)) }
  return { type: 'decimal', cell: formatDecimal(divide(a, b, dialect)) }
}

export function exact({ type, cell, inner }: Value): Decimal {
  if (inner) return inner
  if (type === 'float') {
    throw sqlRefused(
      'floating-point numbers are added or divided, and the result depends on their order. Cast them to decimal first',
    )
  }
  const decimal =
    typeof cell === 'string' && (type === 'integer' || type === 'decimal') ? parseDecimal(cell) : undefined
  if (decimal) return decimal
  throw sqlRefused('after merging, arithmetic is applied to a value that is not a number')
}

const DATE = /^(?:\d{4,}-\d\d-\d\d(?: BC)?|-?infinity)$/
const YEAR_AND_REST = /^(\d+)(.*?)( BC)?$/

function compareValues(left: Value, right: Value): number {
  const dates = [left.cell, right.cell].every(cell => typeof cell === 'string' && DATE.test(cell))
  if (dates && (left.type === 'date' || right.type === 'date')) {
    return compareDates(String(left.cell), String(right.cell))
  }
  if (left.type === 'float' || right.type === 'float') return compareFloats(Number(left.cell), Number(right.cell))
  return compareNumbers(left, right)
}

/** NaN is the largest value, and equal to itself, as in PostgreSQL. MariaDB has no NaN. */
export function compareFloats(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * Compares dates, with or without a time, as PostgreSQL and MariaDB print them: years have four digits or more; `BC` comes last.
 */
export function compareDates(a: string, b: string): number {
  const [[yearOfA, restOfA], [yearOfB, restOfB]] = [datePartsOf(a), datePartsOf(b)]
  return compareFloats(yearOfA, yearOfB) || (restOfA < restOfB ? -1 : restOfA > restOfB ? 1 : 0)
}

function datePartsOf(text: string): readonly [year: number, rest: string] {
  const [, year, rest = '', before] = YEAR_AND_REST.exec(text) ?? []
  if (year === undefined) return [text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY, '']
  return [before === undefined ? Number(year) : -Number(year), rest]
}

/** Compares two exact numbers. Throws SQL_REFUSED. */
export function compareNumbers(left: Value, right: Value): number {
  const order = compare(exact(left), exact(right))
  const shown = compare(...([left, right].map(({ cell }) => parseDecimal(String(cell))!) as [Decimal, Decimal]))
  // MariaDB compares the exact or the shown digits, depending on its plan. The two orders hardly ever differ.
  if (Math.sign(order) !== Math.sign(shown)) {
    throw sqlRefused(
      'an average or a quotient is compared or sorted with a value that differs from it only after the digits shown',
    )
  }
  return order
}
