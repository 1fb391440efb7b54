/**
 * A table of somebody else's that is a bucket: which it is, its columns, and how a row is an object, in SQL.
 *
 * A row is a JSON object with a field for each column. Numbers are numbers where a double holds them exactly, else texts (bigint beyond
 * 2^53, numeric with more than 15 digits); times are ISO 8601, those with a time zone in UTC; bytes are hexadecimal after \x; NULL is
 * null. It is made in sessions of ours alone, whose settings are known.
 *
 * The id is the key as a text; of several columns, those texts with a comma between, after , and % in them became %2C and %25.
 */
import type { Key } from '@freshet/core/store'

export interface ExposedTable {
  /** By which changes are told apart in `incoming`. */
  readonly number: number
  readonly bucket: Key
  readonly schema: string
  readonly name: string
  /** In order. */
  readonly columns: readonly TableColumn[]
  /** Names of columns: the primary key. */
  readonly key: readonly string[]
  /** Which columns were asked for; undefined: all there are. */
  readonly asked?: readonly string[]
  /** The table, or its key, is not there any more. */
  readonly isGone?: true
}

export interface TableColumn {
  readonly name: string
  /** As in CREATE TABLE. */
  readonly type: string
  /** Of a domain, what is below it. */
  readonly baseType: string
  /** An expression. */
  readonly defaultValue?: string
  /** The database makes it: it is read, and not written. */
  readonly isGenerated: boolean
}

/** What a key may be made of: what has one spelling. */
export const KEY_TYPES: Readonly<Record<string, RegExp>> = {
  smallint: /^(0|-?[1-9]\d*)$/,
  integer: /^(0|-?[1-9]\d*)$/,
  bigint: /^(0|-?[1-9]\d*)$/,
  text: /^/,
  'character varying': /^/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
}

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

export function columnOf({ columns }: ExposedTable, name: string): TableColumn {
  return columns.find(column => column.name === name)!
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

/** The id of a row, which may be OLD or NEW. */
export function idOf(table: ExposedTable, row: string): string {
  const texts = table.key.map(name => keyText(columnOf(table, name), `${row}.${quoteName(name)}`))
  if (texts.length === 1) return texts[0]!
  return texts.map(text => `replace(replace(${text}, '%', '%25'), ',', '%2C')`).join(` || ',' || `)
}

function keyText({ type }: TableColumn, value: string): string {
  return type === 'date' ? `to_char(${value}, 'YYYY-MM-DD')` : `${value}::text`
}

/** The columns of the key, of an id. */
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

/** The parts of an id; undefined if no row can have it. */
export function partsOf(table: ExposedTable, id: string): readonly string[] | undefined {
  const { key } = table
  const parts = key.length === 1 ? [id] : id.split(',').map(part => part.replaceAll('%2C', ',').replaceAll('%25', '%'))
  const spelled =
    key.length === 1 ? id : parts.map(part => part.replaceAll('%', '%25').replaceAll(',', '%2C')).join(',')
  const isOne =
    spelled === id &&
    parts.length === key.length &&
    key.every((name, i) => KEY_TYPES[columnOf(table, name).baseType]?.test(parts[i]!))
  return isOne ? parts : undefined
}
