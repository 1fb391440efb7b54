/**
 * Tables of other programs that are buckets, as one server sees them. The database has the list (`exposed`), which each
 * transaction reads. What all databases share is here; the statements are in `../../postgres/tables` and
 * `../../mariadb/tables`.
 */
import type { Key, StoredValue, Write } from '@freshet/core/store'
import { bucketOfKey, checkId, idOfKey } from '@freshet/protocol'
import { columnOf, type ExposedTable, partsOf } from './exposed-table.js'
import { cannotBeRow } from './table-errors.js'

/** The changes to one table. */
export interface TableChanges {
  readonly table: ExposedTable
  /** Objects, as JSON. */
  readonly put: readonly RowToPut[]
  /** Ids. */
  readonly removed: readonly string[]
}

export interface RowToPut {
  readonly id: string
  readonly text: string
}

/** How many changes of other programs go into one commit. */
export const TAKEN_MAX = 5000
const JSON_TYPE = 'application/json'
const UNFINISHED = {
  adding: 'the table is still being made a bucket. If that was interrupted, run freshet tables add again',
  removing: 'the table is being detached. If that was interrupted, run freshet tables remove again',
}

export class SharedTables {
  /** As read from the database, to detect whether it has changed. */
  readonly text: string
  readonly tables: readonly ExposedTable[]
  readonly #byBucket: ReadonlyMap<Key, ExposedTable>

  /** `text`: the records, one per line. */
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

  /**
   * The changes that make the tables equal to the buckets after this commit, in the order in which the tables were first
   * written to; without the changes that came from the tables (`taken`). Throws `CommitRefused` for an object that cannot be
   * a row.
   */
  changesOf(values: ReadonlyMap<Key, StoredValue | undefined>, taken: readonly Write[]): readonly TableChanges[] {
    const bodies = new Map(taken.map(write => [write.key, 'delete' in write ? undefined : write.body]))
    const changed = new Map<ExposedTable, [id: string, value: StoredValue | undefined][]>()
    for (const [key, value] of values) {
      const table = this.#byBucket.get(bucketOfKey(key))
      const id = idOfKey(key)
      if (table === undefined || id === undefined) continue
      if (bodies.has(key) && bodies.get(key) === value?.body) continue
      const rows = changed.get(table) ?? []
      rows.push([id, value])
      changed.set(table, rows)
    }
    return [...changed].map(([table, rows]) => toChanges(table, rows))
  }
}

/** The write for a row that another program has changed; undefined `text`: the row was deleted. */
export function writeOf({ bucket }: ExposedTable, id: string, text: string | undefined): Write {
  const key = `${bucket}/${id}`
  return text === undefined ? { key, delete: true } : { key, contentType: JSON_TYPE, body: Buffer.from(text) }
}

/** Whether an object can have this id. A row that no URL can name is left out. */
export function isId(id: string): boolean {
  try {
    checkId(id)
    return true
  } catch {
    // Then the id is not valid.
    return false
  }
}

function toChanges(table: ExposedTable, rows: readonly [id: string, value: StoredValue | undefined][]): TableChanges {
  if (table.phase !== undefined) throw cannotBeRow(table, rows[0]![0], UNFINISHED[table.phase])
  const put = rows.filter((row): row is [string, StoredValue] => row[1] !== undefined)
  // An id that no row can have never existed.
  const removed = rows.filter(([id, value]) => value === undefined && partsOf(table, id)).map(([id]) => id)
  return { table, put: put.map(([id, value]) => ({ id, text: checkRow(table, id, value) })), removed }
}

/** The object as JSON, if it can be a row. */
function checkRow(table: ExposedTable, id: string, { contentType, body }: StoredValue): string {
  const refused = (why: string) => cannotBeRow(table, id, why)
  if (table.isGone) throw refused('the table, or its key, no longer exists. Run freshet tables for details')
  const parts = partsOf(table, id)
  const wanted = table.key.map(name => `${name}, ${columnOf(table, name).type}`).join('; ')
  if (parts === undefined) throw refused(`the id does not match the key of the table: ${wanted}`)
  if (contentType !== JSON_TYPE) throw refused(`a row is ${JSON_TYPE}, not ${contentType}`)
  const text = Buffer.from(body).toString()
  const object = parseObject(text)
  if (object === undefined) throw refused('the body is not a JSON object')
  for (const [name, value] of Object.entries(object)) {
    if (!table.columns.some(column => column.name === name)) throw refused(`there is no column ${name}`)
    const i = table.key.indexOf(name)
    if (i >= 0 && String(value) !== parts[i]) throw refused(`${name} must be ${parts[i]}, as in the id`)
  }
  return text
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as object as never) : undefined
  } catch {
    // Reported like JSON that is not an object.
    return undefined
  }
}
