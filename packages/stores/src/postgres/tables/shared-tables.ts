/**
 * Tables of others that are buckets, as one server sees them: what they are is in the database (`exposed`), and is looked at in each
 * transaction.
 */
import type { Key, StoredValue, Write } from '@freshet/core/store'
import { bucketOfKey, checkId, FreshetError, idOfKey } from '@freshet/protocol'
import { CommitRefused } from '../../sql/sql-engine.js'
import { storeUnavailable } from '../../sql/sql-errors.js'
import { texts, textsOrNulls } from '../arrays.js'
import type { Row } from '../line.js'
import { columnOf, type ExposedTable, partsOf } from './exposed-table.js'
import { nameFor, putRows, removeRows, settleRows, takeStatement } from './table-statements.js'

export interface TableStatement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** What is to be done to one table. */
export interface TableWrites {
  readonly table: ExposedTable
  readonly statements: readonly TableStatement[]
  /** Says whether others have changed the same. */
  readonly settling: TableStatement
}

/** So many changes of others go into one commit. */
export const TAKEN_MAX = 5000
const LOCKED = '55P03'
const LOCKED_TEXT = 'another program has locked a row in a transaction that does not end'
const JSON_TYPE = 'application/json'

export class SharedTables {
  /** As read from the database, by which it is known whether it is still so. */
  readonly text: string
  readonly tables: readonly ExposedTable[]
  readonly #byBucket: ReadonlyMap<Key, ExposedTable>

  constructor(text: string) {
    this.text = text
    this.tables = text === '' ? [] : text.split('\n').map(record => JSON.parse(record) as ExposedTable)
    this.#byBucket = new Map(this.tables.map(table => [table.bucket, table]))
  }

  get isEmpty(): boolean {
    return this.tables.length === 0
  }

  get buckets(): Iterable<Key> {
    return this.#byBucket.keys()
  }

  take(isBackfill: boolean): TableStatement {
    const text = takeStatement(this.tables, isBackfill)
    return { name: nameFor('take', text), text, values: [TAKEN_MAX] }
  }

  /** What others have written. What has no id that could be one is left out. */
  taken(rows: readonly Row[]): { readonly count: number; readonly writes: readonly Write[] } {
    const count = Number(rows.find(([bucket]) => bucket === null)![1])
    const writes = rows.filter(([bucket, id]) => bucket !== null && isId(id as string)).map(toWrite)
    return { count, writes }
  }

  /** Throws `CommitRefused` for what cannot be a row. */
  writesOf(values: ReadonlyMap<Key, StoredValue | undefined>, taken: readonly Write[]): readonly TableWrites[] {
    const bodies = new Map(taken.map(write => [write.key, 'delete' in write ? undefined : write.body]))
    const changed = new Map<ExposedTable, [id: string, value: StoredValue | undefined][]>()
    for (const [key, value] of values) {
      const table = this.#byBucket.get(bucketOfKey(key))
      const id = idOfKey(key)
      if (table === undefined || id === undefined) continue
      if (bodies.has(key) && bodies.get(key) === value?.body) continue
      const rows = changed.get(table) ?? []
      changed.set(table, [...rows, [id, value]])
    }
    return [...changed].map(([table, rows]) => toTableWrites(table, rows))
  }
}

function isId(id: string): boolean {
  try {
    checkId(id)
    return true
  } catch {
    // A row that no URL can name.
    return false
  }
}

function toWrite([bucket, id, body]: Row): Write {
  const key = `${bucket}/${id}`
  if (body === null) return { key, delete: true }
  return { key, contentType: JSON_TYPE, body: Buffer.from(body as string) }
}

function toTableWrites(
  table: ExposedTable,
  rows: readonly [id: string, value: StoredValue | undefined][],
): TableWrites {
  const put = rows.filter((row): row is [string, StoredValue] => row[1] !== undefined)
  const objects = put.map(([id, value]) => checkRow(table, id, value))
  // An id that no row can have was never there.
  const removed = rows.filter(([id, value]) => value === undefined && partsOf(table, id)).map(([id]) => id)
  const ids = put.map(([id]) => id)
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

/** The object as JSON, if it can be a row. */
function checkRow(table: ExposedTable, id: string, { contentType, body }: StoredValue): string {
  if (table.isGone) throw refused(table, id, 'the table, or its key, is not there any more. freshet tables has more')
  const parts = partsOf(table, id)
  const wanted = table.key.map(name => `${name}, ${columnOf(table, name).type}`).join('; ')
  if (parts === undefined) throw refused(table, id, `its key is ${wanted}; this is none`)
  if (contentType !== JSON_TYPE) throw refused(table, id, `a row is ${JSON_TYPE}, not ${contentType}`)
  const text = Buffer.from(body).toString()
  const object = parseObject(text)
  if (object === undefined) throw refused(table, id, 'a row is a JSON object')
  for (const [name, value] of Object.entries(object)) {
    if (!table.columns.some(column => column.name === name)) throw refused(table, id, `there is no column ${name}`)
    const i = table.key.indexOf(name)
    if (i >= 0 && String(value) !== parts[i]) throw refused(table, id, `${name} must be ${parts[i]}, as in the id`)
  }
  return text
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as object as never) : undefined
  } catch {
    // Told in the same words as what is JSON, but no object.
    return undefined
  }
}

function refused(table: ExposedTable, id: string, why: string): CommitRefused {
  return new CommitRefused(rowRefused(table, `${table.bucket}/${id} cannot be a row of ${tableName(table)}: ${why}`))
}

/** What the database says to rows that it does not take: constraints, types, other triggers, missing rights. */
export function toRefusal(table: ExposedTable, error: unknown): unknown {
  const { code, message, constraint, column } = ((error as Error).cause ?? error) as Record<string, unknown>
  if (code === LOCKED) return new CommitRefused(storeUnavailable(tableName(table), LOCKED_TEXT, 'not-done'))
  const known = /^(22|23|P0|44)|^42501$|^428C9$|^55000$/
  if (typeof code !== 'string' || !known.test(code)) return error
  const details = { ...(constraint !== undefined && { constraint }), ...(column !== undefined && { column }) }
  const text = `The table ${tableName(table)}, which is the bucket ${table.bucket}, does not take this: ${message}`
  return new CommitRefused(rowRefused(table, text, error, { sqlState: code, ...details }))
}

/** A column, a table or a type is not there. */
export function isAboutNames(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? error) as { readonly code?: unknown }
  return code === '42703' || code === '42P01' || code === '42704' || code === '3F000'
}

function rowRefused(table: ExposedTable, text: string, cause?: unknown, details = {}): FreshetError {
  return new FreshetError('ROW_REFUSED', `${text}. Nothing was written.`, {
    ...(cause !== undefined && { cause }),
    details: { bucket: table.bucket, ...details },
  })
}

function tableName({ schema, name }: ExposedTable): string {
  return `${schema}.${name}`
}
