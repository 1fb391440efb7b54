/** The statements sent to PostgreSQL about tables that are buckets, and their results. */
import type { Write } from '@freshet/core/store'
import type { ExposedTable } from '../../sql/tables/exposed-table.js'
import { isId, type SharedTables, TAKEN_MAX, type TableChanges, writeOf } from '../../sql/tables/shared-tables.js'
import { notTaken, rowIsLocked } from '../../sql/tables/table-errors.js'
import { texts, textsOrNulls } from '../arrays.js'
import type { Row } from '../postgres-connection.js'
import { nameFor, putRows, removeRows, settleRows, takeStatement } from './table-statements.js'

export interface TableStatement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** The writes to one table. */
export interface TableWrites {
  readonly table: ExposedTable
  readonly statements: readonly TableStatement[]
  /** Its result is whether other programs have changed the same rows. */
  readonly settling: TableStatement
}

const LOCKED = '55P03'

export function take({ tables }: SharedTables, isBackfill: boolean): TableStatement {
  return toStatement('take', takeStatement(tables, isBackfill), [TAKEN_MAX])
}

/** The writes of other programs. */
export function takenIn(
  { tables }: SharedTables,
  rows: readonly Row[],
): { readonly count: number; readonly writes: readonly Write[] } {
  const count = Number(rows.find(([number]) => number === null)![1])
  const writes = rows
    .filter(([number, id]) => number !== null && isId(id as string))
    .map(([number, id, body]) => {
      const table = tables.find(each => each.number === number)!
      return writeOf(table, id as string, (body as string | null) ?? undefined)
    })
  return { count, writes }
}

export function writesOf({ table, put, removed }: TableChanges): TableWrites {
  const ids = put.map(({ id }) => id)
  const objects = put.map(({ text }) => text)
  const all = [...objects, ...removed.map(() => undefined)]
  return {
    table,
    statements: [
      ...(ids.length > 0 ? [toStatement('put', putRows(table), [texts(ids), texts(objects)])] : []),
      ...(removed.length > 0 ? [toStatement('remove', removeRows(table), [texts(removed)])] : []),
    ],
    settling: toStatement('settle', settleRows(table), [texts([...ids, ...removed]), textsOrNulls(all)]),
  }
}

function toStatement(kind: string, text: string, values: unknown[]): TableStatement {
  return { name: nameFor(kind, text), text, values }
}

/** The error for rows that the database refuses: constraints, types, other triggers, missing rights. */
export function toRefusal(table: ExposedTable, error: unknown): unknown {
  const { code, message, constraint, column } = ((error as Error).cause ?? error) as Record<string, unknown>
  if (code === LOCKED) return rowIsLocked(table)
  const known = /^(22|23|P0|44)|^42501$|^428C9$|^55000$/
  if (typeof code !== 'string' || !known.test(code)) return error
  const details = { ...(constraint !== undefined && { constraint }), ...(column !== undefined && { column }) }
  return notTaken(table, message, error, { sqlState: code, ...details })
}

/** A column, a table or a type does not exist. */
export function isAboutNames(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? error) as { readonly code?: unknown }
  return code === '42703' || code === '42P01' || code === '42704' || code === '3F000'
}
