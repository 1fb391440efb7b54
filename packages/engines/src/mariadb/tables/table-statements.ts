/**
 * The statements about exposed tables.
 *
 * Any program that changes an exposed table makes triggers note the ids of the rows in `incoming`, in the same transaction.
 * So only committed changes are noted, and all of them are. The notes have random ids (UUID) instead of a counter, so that
 * writing a note never waits. Freshet reads the notes (`take`) in its next transaction, under the lock of the head, and gives
 * them positions; before it answers any request, it checks whether there are notes (`headOfShared`). One statement reads the
 * notes and the rows in one state, so the changes of another program's transaction are taken as a whole or not at all. Then
 * exactly those notes are deleted.
 *
 * A locking statement is about one row, by its key: one that examined other rows would wait for uncommitted changes of other
 * programs.
 */
import { createHash } from 'node:crypto'
import type { ExposedTable } from '../../sql/tables/exposed-table.js'
import { TAKEN_MAX } from '../../sql/tables/shared-tables.js'
import { type Statement, sizeOf, type Value } from '../statements.js'
import { columnBytes, type NewValue } from './row-json.js'
import { hasId, idOf, isAtMost, isOneOf, isRow, nameOf, quoteName } from './row-sql.js'

/** Where the store is: its database, and the prefix of its tables. */
export interface StorePlace {
  readonly database: string
  readonly prefix: string
}

export interface TakeOptions {
  readonly store: StorePlace
  readonly tables: readonly ExposedTable[]
  readonly isBackfill: boolean
  /** A larger row cannot be an object, and counts as missing: otherwise one such row would make every read fail. */
  readonly bytesMax: number
}

/** How long to wait for a row that another program has locked: during the wait no server can commit. */
const ROW_WAIT_S = 0.25
/** The same for statements that may wait for more than rows, such as for a whole table; MariaDB accepts no shorter time. */
const LOCK_WAIT_S = 1
const IDS_AT_ONCE = 1000
const NOTES_SINGLY_MAX = 200
const STATEMENT_BYTES_MAX = 1024 * 1024
const PATIENTLY = `SET STATEMENT innodb_lock_wait_timeout = ${LOCK_WAIT_S}, lock_wait_timeout = ${LOCK_WAIT_S} FOR`
const EVENTS = ['INSERT', 'UPDATE', 'DELETE'] as const

export function ownTable({ database, prefix }: StorePlace, name: string): string {
  return nameOf({ schema: database, name: `${prefix}${name}` })
}

/**
 * A row for each note (its id, whether it is of the backfill); and one for each noted row: table number, id, object, whether
 * the row exists, columns.
 */
export function takeStatement({ store, tables, isBackfill, bytesMax }: TakeOptions): Statement {
  const there = tables.filter(({ isGone, phase }) => !isGone && phase === undefined)
  const width = Math.max(0, ...there.map(({ columns }) => columns.length))
  const nulls = (count: number) => Array.from({ length: count }, () => 'NULL')
  const which = isBackfill ? '' : 'WHERE is_backfill = 0'
  const some = (columns: string) =>
    `(SELECT ${columns} FROM ${ownTable(store, 'incoming')} FORCE INDEX (PRIMARY) ${which} ORDER BY is_backfill, note LIMIT ${TAKEN_MAX})`
  const notes = `SELECT n.note, n.is_backfill, ${nulls(width + 3).join()} FROM ${some('note, is_backfill')} n`
  const rows = there.map(table => {
    const cells = [...table.columns.map(columnBytes), ...nulls(width - table.columns.length)]
    const objects = `${ownTable(store, 'objects')} o ON o.object_key = CONCAT(CAST('${table.bucket}/' AS BINARY), w.id)`
    return `SELECT NULL, ${table.number}, w.id, o.body, ${idOf(table, 't')} IS NOT NULL, ${cells.join()}
      FROM (SELECT DISTINCT n.id FROM ${some('exposed, id')} n WHERE n.exposed = ${table.number}) w
      LEFT JOIN ${nameOf(table)} t FORCE INDEX (PRIMARY) ON ${hasId(table, 'w.id')} AND ${isAtMost(table, bytesMax)} LEFT JOIN ${objects}`
  })
  return {
    text: `SET STATEMENT lock_wait_timeout = ${LOCK_WAIT_S} FOR ${[notes, ...rows].join(' UNION ALL ')}`,
    values: [],
  }
}

