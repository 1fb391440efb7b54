/**
 * The object of a row, in SQL.
 *
 * A row is a JSON object with a field for each column. Numbers are JSON numbers where a double holds them exactly, otherwise
 * texts (bigint beyond 2^53, numeric with more than 15 digits); times are ISO 8601, those with a time zone in UTC; bytes are
 * hexadecimal after \x; NULL is null. Only our own sessions create it, because they have known settings.
 */
import { columnOf, type ExposedTable, type TableColumn } from '../../sql/tables/exposed-table.js'

const NUMBER_MAX = Number.MAX_SAFE_INTEGER
const DIGITS_MAX = 15

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

export function nameOf({ schema, name }: Pick<ExposedTable, 'schema' | 'name'>): string {
  return `${quoteName(schema)}.${quoteName(name)}`
}

/** The row of `t`, as JSON. */
export function rowJson({ columns }: ExposedTable): string {
  const fields = columns.map(column => `${fieldJson(column)} AS ${quoteName(column.name)}`)
  return `(SELECT row_to_json(x) FROM (SELECT ${fields.join(', ')}) x)`
}

function fieldJson({ name, baseType }: TableColumn): string {
  const value = `t.${quoteName(name)}`
  if (baseType === 'bigint') {
    const isSafe = `${value} BETWEEN -${NUMBER_MAX} AND ${NUMBER_MAX}`
    return `CASE WHEN ${isSafe} THEN to_json(${value}) ELSE to_json(${value}::text) END`
  }
  if (baseType === 'numeric') {
    const isSafe = `length(regexp_replace(trim_scale(${value})::text, '[^0-9]', '', 'g')) <= ${DIGITS_MAX}`
    return `CASE WHEN ${isSafe} THEN to_json(trim_scale(${value})) ELSE to_json(${value}::text) END`
  }
  return value
}

/** The id of a row, which may also be OLD or NEW. */
export function idOf(table: ExposedTable, row: string): string {
  const texts = table.key.map(name => keyText(columnOf(table, name), `${row}.${quoteName(name)}`))
  if (texts.length === 1) return texts[0]!
  return texts.map(text => `replace(replace(${text}, '%', '%25'), ',', '%2C')`).join(` || ',' || `)
}

function keyText({ type }: TableColumn, value: string): string {
  return type === 'date' ? `to_char(${value}, 'YYYY-MM-DD')` : `${value}::text`
}

/** The values of the key columns, from an id. */
export function keyValues({ key }: ExposedTable, id: string): string[] {
  if (key.length === 1) return [id]
  const unescaped = (part: string) => `replace(replace(${part}, '%2C', ','), '%25', '%')`
  return key.map((_, i) => unescaped(`split_part(${id}, ',', ${i + 1})`))
}

/** Whether `t` is the row with this id. */
export function hasId(table: ExposedTable, id: string): string {
  const values = keyValues(table, id)
  const equal = table.key.map((name, i) => `t.${quoteName(name)} = (${values[i]})::${columnOf(table, name).type}`)
  return equal.join(' AND ')
}
