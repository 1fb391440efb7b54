/**
 * The object of a row: a JSON object with a field for each column, whose bytes or text the database returns.
 *
 * Numbers are JSON numbers where a double holds them exactly, otherwise texts (integers beyond 2^53, decimals with more than
 * 15 digits); times are ISO 8601, timestamps in UTC; bytes are hexadecimal after \x; NULL is null; JSON is itself; everything
 * else is MariaDB's own text.
 */
import type { ExposedTable, TableColumn } from '../../sql/tables/exposed-table.js'
import { cannotBeRow } from '../../sql/tables/table-errors.js'
import type { Value } from '../statements.js'
import { quoteName } from './row-sql.js'

/** What to write into a column: an expression, and its parameters. */
export interface NewValue {
  readonly text: string
  readonly values: readonly Value[]
}

const DIGITS_MAX = 15
const FLOAT_DIGITS = [6, 7, 8, 9]
const DEFAULT: NewValue = { text: 'DEFAULT', values: [] }
const NUMBERS = ['integer', 'unsigned', 'decimal', 'float', 'double', 'bit']

/** The column of `t`, as bytes: its own, or those of its text. */
export function columnBytes({ name, baseType }: TableColumn): string {
  const value = `t.${quoteName(name)}`
  if (baseType === 'bytes') return value
  if (baseType === 'text' || baseType === 'json') return `CAST(CONVERT(${value} USING utf8mb4) AS BINARY)`
  // Without the zeros of ZEROFILL; and with all digits of a float.
  if (baseType === 'integer' || baseType === 'unsigned' || baseType === 'bit')
    return `CAST(CAST(${value} + 0 AS CHAR) AS BINARY)`
  if (baseType === 'float') return `CAST(CAST(CAST(${value} AS DOUBLE) AS CHAR) AS BINARY)`
  return `CAST(CAST(${value} AS CHAR) AS BINARY)`
}

/** The object of a row: `cells` are the results of `columnBytes`, in the order of the columns. */
export function toJson({ columns }: ExposedTable, cells: readonly unknown[]): string {
  const fields = columns.map((column, i) => `${JSON.stringify(column.name)}:${fieldJson(column, cells[i])}`)
  return `{${fields.join()}}`
}

function fieldJson({ baseType }: TableColumn, cell: unknown): string {
  if (cell === null) return 'null'
  if (baseType === 'bytes') return JSON.stringify(`\\x${(cell as Buffer).toString('hex')}`)
  const text = (cell as Buffer).toString()
  switch (baseType) {
    case 'integer':
    case 'unsigned':
    case 'bit':
      return Number.isSafeInteger(Number(text)) ? text : JSON.stringify(text)
    case 'decimal':
      return decimalJson(text)
    case 'float':
      return JSON.stringify(shortest(Number(text)))
    case 'double':
      return JSON.stringify(Number(text))
    case 'timestamp':
      return JSON.stringify(`${text.replace(' ', 'T')}+00:00`)
    case 'datetime':
      return JSON.stringify(text.replace(' ', 'T'))
    case 'json':
      return isJson(text) ? text : JSON.stringify(text)
    default:
      return JSON.stringify(text)
  }
}

function decimalJson(text: string): string {
  const trimmed = text.includes('.') ? text.replace(/\.?0+$/, '') : text
  return trimmed.replaceAll(/\D/g, '').length <= DIGITS_MAX ? trimmed : JSON.stringify(text)
}

/** A double that is a float, with as few digits as possible. */
function shortest(value: number): number {
  const found = FLOAT_DIGITS.map(digits => Number(value.toPrecision(digits))).find(each => Math.fround(each) === value)
  return found ?? value
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // MariaDB accepts some texts as JSON that are not.
    return false
  }
}

/**
 * What to write into a column, from the JSON text of its field; undefined: the field is missing. Throws `CommitRefused` for a
 * value that the column cannot hold.
 */
export function newValueOf(
  table: ExposedTable,
  id: string,
  column: TableColumn,
  spelled: string | undefined,
): NewValue {
  if (spelled === undefined) return DEFAULT
  const { name, baseType } = column
  const field: unknown = JSON.parse(spelled)
  if (field === null) return { text: 'NULL', values: [] }
  if (baseType === 'json') return parameter(spelled)
  if (typeof field === 'boolean' && NUMBERS.includes(baseType)) return { text: field ? '1' : '0', values: [] }
  const text = typeof field === 'string' ? field : spelled
  if (baseType === 'bit') return { text: 'CAST(? AS UNSIGNED)', values: [text] }
  if (baseType === 'timestamp') return parameter(inUtc(text))
  if (baseType !== 'bytes') return parameter(text)
  if (!/^\\x([0-9a-f]{2})*$/i.test(text)) throw cannotBeRow(table, id, `${name} is bytes: \\x and hexadecimal digits`)
  return parameter(Buffer.from(text.slice(2), 'hex'))
}

function parameter(value: Value): NewValue {
  return { text: '?', values: [value] }
}

/** MariaDB accepts no time zones; it will refuse any text that is not understood here. */
function inUtc(text: string): string {
  const [, date, time, fraction = '', zone] =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)$/.exec(text) ?? []
  if (zone === undefined) return text
  if (/^(Z|[+-]00:?00)$/.test(zone)) return `${date} ${time}${fraction}`
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone)!
  const aheadMs = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  const utcMs = Date.parse(`${date}T${time}Z`) - aheadMs
  return Number.isNaN(utcMs) ? text : `${new Date(utcMs).toISOString().slice(0, 19).replace('T', ' ')}${fraction}`
}

/**
 * Whether an object, as its writer spelled it, equals the row. May report a difference that does not exist, but never misses
 * one.
 */
export function isSameRow({ columns }: ExposedTable, written: string, row: string): boolean {
  if (written === row) return true
  if (!isJson(written)) return false
  const [ours, theirs] = [fieldsOf(written), fieldsOf(row)]
  return ours.size === theirs.size && columns.every(column => isSameField(column, ours, theirs))
}

function isSameField(
  { name, baseType }: TableColumn,
  ours: ReadonlyMap<string, string>,
  theirs: ReadonlyMap<string, string>,
): boolean {
  const [one, other] = [ours.get(name), theirs.get(name)]
  if (one === other) return true
  if (one === undefined || other === undefined || baseType === 'json') return false
  // Numbers with more digits may differ although they are the same double.
  return one.replaceAll(/\D/g, '').length <= DIGITS_MAX && JSON.parse(one) === JSON.parse(other)
}

/** The fields of a JSON object, as they are spelled: numbers that JSON.parse returns have lost digits. */
export function fieldsOf(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  let name: string | undefined
  let depth = 0
  let from = 0
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g)) {
    const isEnd = depth === 1 && (token === ',' || token === '}')
    if (isEnd && name !== undefined) fields.set(name, text.slice(from, index).trim())
    if (isEnd) name = undefined
    if (token === '{' || token === '[') depth++
    else if (token === '}' || token === ']') depth--
    else if (depth === 1 && name === undefined && token.startsWith('"')) name = JSON.parse(token) as string
    else if (depth === 1 && token === ':') from = index + 1
  }
  return fields
}
