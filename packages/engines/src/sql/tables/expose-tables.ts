/**
 * Makes tables of a database buckets of the store in the same database, and undoes that. Running servers notice with their
 * next transaction.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Key } from '@freshet/core/store'
import { checkName, FreshetError } from '@freshet/protocol'
import type { EngineStore } from '@freshet/store'
import type { DatabaseEngine } from '@freshet/store/database'
import { type ExposedTable, fullName, isSameTable, type TableDescription } from './exposed-table.js'
import { unsuitable } from './table-errors.js'

export interface ExposeTableOptions {
  /** `shop/products`. */
  readonly bucket: Key
  /** `public.products` */
  readonly table: string
  /** All columns by default. */
  readonly columns?: readonly string[]
  readonly onProgress?: (done: number, total: number) => void
}

export interface Exposure {
  readonly bucket: Key
  readonly table: string
  readonly columns: readonly string[]
  readonly key: readonly string[]
  readonly isGone: boolean
  /**
   * Making it a bucket, or removing it, has not finished, and the table is not used. Another process may still be working on
   * it.
   */
  readonly phase?: 'adding' | 'removing'
}

/** The database, over a connection of its own. */
export interface TablesDatabase {
  tables(): Promise<readonly ExposedTable[]>
  /**
   * From now on every write to the table is noted, and all its present rows are queued to be noted. Throws CONFIG_INVALID for
   * a table that cannot be a bucket.
   */
  add(options: ExposeTableOptions): Promise<ExposedTable>
  /** Notes the rows of all queued tables, except those that another process is noting. Returns how many rows. */
  noteRows(): Promise<number>
  /** Whether its rows are still queued to be noted. */
  isUnnoted(table: ExposedTable): Promise<boolean>
  /** Makes it an ordinary table again. The objects of the bucket remain. */
  remove(table: ExposedTable): Promise<void>
  close(): Promise<void>
}

export interface OpenedTables {
  readonly store: EngineStore<DatabaseEngine>
  readonly database: TablesDatabase
}

export type OpenTables = () => Promise<OpenedTables>

const REMOVED_AT_ONCE = 1000
const PAUSE_MS = 100

/**
 * Resolves when all present rows are in the bucket. If the table is that bucket already, its columns are read again. Throws
 * CONFIG_INVALID for a table that cannot be a bucket.
 */
export async function expose(open: OpenTables, options: ExposeTableOptions): Promise<Exposure> {
  const { bucket, onProgress = () => {} } = options
  checkBucket(bucket)
  return during(open, async ({ store, database }) => {
    const table = await database.add(options)
    const total = await noteRows(database, table)
    onProgress(0, total)
    for (let done = 0; ; ) {
      const { noted, isFull } = await store.engine.takeBackfill()
      done += noted
      onProgress(Math.min(done, total), total)
      if (!isFull) return toExposure(table)
    }
  })
}

/**
 * From now on writes are noted. Returns how many rows there were; 0 if a server that was opened in the meantime has noted
 * them.
 */
async function noteRows(database: TablesDatabase, table: ExposedTable): Promise<number> {
  for (let noted = 0; ; await delay(PAUSE_MS)) {
    noted += await database.noteRows()
    if (!(await database.isUnnoted(table))) return noted
  }
}

/** The table remains as it is; the objects of the bucket are removed from the store. */
export async function unexpose(open: OpenTables, bucket: Key): Promise<void> {
  await during(open, async ({ store, database }) => {
    const table = (await database.tables()).find(each => each.bucket === bucket)
    if (table === undefined) throw new FreshetError('CONFIG_INVALID', `No table is the bucket ${bucket}.`)
    await database.remove(table)
    for (;;) {
      const { entries } = await store.scan(bucket, { limit: REMOVED_AT_ONCE })
      if (entries.length === 0) return
      await store.commit({ writes: entries.map(({ id }) => ({ key: `${bucket}/${id}`, delete: true })) })
    }
  })
}

export async function listExposed(open: OpenTables): Promise<readonly Exposure[]> {
  return during(open, async ({ database }) => (await database.tables()).map(toExposure))
}

/**
 * The record of the table; `before` is undefined if it is new. Throws CONFIG_INVALID if another table is that bucket, or this
 * table is another bucket.
 */
export function placeAmong(
  tables: readonly ExposedTable[],
  described: TableDescription,
  { bucket, table: name }: ExposeTableOptions,
): { readonly table: ExposedTable; readonly before: ExposedTable | undefined } {
  const before = tables.find(each => each.bucket === bucket)
  const same = (each: ExposedTable) => isSameTable(each, described)
  if (before ? !same(before) : tables.some(same)) {
    const other = before ?? tables.find(same)!
    throw unsuitable(name, `${fullName(other)} is already the bucket ${other.bucket}. Remove that bucket first`)
  }
  const number = before?.number ?? Math.max(0, ...tables.map(each => each.number)) + 1
  return { table: { number, bucket, ...described }, before }
}

async function during<Result>(open: OpenTables, work: (opened: OpenedTables) => Promise<Result>): Promise<Result> {
  const opened = await open()
  try {
    return await work(opened)
  } finally {
    await opened.database.close().finally(() => opened.store.close())
  }
}

function checkBucket(bucket: Key): void {
  const [namespace = '', name = '', ...more] = bucket.split('/')
  if (more.length > 0) throw new FreshetError('NAME_INVALID', `${bucket} cannot be a bucket: a bucket has two names.`)
  checkName('namespace', namespace)
  checkName('bucket', name)
}

function toExposure(table: ExposedTable): Exposure {
  const { bucket, columns, key, isGone, phase } = table
  return {
    bucket,
    table: fullName(table),
    columns: columns.map(column => column.name),
    key,
    isGone: isGone === true,
    ...(phase !== undefined && { phase }),
  }
}
