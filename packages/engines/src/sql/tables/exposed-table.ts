/**
 * A table of another program that is a bucket: which table, its columns, and which row is which object.
 *
 * The id is the key as text; for a key of several columns, the texts joined with commas, after , and % in them became %2C and
 * %25.
 */
import type { Key } from '@freshet/core/store'

export interface ExposedTable {
  /** Identifies the table in `incoming`. */
  readonly number: number
  readonly bucket: Key
  readonly schema: string
  readonly name: string
  /** In order. */
  readonly columns: readonly TableColumn[]
  /** Names of columns: the primary key. */
  readonly key: readonly string[]
  /** The columns that were requested; undefined: all. */
  readonly asked?: readonly string[]
  /** The table, or its key, no longer exists. */
  readonly isGone?: true
  /**
   * Some of its triggers are missing, so it is not used. Undefined in a database that creates them in the same transaction as
   * the record.
   */
  readonly phase?: 'adding' | 'removing'
}

export interface TableColumn {
  readonly name: string
  /** As in CREATE TABLE. */
  readonly type: string
  /** For a domain, its base type. */
  readonly baseType: string
  /** An expression. */
  readonly defaultValue?: string
  /** The database generates it: it is read, not written. */
  readonly isGenerated: boolean
  /** For a text in a key, in a database whose texts have different character sets. */
  readonly charset?: string
  readonly collation?: string
}

export type TableName = Pick<ExposedTable, 'schema' | 'name'>

/** What a database reports about a table. */
export type TableDescription = Pick<ExposedTable, 'schema' | 'name' | 'columns' | 'key' | 'asked'>

const INTEGER = /^(0|-?[1-9]\d*)$/
/** The types that a key may have in at least one database: those whose values have only one spelling. */
const KEY_PATTERNS: Readonly<Record<string, RegExp>> = {
  smallint: INTEGER,
  integer: INTEGER,
  bigint: INTEGER,
  unsigned: /^(0|[1-9]\d*)$/,
  text: /^/,
  'character varying': /^/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
}

export function columnOf({ columns }: Pick<ExposedTable, 'columns'>, name: string): TableColumn {
  return columns.find(column => column.name === name)!
}

export function isSameTable(one: TableName, other: TableName): boolean {
  return one.schema === other.schema && one.name === other.name
}

/** For messages. */
export function fullName({ schema, name }: TableName): string {
  return `${schema}.${name}`
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
    key.every((name, i) => KEY_PATTERNS[columnOf(table, name).baseType]?.test(parts[i]!))
  return isOne ? parts : undefined
}
