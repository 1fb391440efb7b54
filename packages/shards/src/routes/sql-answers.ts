/** The answers of `/sql`, as text. */
import type { SqlAnswer, SqlStreamHead } from '@freshet/protocol'
import type { SqlResult } from '../coordinator/query-coordinator.js'
import type { Cell, CellType, Versions } from '../plan/index.js'

/** `isKept`: caches may keep it. */
export function answerText({ columns, types, rows, versions }: SqlResult, isKept: boolean): string {
  const answer: SqlAnswer = {
    columns,
    types,
    rows: rows.map(row => jsonRow(row, types)),
    versions,
    position: positionOf(versions),
    ...(isKept ? { isKept } : {}),
  }
  return JSON.stringify(answer)
}

/** A complete result, in the form of a streamed one. */
export function linesText(result: SqlResult): string {
  return [headText(result), ...result.rows.map(row => rowText(row, result.types)), ''].join('\n')
}

/** The first line of a streamed result. */
export function headText({ columns, types, versions }: Omit<SqlStreamHead, 'position'>): string {
  const head: SqlStreamHead = { columns, types, versions, position: positionOf(versions) }
  return JSON.stringify(head)
}

export function rowText(row: readonly Cell[], types: readonly CellType[]): string {
  return JSON.stringify(jsonRow(row, types))
}

/** The last global write to the tables of the result. */
function positionOf(versions: Versions): number {
  return Math.max(0, ...Object.values(versions))
}

/**
 * Whole numbers become JSON numbers if these hold them exactly. Decimals stay text, with all their digits; so do NaN and
 * Infinity, which JSON does not have.
 */
function jsonRow(row: readonly Cell[], types: readonly CellType[]): readonly Cell[] {
  return row.map((cell, i) => {
    if (typeof cell === 'number' && !Number.isFinite(cell)) return String(cell)
    const isNumber = types[i] === 'integer' && typeof cell === 'string' && Number.isSafeInteger(Number(cell))
    return isNumber ? Number(cell) : cell
  })
}
