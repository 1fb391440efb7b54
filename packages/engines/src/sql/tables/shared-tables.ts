/**
 * Tables of others that are buckets, as one server sees them: what they are is in the database (`exposed`), and is looked at in each
 * transaction. What is the same for all databases is here; `../../postgres/tables` and `../../mariadb/tables` have the statements.
 */
import type { Key, StoredValue, Write } from '@freshet/core/store'
import { bucketOfKey, checkId, idOfKey } from '@freshet/protocol'
import { columnOf, type ExposedTable, partsOf } from './exposed-table.js'
import { cannotBeRow } from './table-errors.js'

/** What is to be done to one table. */
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

/** So many changes of others go into one commit. */
export const TAKEN_MAX = 5000
const JSON_TYPE = 'application/json'
const UNFINISHED = {
  adding: 'it is being made a bucket. If nobody is at that any more, freshet tables add finishes it',
  removing: 'it is to be no bucket any more. If nobody is at that any more, freshet tables remove finishes it',
}

export class SharedTables {
  /** As read from the database, by which it is known whether it is still so. */
  readonly text: string
  readonly tables: readonly ExposedTable[]
  readonly #byBucket: ReadonlyMap<Key, ExposedTable>

  /** `text`: the records, a line each. */
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
   * What is to be done to tables so that they are as the bucket will be, in the order in which they were first written to; not what others
   * have done to them already (`taken`). Throws `CommitRefused` for what cannot be a row.
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

/** What others have made of a row; undefined: it is gone. */
export function writeOf({ bucket }: ExposedTable, id: string, text: string | undefined): Write {
  const key = `${bucket}/${id}`
  return text === undefined ? { key, delete: true } : { key, contentType: JSON_TYPE, body: Buffer.from(text) }
}

/** Whether there can be an object by this id. A row that no URL can name is left out. */
export function isId(id: string): boolean {
  try {
    checkId(id)
    return true
  } catch {
    // That it is none is the answer.
    return false
  }
}

function toChanges(table: ExposedTable, rows: readonly [id: string, value: StoredValue | undefined][]): TableChanges {
  if (table.phase !== undefined) throw cannotBeRow(table, rows[0]![0], UNFINISHED[table.phase])
  const put = rows.filter((row): row is [string, StoredValue] => row[1] !== undefined)
  // An id that no row can have was never there.
  const removed = rows.filter(([id, value]) => value === undefined && partsOf(table, id)).map(([id]) => id)
  return { table, put: put.map(([id, value]) => ({ id, text: checkRow(table, id, value) })), removed }
}

/** The object as JSON, if it can be a row. */
function checkRow(table: ExposedTable, id: string, { contentType, body }: StoredValue): string {
  const refused = (why: string) => cannotBeRow(table, id, why)
  if (table.isGone) throw refused('the table, or its key, is not there any more. freshet tables has more')
  const parts = partsOf(table, id)
  const wanted = table.key.map(name => `${name}, ${columnOf(table, name).type}`).join('; ')
  if (parts === undefined) throw refused(`its key is ${wanted}; this is none`)
  if (contentType !== JSON_TYPE) throw refused(`a row is ${JSON_TYPE}, not ${contentType}`)
  const text = Buffer.from(body).toString()
  const object = parseObject(text)
  if (object === undefined) throw refused('a row is a JSON object')
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
    // Told in the same words as what is JSON, but no object.
    return undefined
  }
}
