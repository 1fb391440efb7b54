/** Rows of the log: the position of the last commit of a batch, and its record. */

import type { LogEntry, Position } from '@freshet/core/store'
import type { ChangedBefore } from '@freshet/store/database'
import { decodeLogBatch } from '@freshet/store/records'

type Row = readonly unknown[]

/** The entries after a position. The first batch may begin before it. A row without a record is of the head alone. */
export function entriesOf(rows: readonly Row[], after: Position): LogEntry[] {
  return rows
    .filter(([position]) => position !== null)
    .flatMap(([position, record]) => decodeLogBatch(position as Position, record as Buffer))
    .filter(({ position }) => position > after)
}

/** The rows are in descending order. */
export function toChanged(rows: readonly Row[], after: Position, batches: number): ChangedBefore {
  const entries = entriesOf(rows, after)
  const oldest = rows.length < batches ? undefined : entriesOf(rows.slice(-1), 0)[0]
  return { after: oldest ? oldest.position - 1 : 0, entries }
}
