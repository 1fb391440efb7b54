/**
 * How a row is an object: a JSON object with a field for each column, of which the database says the bytes, or a text.
 *
 * Numbers are numbers where a double holds them exactly, else texts (integers beyond 2^53, decimals with more than 15 digits); times are
 * ISO 8601, timestamps in UTC; bytes are hexadecimal after \x; NULL is null; JSON is itself; all else is the text that MariaDB has for it.
 */
import type { ExposedTable, TableColumn } from '../../sql/tables/exposed-table.js'
import { cannotBeRow } from '../../sql/tables/table-errors.js'
import type { Value } from '../statements.js'
import { quoteName } from './row-sql.js'

/** What a column is told by: an expression, and what it needs. */
export interface Told {
  readonly text: string
  readonly values: readonly Value[]
}

const DIGITS_MAX = 15
const FLOAT_DIGITS = [6, 7, 8, 9]
const DEFAULT: Told = { text: 'DEFAULT', values: [] }
const NUMBERS = ['integer', 'unsigned', 'decimal', 'float', 'double', 'bit']

/** The column of `t`, as bytes: its own, or those of a text. */
export function columnBytes({ name, baseType }: TableColumn): string {
  const value = `t.${quoteName(name)}`
  if (baseType === 'bytes') return value
  if (baseType === 'text' || baseType === 'json') return `CAST(CONVERT(${value} USING utf8mb4) AS BINARY)`
  // Without the zeros of ZEROFILL; and all digits of a float.
  if (baseType === 'integer' || baseType === 'unsigned' || baseType === 'bit')
    return `CAST(CAST(${value} + 0 AS CHAR) AS BINARY)`
  if (baseType === 'float') return `CAST(CAST(CAST(${value} AS DOUBLE) AS CHAR) AS BINARY)`
  return `CAST(CAST(${value} AS CHAR) AS BINARY)`
}

/** The object that a row is: `cells` are what `columnBytes` said, in the order of the columns. */
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

/** A double that is a float, with as few digits as it takes. */
function shortest(value: number): number {
  const found = FLOAT_DIGITS.map(digits => Number(value.toPrecision(digits))).find(each => Math.fround(each) === value)
  return found ?? value
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // MariaDB takes some for JSON that is none.
    return false
  }
}

/** What a column becomes of a field, as it is spelled in the JSON; undefined: of none. Throws `CommitRefused` for what it cannot be. */
export function toldBy(table: ExposedTable, id: string, column: TableColumn, spelled: string | undefined): Told {
  if (spelled === undefined) return DEFAULT
  const { name, baseType } = column
  const field: unknown = JSON.parse(spelled)
  if (field === null) return { text: 'NULL', values: [] }
  if (baseType === 'json') return told(spelled)
  if (typeof field === 'boolean' && NUMBERS.includes(baseType)) return { text: field ? '1' : '0', values: [] }
  const text = typeof field === 'string' ? field : spelled
  if (baseType === 'bit') return { text: 'CAST(? AS UNSIGNED)', values: [text] }
  if (baseType === 'timestamp') return told(inUtc(text))
  if (baseType !== 'bytes') return told(text)
  if (!/^\\x([0-9a-f]{2})*$/i.test(text)) throw cannotBeRow(table, id, `${name} is bytes: \\x and hexadecimal digits`)
  return told(Buffer.from(text.slice(2), 'hex'))
}

function told(value: Value): Told {
  return { text: '?', values: [value] }
}

/** MariaDB takes no time zones; what is not understood, it refuses. */
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

/** Whether an object, as whoever has written it spells it, is what the row is. Finds a difference too many rather than none. */
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
  // Numbers with more digits may be different, and the same as doubles.
  return one.replaceAll(/\D/g, '').length <= DIGITS_MAX && JSON.parse(one) === JSON.parse(other)
}

/** The fields of a JSON object, as they are spelled: what JSON.parse makes of numbers has lost digits. */
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
