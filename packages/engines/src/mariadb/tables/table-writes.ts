/**
 * The statements sent to MariaDB about tables that are buckets, and their results, within a transaction that has locked the
 * head.
 */
import type { Write } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { CommitRefused, EngineBusy, EngineLost } from '@freshet/store/engine'
import { type ExposedTable, partsOf } from '../../sql/tables/exposed-table.js'
import { isId, TAKEN_MAX, type TableChanges, writeOf } from '../../sql/tables/shared-tables.js'
import { cannotBeRow, notTaken, rowIsLocked } from '../../sql/tables/table-errors.js'
import type { Row } from '../mariadb-connection.js'
import type { Statement } from '../statements.js'
import { fieldsOf, isSameRow, type NewValue, newValueOf, toJson } from './row-json.js'
import {
  deleteNotes,
  deleteRow,
  insertRows,
  lockRows,
  readNotes,
  readRows,
  type StorePlace,
  setWriter,
  type TakeOptions,
  updateRow,
  writable,
} from './table-statements.js'

/** Returns the rows of each statement; stops at the first that fails. */
export type RunScript = (statements: readonly Statement[]) => Promise<readonly (readonly Row[])[]>

export interface Taken {
  readonly writes: readonly Write[]
  readonly count: number
  /** The statements that delete the notes. */
  readonly deletes: readonly Statement[]
}

export const NOTHING_TAKEN: Taken = { writes: [], count: 0, deletes: [] }

/** https://mariadb.com/kb/en/mariadb-error-code-reference/ */
const DUPLICATE = 1062
const LOCKED = [1205, 1969]
const NAMES = [1049, 1054, 1146]
/** For the whole store: it is read-only. */
const READ_ONLY = [1290, 1792]

/**
 * From the rows of `takeStatement`: the changes of other programs, without rows that equal the bucket's objects. A row may be
 * noted twice.
 */
export function takenIn({ store, tables, bytesMax }: TakeOptions, rows: readonly Row[]): Taken {
  const notes = rows.filter(([note]) => note !== null)
  const of = (isBackfill: number) => notes.filter(row => row[1] === isBackfill).map(([note]) => note as Buffer)
  const writes = rows.filter(([note]) => note === null).flatMap(row => writesIn(tables, row, bytesMax))
  const deletes = [...deleteNotes(store, of(0), false), ...deleteNotes(store, of(1), true)]
  return { writes, count: notes.length, deletes }
}

export function isFull({ count }: Taken): boolean {
  return count === TAKEN_MAX
}

function writesIn(tables: readonly ExposedTable[], row: Row, bytesMax: number): Write[] {
  const [, number, idBytes, body, isThere, ...cells] = row
  const table = tables.find(each => each.number === number)!
  const id = textOf(idBytes)
  const json = isThere === 1 ? toJson(table, cells) : undefined
  const text = json !== undefined && Buffer.byteLength(json) <= bytesMax ? json : undefined
  const before = body === null ? undefined : textOf(body)
  const isSame = text === undefined || before === undefined ? text === before : isSameRow(table, before, text)
  return isSame || !isId(id) ? [] : [writeOf(table, id, text)]
}

/**
 * Writes rows: those to put first, in the order of tables, then those to remove, in reverse order. Returns the statements
 * that delete the notes of rows that now equal their objects. The notes of other rows remain: defaults, rounding or other
 * triggers have changed the row, and that change comes after. Throws `CommitRefused` for a row that the database refuses, and
 * `EngineBusy` if another program has changed the same rows.
 *
 * Each step waits for the reply to the previous one: after a deadlock there is no transaction, and statements sent ahead
 * would run without one.
 */
export async function writeRows(
  run: RunScript,
  store: StorePlace,
  changes: readonly TableChanges[],
  writer: string,
): Promise<readonly Statement[]> {
  const there = new Map<ExposedTable, ReadonlySet<string>>()
  for (const change of changes) there.set(change.table, await lock(run, change))
  const puts = changes.map(change => ({ change, statements: putting(change, there.get(change.table)!) }))
  const removals = changes.toReversed().map(change => {
    const ids = change.removed.filter(id => there.get(change.table)!.has(id))
    return { change, statements: ids.map(id => deleteRow(change.table, id)) }
  })
  const steps = [...puts, ...removals].filter(({ statements }) => statements.length > 0)
  for (const { change, statements } of steps) {
    await run([setWriter(writer), ...statements]).catch(async error => {
      if (isTakenKey(error)) await checkAgain(run, change, there.get(change.table)!)
      throw toRefusal(change.table, error)
    })
  }
  const taking: Statement[] = []
  for (const change of changes) taking.push(...(await settle(run, store, change, writer)))
  return taking
}

