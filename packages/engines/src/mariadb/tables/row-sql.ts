/** Which row has which id, in SQL. Ids are bytes, so that no collation makes two of them equal. */
import {
  columnOf,
  type ExposedTable,
  partsOf,
  type TableColumn,
  type TableName,
} from '../../sql/tables/exposed-table.js'
import type { Value } from '../statements.js'

export function quoteName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

export function nameOf({ schema, name }: TableName): string {
  return `${quoteName(schema)}.${quoteName(name)}`
}

/** The id of a row, which may be OLD or NEW: spelled as the row itself spells it. */
export function idOf(table: ExposedTable, row: string): string {
  const texts = table.key.map(name => keyText(columnOf(table, name), `${row}.${quoteName(name)}`))
  if (texts.length === 1) return texts[0]!
  return `CONCAT(${texts.map(text => `REPLACE(REPLACE(${text}, '%', '%25'), ',', '%2C')`).join(`, ',', `)})`
}

function keyText({ baseType }: TableColumn, value: string): string {
  if (baseType === 'text') return `CAST(CONVERT(${value} USING utf8mb4) AS BINARY)`
  // Without the zeros of ZEROFILL.
  if (baseType === 'integer' || baseType === 'unsigned') return `CAST(CAST(${value} + 0 AS CHAR) AS BINARY)`
  return `CAST(CAST(${value} AS CHAR) AS BINARY)`
}

/** Whether `t` is the row whose id is in a column of bytes: first by its index, then exactly. */
export function hasId(table: ExposedTable, id: string): string {
  const equal = table.key.map((name, i) => {
    const part = `SUBSTRING_INDEX(SUBSTRING_INDEX(${id}, ',', ${i + 1}), ',', -1)`
    const value = table.key.length === 1 ? id : `REPLACE(REPLACE(${part}, '%2C', ','), '%25', '%')`
    return `t.${quoteName(name)} = ${keyValue(columnOf(table, name), value)}`
  })
  return `${equal.join(' AND ')} AND ${idOf(table, 't')} = ${id}`
}

function keyValue({ baseType, charset, collation }: TableColumn, bytes: string): string {
  const text = `CONVERT(${bytes} USING utf8mb4)`
  if (baseType === 'text') return `CONVERT(${text} USING ${charset}) COLLATE ${collation}`
  if (baseType === 'integer') return `CAST(${bytes} AS SIGNED)`
  if (baseType === 'unsigned') return `CAST(${bytes} AS UNSIGNED)`
  return `CAST(${text} AS ${baseType === 'date' ? 'DATE' : 'UUID'})`
}

/** Whether `t` has at most that many bytes. Columns of small types are not counted. */
export function isAtMost({ columns }: ExposedTable, bytesMax: number): string {
  const large = columns.filter(({ type }) => /^(medium|long)/.test(type))
  if (large.length === 0) return 'TRUE'
  return `${large.map(({ name }) => `COALESCE(OCTET_LENGTH(t.${quoteName(name)}), 0)`).join(' + ')} <= ${bytesMax}`
}

export interface Condition {
  readonly text: string
  readonly values: readonly Value[]
}

/** Whether `t` is this row, or one that is equal to it in its collation. */
export function isRow(table: ExposedTable, id: string, alias = 't.'): Condition {
  const text = table.key.map(name => `${alias}${quoteName(name)} = ?`).join(' AND ')
  return { text, values: partsOf(table, id)! }
}

/** Whether `t` is one of these rows. */
export function isOneOf(table: ExposedTable, ids: readonly string[]): Condition {
  const values = ids.flatMap(id => partsOf(table, id)!)
  if (table.key.length === 1) {
    return { text: `t.${quoteName(table.key[0]!)} IN (${values.map(() => '?').join()})`, values }
  }
  return { text: ids.map(id => `(${isRow(table, id).text})`).join(' OR '), values }
}