/** Deletes exactly these, without examining any other note. */
export function deleteNotes(store: StorePlace, notes: readonly Buffer[], isBackfill: boolean): Statement[] {
  const [incoming, which] = [ownTable(store, 'incoming'), `is_backfill = ${Number(isBackfill)} AND note`]
  if (notes.length <= NOTES_SINGLY_MAX) {
    return notes.map(note => ({ text: `DELETE FROM ${incoming} WHERE ${which} = ?`, values: [note] }))
  }
  // For that many notes, the index is always the faster plan.
  const text = `DELETE n FROM ${incoming} n FORCE INDEX (PRIMARY) WHERE ${which} IN (?)`
  return inParts(notes).map(part => ({ text, values: [part] }))
}

/** Locks rows, one by one, and returns the ids of those that exist. */
export function lockRows(table: ExposedTable, ids: readonly string[]): Statement[] {
  const waiting = `max_statement_time = ${ROW_WAIT_S}, lock_wait_timeout = ${LOCK_WAIT_S}`
  const from = `SET STATEMENT ${waiting} FOR SELECT ${idOf(table, 't')} FROM ${nameOf(table)} t`
  return ids.map(id => {
    const { text, values } = isRow(table, id)
    return { text: `${from} WHERE ${text} FOR UPDATE`, values }
  })
}

/** Inserts new rows. */
export function insertRows(table: ExposedTable, rows: readonly (readonly NewValue[])[]): Statement[] {
  const names = writable(table).map(({ name }) => quoteName(name))
  const into = `${PATIENTLY} INSERT INTO ${nameOf(table)} (${names.join()}) VALUES `
  const found: Statement[] = []
  let texts: string[] = []
  let values: Value[] = []
  const flush = () => {
    if (texts.length > 0) found.push({ text: into + texts.join(), values })
    texts = []
    values = []
  }
  for (const row of rows) {
    texts.push(`(${row.map(({ text }) => text).join()})`)
    values.push(...row.flatMap(each => each.values))
    if (texts.length === IDS_AT_ONCE || sizeOf(values) > STATEMENT_BYTES_MAX) flush()
  }
  flush()
  return found
}

/** Updates an existing row. `row`: as for a new one. */
export function updateRow(table: ExposedTable, id: string, row: readonly NewValue[]): Statement[] {
  const sets = writable(table)
    .map(({ name }, i) => ({ name, value: row[i]! }))
    .filter(({ name }) => !table.key.includes(name))
  if (sets.length === 0) return []
  const where = isRow(table, id)
  const text = sets.map(({ name, value }) => `t.${quoteName(name)} = ${value.text}`).join()
  return [
    {
      text: `${PATIENTLY} UPDATE ${nameOf(table)} t SET ${text} WHERE ${where.text}`,
      values: [...sets.flatMap(({ value }) => value.values), ...where.values],
    },
  ]
}

export function deleteRow(table: ExposedTable, id: string): Statement {
  const { text, values } = isRow(table, id, '')
  return { text: `${PATIENTLY} DELETE FROM ${nameOf(table)} WHERE ${text}`, values }
}

/** Reads these rows as they have become: id, columns. */
export function readRows(table: ExposedTable, ids: readonly string[]): Statement[] {
  const cells = table.columns.map(columnBytes).join()
  return inParts(ids).map(part => {
    const { text, values } = isOneOf(table, part)
    return {
      text: `SELECT ${idOf(table, 't')}, ${cells} FROM ${nameOf(table)} t FORCE INDEX (PRIMARY) WHERE ${text}`,
      values,
    }
  })
}

