/**
 * Prints a query for an engine. Parameters stay parameters. Apart from keywords, only quoted names, numbers made of digits and
 * quoted texts of the query itself are printed, for sessions in which a quote is escaped by another quote and by nothing else.
 */
import type { ParameterValue } from './locality.js'
import { sqlInvalid } from './refusals.js'
import type { Dialect } from './shard-map.js'
import type { CastType, Expression, From, Select, SelectItem } from './sql-tree.js'

export interface Statement {
  readonly text: string
  readonly values: readonly ParameterValue[]
}

export function renderSelect(select: Select, dialect: Dialect, values: readonly ParameterValue[]): Statement {
  const printer = new Printer(dialect, values)
  return { text: printer.select(select), values: printer.bound }
}

export function quoteName(name: string, dialect: Dialect): string {
  const quote = dialect === 'mariadb' ? '`' : '"'
  return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`
}

export class Printer {
  readonly bound: ParameterValue[] = []
  readonly #dialect: Dialect
  readonly #values: readonly ParameterValue[]
  readonly #places = new Map<number, number>()

  constructor(dialect: Dialect, values: readonly ParameterValue[]) {
    this.#dialect = dialect
    this.#values = values
  }

  select(select: Select): string {
    const { isDistinct, items, from, where, groupBy, having, orderBy, limit, offset } = select
    const listed = items.map(item => this.#item(item as SelectItem)).join(', ')
    return [
      `SELECT ${isDistinct ? 'DISTINCT ' : ''}${listed}`,
      ...(from ? [`FROM ${this.#from(from)}`] : []),
      ...(where ? [`WHERE ${this.print(where)}`] : []),
      ...(groupBy.length > 0 ? [`GROUP BY ${groupBy.map(each => this.#grouped(each, select)).join(', ')}`] : []),
      ...(having ? [`HAVING ${this.print(having)}`] : []),
      ...(orderBy.length > 0
        ? [
            `ORDER BY ${orderBy.map(each => `${this.#grouped(each.expression, select)}${each.isDescending ? ' DESC' : ''}`).join(', ')}`,
          ]
        : []),
      ...(limit ? [`LIMIT ${this.print(limit)}`] : []),
      ...(offset ? [`OFFSET ${this.print(offset)}`] : []),
    ].join(' ')
  }

  print(expression: Expression): string {
    switch (expression.kind) {
      case 'column':
        return this.#column(expression.relation, expression.name)
      case 'literal':
        return this.#literal(expression.type, expression.text)
      case 'parameter':
        return this.#parameter(expression.index)
      case 'binary':
        return `(${this.print(expression.left)} ${expression.operator.toUpperCase()} ${this.print(expression.right)})`
      case 'and':
      case 'or':
        return `(${expression.parts.map(part => this.print(part)).join(expression.kind === 'and' ? ' AND ' : ' OR ')})`
      case 'not':
        return `(NOT ${this.print(expression.of)})`
      case 'negative':
        return `(- ${this.print(expression.of)})`
      case 'isNull':
        return `(${this.print(expression.of)} IS ${expression.isNegated ? 'NOT ' : ''}NULL)`
      case 'between':
        return `(${this.print(expression.of)}${not(expression)} BETWEEN ${this.print(expression.low)} AND ${this.print(expression.high)})`
      case 'in':
        return `(${this.print(expression.of)}${not(expression)} IN (${expression.list.map(each => this.print(each)).join(', ')}))`
      case 'inQuery':
        return `(${this.print(expression.of)}${not(expression)} IN (${this.select(expression.query)}))`
      case 'exists':
        return `EXISTS (${this.select(expression.query)})`
      case 'case':
        return this.#case(expression)
      case 'call':
        return this.#call(expression.name, expression.args)
      case 'cast':
        return `CAST(${this.print(expression.of)} AS ${this.#castType(expression.to)})`
      case 'weight':
        return weightOf(this.print(expression.of), expression)
      case 'aggregate': {
        const of = expression.of ? this.print(expression.of) : '*'
        return `${expression.name.toUpperCase()}(${expression.isDistinct ? 'DISTINCT ' : ''}${of})`
      }
    }
  }

  #item({ expression, alias }: SelectItem): string {
    const printed = this.print(expression)
    return alias === undefined ? printed : `${printed} AS ${quoteName(alias, this.#dialect)}`
  }

  /** A number alone would be taken for the position of a column. */
  #grouped(expression: Expression, { items }: Select): string {
    const isConstant = expression.kind === 'literal' || expression.kind === 'parameter'
    if (!isConstant) return this.print(expression)
    const place = items.findIndex(item => 'expression' in item && item.expression === expression)
    return place === -1 ? `(${this.print(expression)} + 0)` : `${place + 1}`
  }

  #column(relation: string | undefined, name: string): string {
    const column = quoteName(name, this.#dialect)
    return relation === undefined ? column : `${quoteName(relation, this.#dialect)}.${column}`
  }

  #literal(type: 'number' | 'text' | 'boolean' | 'null', text: string): string {
    if (type === 'null') return 'NULL'
    if (type !== 'text') return text
    if (text.includes('\u0000')) throw sqlInvalid('a text holds a zero byte')
    return `'${text.replaceAll("'", "''")}'`
  }

  #parameter(index: number): string {
    if (index >= this.#values.length) throw sqlInvalid(`it has no value for $${index + 1}`)
    const value = this.#values[index]!
    if (this.#dialect === 'mariadb') {
      this.bound.push(value)
      return '?'
    }
    if (!this.#places.has(index)) this.#places.set(index, this.bound.push(value))
    return `$${this.#places.get(index)}${postgresType(value)}`
  }

  #case({ whens, otherwise }: Extract<Expression, { kind: 'case' }>): string {
    const parts = whens.map(({ when, gives }) => `WHEN ${this.print(when)} THEN ${this.print(gives)}`)
    return `(CASE ${parts.join(' ')}${otherwise ? ` ELSE ${this.print(otherwise)}` : ''} END)`
  }

  #call(name: string, args: readonly Expression[]): string {
    const [first, second] = args
    if (name === 'extract' && first?.kind === 'literal' && second) {
      return `EXTRACT(${first.text.toUpperCase()} FROM ${this.print(second)})`
    }
    return `${name.toUpperCase()}(${args.map(each => this.print(each)).join(', ')})`
  }

  #castType({ name, precision, scale }: CastType): string {
    if (name === 'integer') return this.#dialect === 'mariadb' ? 'SIGNED' : 'bigint'
    if (name === 'text') return this.#dialect === 'mariadb' ? 'CHAR' : 'text'
    if (name === 'date') return 'date'
    return precision === undefined ? 'decimal' : `decimal(${precision}${scale === undefined ? '' : `, ${scale}`})`
  }

  #from(from: From): string {
    if (from.kind === 'table')
      return `${quoteName(from.table, this.#dialect)} AS ${quoteName(from.alias, this.#dialect)}`
    if (from.kind === 'query') return `(${this.select(from.query)}) AS ${quoteName(from.alias, this.#dialect)}`
    const join = from.join === 'left' ? 'LEFT JOIN' : from.on ? 'JOIN' : 'CROSS JOIN'
    const on = from.on ? ` ON ${this.print(from.on)}` : ''
    const right = from.right.kind === 'join' ? `(${this.#from(from.right)})` : this.#from(from.right)
    return `${this.#from(from.left)} ${join} ${right}${on}`
  }
}

function not({ isNegated }: { readonly isNegated: boolean }): string {
  return isNegated ? ' NOT' : ''
}

/** Without a cast, PostgreSQL infers the type from the context, and cannot always do so. */
function postgresType(value: ParameterValue): string {
  if (typeof value === 'boolean') return '::boolean'
  if (typeof value !== 'number') return ''
  return Number.isSafeInteger(value) ? '::bigint' : '::numeric'
}

/**
 * `AS CHAR(n)` cuts to n weights and pads to n: with n large enough for all weights, text is ordered as these bytes are. For a
 * collation without padding the smallest weight fills up instead, which a text may also end with; then the longer text is the
 * larger one.
 */
function weightOf(text: string, { weightsMax, isUnpadded }: Extract<Expression, { kind: 'weight' }>): string {
  const weights = `HEX(WEIGHT_STRING(${text} AS CHAR(${weightsMax})))`
  return isUnpadded ? `CONCAT(${weights}, LPAD(HEX(LENGTH(WEIGHT_STRING(${text}))), 8, '0'))` : weights
}