/** Locks the rows, and returns the ids of those that exist. */
async function lock(run: RunScript, { table, put, removed }: TableChanges): Promise<ReadonlySet<string>> {
  const ids = [...put.map(({ id }) => id), ...removed]
  const answers = await run(lockRows(table, ids)).catch(error => Promise.reject(toRefusal(table, error)))
  const found = answers.map(([row]) => row && textOf(row[0]))
  for (const [i, { id }] of put.entries()) {
    if (found[i] !== undefined && found[i] !== id) {
      throw cannotBeRow(table, id, `there is a row ${found[i]}, which is equal in the collation of its key`)
    }
  }
  return new Set(ids.filter((id, i) => found[i] === id))
}

/**
 * Either another program has inserted the same row in the meantime, which is retried; or two of the rows to put are equal in
 * the collation of their key, which is refused.
 */
async function checkAgain(run: RunScript, change: TableChanges, before: ReadonlySet<string>): Promise<void> {
  const now = await lock(run, change)
  if ([...now].some(id => !before.has(id)))
    throw new EngineBusy(new Error('Another program has inserted the same row in the meantime.'))
}

function putting({ table, put }: TableChanges, there: ReadonlySet<string>): readonly Statement[] {
  const rows = put.map(({ id, text }) => ({ id, row: newRowOf(table, id, text) }))
  const made = rows.filter(({ id }) => !there.has(id)).map(({ row }) => row)
  const changed = rows.filter(({ id }) => there.has(id))
  return [...changed.flatMap(({ id, row }) => updateRow(table, id, row)), ...insertRows(table, made)]
}

function newRowOf(table: ExposedTable, id: string, text: string): readonly NewValue[] {
  const fields = fieldsOf(text)
  const parts = partsOf(table, id)!
  return writable(table).map(column => {
    const i = table.key.indexOf(column.name)
    return i < 0 ? newValueOf(table, id, column, fields.get(column.name)) : { text: '?', values: [parts[i]!] }
  })
}

/** Returns the statements that delete the notes of rows that now equal their objects. */
async function settle(
  run: RunScript,
  store: StorePlace,
  { table, put, removed }: TableChanges,
  writer: string,
): Promise<readonly Statement[]> {
  const ids = [...put.map(({ id }) => id), ...removed]
  const reads = readRows(table, ids)
  const answers = await run([...reads, ...readNotes(store, table, ids)])
  const rows = new Map(
    answers
      .slice(0, reads.length)
      .flat()
      .map(([id, ...cells]) => [textOf(id), cells]),
  )
  const notes = answers.slice(reads.length).flat()
  if (notes.some(row => row[2] === null || textOf(row[2]) !== writer)) {
    throw new EngineBusy(new Error('Another program has changed the same rows in the meantime.'))
  }
  const settled = new Set(removed.filter(id => !rows.has(id)))
  for (const { id, text } of put) {
    const cells = rows.get(id)
    if (cells === undefined) throw cannotBeRow(table, id, 'the database changes its key, or removes it')
    if (isSameRow(table, text, toJson(table, cells))) settled.add(id)
  }
  const mine = notes.filter(row => settled.has(textOf(row[1]))).map(([note]) => note as Buffer)
  return deleteNotes(store, mine, false)
}

/** The error for rows that the database refuses: constraints, types, other triggers, missing rights. */
function toRefusal(table: ExposedTable, error: unknown): unknown {
  const { errno, sqlState, message } = factsOf(error)
  if (errno === undefined || error instanceof CommitRefused) return error
  if (LOCKED.includes(errno)) return rowIsLocked(table)
  const isOfStore = error instanceof FreshetError && error.code !== 'STORE_UNUSABLE'
  const isOther = isOfStore || error instanceof EngineBusy || error instanceof EngineLost
  if (isOther || NAMES.includes(errno) || READ_ONLY.includes(errno)) return error
  const constraint = /CONSTRAINT `([^`]+)`/.exec(message)?.[1] ?? / for key '([^']+)'/.exec(message)?.[1]
  const column = /^(?:Column|Field) '([^']+)'/.exec(message)?.[1] ?? / for column .*`([^`]+)`/.exec(message)?.[1]
  return notTaken(table, message, error, { sqlState, ...(constraint && { constraint }), ...(column && { column }) })
}

/** A column or a table does not exist. */
export function isAboutNames(error: unknown): boolean {
  return NAMES.includes(factsOf(error).errno ?? 0)
}

function isTakenKey(error: unknown): boolean {
  const { errno, message } = factsOf(error)
  return errno === DUPLICATE && message.endsWith(`'PRIMARY'`)
}

/** From the error itself, or from its cause. */
function factsOf(error: unknown): { readonly errno?: number; readonly sqlState?: string; readonly message: string } {
  const { errno, cause } = error as { readonly errno?: number; readonly cause?: unknown }
  return (errno === undefined && cause instanceof Error ? cause : error) as Error
}

function textOf(bytes: unknown): string {
  return (bytes as Buffer).toString()
}