/** The notes about these rows: note, id, writer. Never waits. */
export function readNotes(store: StorePlace, { number }: ExposedTable, ids: readonly string[]): Statement[] {
  const from = `${ownTable(store, 'incoming')} FORCE INDEX (ids)`
  const text = `SELECT note, id, writer FROM ${from} WHERE exposed = ${number} AND id IN (?) AND is_backfill = 0`
  return inParts(ids).map(part => ({ text, values: [part.map(id => Buffer.from(id))] }))
}

/** Sets the writer of the notes that follow. */
export function setWriter(writer: string): Statement {
  return { text: 'SET @freshet_writer = ?', values: [writer] }
}

/** The columns that can be written, in order. */
export function writable({ columns }: ExposedTable): ExposedTable['columns'] {
  return columns.filter(({ isGenerated }) => !isGenerated)
}

/** Triggers of several stores may be in one database. */
function triggerName({ database, prefix }: StorePlace, { number }: ExposedTable, event: string): string {
  const store = createHash('sha256').update(`${database} ${prefix}`).digest('hex').slice(0, 10)
  return `freshet_${store}_${number}_${event.toLowerCase()}`
}

function triggerOf(store: StorePlace, table: ExposedTable, event: string): string {
  return nameOf({ schema: table.schema, name: triggerName(store, table, event) })
}

/**
 * They run with the rights of their creator: any user who may write the table may write the note, whatever other rights it
 * has.
 */
export function createTriggers(store: StorePlace, table: ExposedTable): string[] {
  const [before, after] = [idOf(table, 'OLD'), idOf(table, 'NEW')]
  const note = (id: string) =>
    `INSERT INTO ${ownTable(store, 'incoming')} (is_backfill, note, exposed, id, writer) VALUES (0, UUID(), ${table.number}, ${id}, @freshet_writer)`
  const bodies = {
    INSERT: note(after),
    UPDATE: `BEGIN ${note(before)}; IF ${before} <> ${after} THEN ${note(after)}; END IF; END`,
    DELETE: note(before),
  }
  return EVENTS.map(
    event =>
      `CREATE OR REPLACE TRIGGER ${triggerOf(store, table, event)} AFTER ${event} ON ${nameOf(table)} FOR EACH ROW ${bodies[event]}`,
  )
}

/** The existing triggers and their tables: when a table is renamed, its triggers go with it. */
export function findTriggers(store: StorePlace, table: ExposedTable): Statement {
  const names = EVENTS.map(event => triggerName(store, table, event))
  const text = `SELECT trigger_name, event_object_table FROM information_schema.triggers WHERE trigger_schema = ? AND trigger_name IN (?, ?, ?)`
  return { text, values: [table.schema, ...names] }
}

export const TRIGGERS: number = EVENTS.length

export function dropTriggers(store: StorePlace, table: ExposedTable): string[] {
  return EVENTS.map(event => `DROP TRIGGER IF EXISTS ${triggerOf(store, table, event)}`)
}

/** Notes every present row; and every object, since its row may have been deleted unnoticed. */
export function noteAll(store: StorePlace, table: ExposedTable): Statement[] {
  const into = `INSERT INTO ${ownTable(store, 'incoming')} (is_backfill, note, exposed, id) SELECT 1, UUID(), ${table.number}`
  const folder = Buffer.from(`${table.bucket}/`)
  return [
    { text: `${into}, ${idOf(table, 't')} FROM ${nameOf(table)} t`, values: [] },
    {
      text: `${into}, SUBSTRING(o.object_key, ${folder.length + 1}) FROM ${ownTable(store, 'objects')} o WHERE o.object_key > ? AND o.object_key < ?`,
      values: [folder, Buffer.from(`${table.bucket}0`)],
    },
  ]
}

function inParts<Each>(all: readonly Each[]): Each[][] {
  const parts: Each[][] = []
  for (let from = 0; from < all.length; from += IDS_AT_ONCE) parts.push(all.slice(from, from + IDS_AT_ONCE))
  return parts
}
