/**
 * All statements, and their tables. Texts are VARBINARY, which compares byte by byte and pads nothing ("a" and "a " differ).
 * Each read also returns the head's position, in a row of its own, the one whose first column is not null: two selects in one
 * statement see one state.
 *
 * Nothing depends on statistics: FORCE INDEX makes each range read use the primary key.
 */

import type { Key, Position, StoredValue } from '@freshet/core/store'
import { LEASE_MS } from '@freshet/store/clock'
import { spellForeign, spellWindow } from '@freshet/store/commits'
import type { Changes } from '@freshet/store/database'
import type { EntriesRange, KeyRange } from '@freshet/store/engine'
import { encodeNumbers } from '@freshet/store/indexes'
import { encodeLogBatch } from '@freshet/store/records'

export const FORMAT_VERSION = 1
/** The format of a store with tables of other programs that are buckets. */
export const SHARED_FORMAT_VERSION = 2

/** A value that is a list stands for a list in parentheses. */
export interface Statement {
  readonly text: string
  readonly values: readonly Value[]
}

export type Value = number | boolean | string | Buffer | null | readonly Buffer[]

type Cell = number | string | Buffer

/** The engine's clock at the beginning of the statement; connections use UTC. */
const ENGINE_MS = 'CAST(UNIX_TIMESTAMP(NOW(6)) * 1000 AS DOUBLE)'
/** The store's time; see fleet-clock.ts of @freshet/store. */
const TIME_MS = `time_ms + LEAST(GREATEST(${ENGINE_MS} - set_ms, 0), ${LEASE_MS})`
/** The most bytes in one INSERT. */
const STATEMENT_BYTES_MAX = 1024 * 1024

const TABLES = {
  head: `single TINYINT PRIMARY KEY CHECK (single = 1), format INT NOT NULL, log VARBINARY(64) NOT NULL,
    position BIGINT NOT NULL, trimmed_to BIGINT NOT NULL, time_ms DOUBLE NOT NULL, set_ms DOUBLE NOT NULL,
    index_numbers LONGBLOB NOT NULL`,
  objects: `object_key VARBINARY(1024) PRIMARY KEY, version BIGINT NOT NULL, content_type VARBINARY(255) NOT NULL,
    body LONGBLOB NOT NULL`,
  buckets: 'bucket VARBINARY(1024) PRIMARY KEY, version BIGINT NOT NULL',
  log: 'position BIGINT PRIMARY KEY, batch VARBINARY(36) NOT NULL, record LONGBLOB NOT NULL',
  memory: 'name VARBINARY(1024) PRIMARY KEY, value LONGBLOB NOT NULL',
  indexes: 'bucket VARBINARY(1024) PRIMARY KEY, record LONGBLOB NOT NULL',
  entries: 'entry VARBINARY(2048) PRIMARY KEY',
  tags: 'tag VARBINARY(2048) PRIMARY KEY, position BIGINT NOT NULL',
  clients: `client VARBINARY(255) PRIMARY KEY, last_ms DOUBLE NOT NULL, operations LONGBLOB NOT NULL, KEY (last_ms)`,
  operations: `id VARBINARY(255) PRIMARY KEY, time_ms DOUBLE NOT NULL, done LONGBLOB NOT NULL, KEY (time_ms)`,
  flushes: 'single TINYINT PRIMARY KEY CHECK (single = 1), times BIGINT NOT NULL',
  skipped: 'ended BIGINT PRIMARY KEY, begun BIGINT NOT NULL',
  engine: 'single TINYINT PRIMARY KEY CHECK (single = 1), engine VARBINARY(255) NOT NULL, run VARBINARY(36) NOT NULL',
  // For tables of other programs that are buckets (tables/).
  exposed: 'number INT PRIMARY KEY, bucket VARBINARY(1024) NOT NULL UNIQUE, record LONGBLOB NOT NULL',
  // Rows of such tables that were changed, by any program, and are not in the log yet. An id has at most three times as many
  // bytes as the longest key.
  incoming: `is_backfill TINYINT NOT NULL, note VARBINARY(36) NOT NULL, exposed INT NOT NULL, id VARBINARY(16000) NOT NULL,
    writer VARBINARY(64), PRIMARY KEY (is_backfill, note), KEY ids (exposed, id(512))`,
}
/** These are empty after the engine was restarted, which is how a restart is detected. */
const PASSING_TABLES = {
  holders: 'name VARBINARY(255) PRIMARY KEY, holder VARBINARY(255) NOT NULL, until_ms DOUBLE NOT NULL',
  runs: 'single TINYINT PRIMARY KEY, server VARBINARY(1024) NOT NULL, id VARBINARY(36) NOT NULL',
}
/** Tables whose rows are still to be noted. Created last. */
const LAST_TABLES = { unnoted: 'exposed INT PRIMARY KEY' }

type Names = Readonly<Record<keyof typeof TABLES | keyof typeof PASSING_TABLES | keyof typeof LAST_TABLES, string>>

/** Creates the tables that do not exist; `head` is then empty. */
export function tablesFor(prefix: string): string[] {
  const create = (tables: Readonly<Record<string, string>>, engine: string) =>
    Object.entries(tables).map(
      ([name, columns]) => `CREATE TABLE IF NOT EXISTS ${prefix}${name} (${columns}) ENGINE = ${engine}`,
    )
  const engine = 'InnoDB ROW_FORMAT = DYNAMIC'
  return [...create(TABLES, engine), ...create(PASSING_TABLES, 'MEMORY'), ...create(LAST_TABLES, engine)]
}

/** Statements about tables whose names begin with `prefix`. */
export class Statements {
  readonly #name: Names

  constructor(prefix: string) {
    const names = Object.keys({ ...TABLES, ...PASSING_TABLES, ...LAST_TABLES })
    this.#name = Object.fromEntries(names.map(name => [name, prefix + name])) as Names
  }

  values(keys: readonly string[]): Statement {
    const { head, objects } = this.#name
    const position = `SELECT position, NULL, NULL, NULL, NULL FROM ${head}`
    if (keys.length === 0) return statement(position)
    const found = `SELECT NULL, object_key, version, content_type, body FROM ${objects} FORCE INDEX (PRIMARY)`
    return among(`${position} UNION ALL ${found} WHERE object_key IN (?)`, keys)
  }

  page(bucket: string, { low, high, isDescending, limit }: KeyRange): Statement {
    const { head, buckets, objects } = this.#name
    const from = low.isIncluded ? '>=' : '>'
    const to = high.isIncluded ? '<=' : '<'
    const text = `
      SELECT h.position, b.version, NULL, NULL, NULL, NULL FROM ${head} h LEFT JOIN ${buckets} b ON b.bucket = ? UNION ALL
      (SELECT NULL, NULL, object_key, version, content_type, body FROM ${objects} FORCE INDEX (PRIMARY)
      WHERE object_key ${from} ? AND object_key ${to} ? ORDER BY object_key ${isDescending ? 'DESC' : 'ASC'} LIMIT ?)`
    return statement(text, bytes(bucket), bytes(low.key), bytes(high.key), limit)
  }

  buckets(): Statement {
    const { head, buckets } = this.#name
    return statement(`SELECT position, NULL, NULL FROM ${head} UNION ALL SELECT NULL, bucket, version FROM ${buckets}`)
  }

  head(): Statement {
    return statement(`SELECT position, ${TIME_MS}, trimmed_to, log, format, 0 FROM ${this.#name.head}`)
  }

  /** The head, and whether other programs have noted changes. */
  headOfShared(): Statement {
    const { head } = this.#name
    return statement(`SELECT position, ${TIME_MS}, trimmed_to, log, format, ${this.#isPending} FROM ${head}`)
  }

  /** The tables of other programs that are buckets, one row each, with whether other programs have noted changes. */
  sharedTables(): Statement {
    return statement(`SELECT record, ${this.#isPending} FROM ${this.#name.exposed} ORDER BY number`)
  }

  get #isPending(): string {
    return `EXISTS (SELECT 1 FROM ${this.#name.incoming} WHERE is_backfill = 0)`
  }

  changes(after: Position, batches: number): Statement {
    const { head, log } = this.#name
    const found = `SELECT NULL, NULL, NULL, position, record FROM ${log} WHERE position > ? ORDER BY position LIMIT ?`
    const text = `SELECT position, log, trimmed_to, NULL, NULL FROM ${head} UNION ALL (${found})`
    return statement(text, after, batches)
  }

  indexes(bucket: string): Statement {
    const { head, buckets, indexes } = this.#name
    const text = `SELECT h.position, b.version, i.record FROM ${head} h
      LEFT JOIN ${buckets} b ON b.bucket = ? LEFT JOIN ${indexes} i ON i.bucket = ?`
    return statement(text, bytes(bucket), bytes(bucket))
  }

  tagVersions(tags: readonly string[]): Statement {
    return among(`SELECT tag, position FROM ${this.#name.tags} WHERE tag IN (?)`, tags)
  }

  entries({ low, high, isDescending, limit }: Omit<EntriesRange, 'after'>): Statement {
    const order = isDescending ? 'DESC' : 'ASC'
    const text = `SELECT entry FROM ${this.#name.entries} WHERE entry >= ? AND entry < ? ORDER BY entry ${order} LIMIT ?`
    return statement(text, low, high, limit)
  }

  unfinished(): Statement {
    const { head, indexes } = this.#name
    const found = `SELECT NULL, bucket FROM ${indexes} WHERE record LIKE '%"isReady":false%'`
    return statement(`SELECT index_numbers, NULL FROM ${head} UNION ALL ${found}`)
  }

  countOperations(): Statement {
    const { clients, operations } = this.#name
    const size = 'CAST(sum(data_length + index_length) AS DOUBLE) FROM information_schema.tables'
    const where = `WHERE table_schema = DATABASE() AND table_name IN ('${clients}', '${operations}')`
    return statement(`SELECT (SELECT count(*) FROM ${clients}), (SELECT count(*) FROM ${operations}), ${size} ${where}`)
  }

  recall(name: string): Statement {
    return statement(`SELECT value FROM ${this.#name.memory} WHERE name = ?`, bytes(name))
  }

  remember(name: string, value: Uint8Array): Statement {
    return upsert(this.#name.memory, ['name', 'value'], [[bytes(name), asBuffer(value)]])
  }

  /** The last statement returns whether `holder` holds it. */
  hold(name: string, holder: string, ms: number): Statement[] {
    const { head, holders } = this.#name
    const now = `(SELECT ${TIME_MS} FROM ${head})`
    const set = `UPDATE ${holders} SET holder = ?, until_ms = ${now} + ?`
    const [what, who] = [bytes(name), bytes(holder)]
    return [
      statement(`INSERT IGNORE INTO ${holders} VALUES (?, ?, -1)`, what, who),
      statement(`${set} WHERE name = ? AND (holder = ? OR until_ms <= ${now})`, who, ms, what, who),
      statement(`SELECT holder = ? FROM ${holders} WHERE name = ?`, who, what),
    ]
  }

  trim(upTo: Position): Statement {
    const set = `UPDATE ${this.#name.head} SET trimmed_to = LEAST(GREATEST(trimmed_to, ?), position)`
    return statement(`${set} WHERE trimmed_to < LEAST(?, position)`, upTo, upTo)
  }

  deleteTrimmed(upTo: Position, limit: number): Statement {
    return statement(`DELETE FROM ${this.#name.log} WHERE position <= ? ORDER BY position LIMIT ?`, upTo, limit)
  }

  forgetClients(beforeMs: number, limit: number): Statement {
    const text = `DELETE FROM ${this.#name.clients} WHERE last_ms < ? ORDER BY last_ms LIMIT ?`
    return statement(text, beforeMs, limit)
  }

  forgetForeign(beforeMs: number, limit: number): Statement {
    const text = `DELETE FROM ${this.#name.operations} WHERE time_ms < ? ORDER BY time_ms LIMIT ?`
    return statement(text, beforeMs, limit)
  }

  removeEntries(low: Buffer, high: Buffer, limit: number): Statement {
    const text = `DELETE FROM ${this.#name.entries} WHERE entry >= ? AND entry < ? ORDER BY entry LIMIT ?`
    return statement(text, low, high, limit)
  }

  lock(): Statement {
    return statement(`SELECT position FROM ${this.#name.head} FOR UPDATE`)
  }

  /** Not in one statement with the lock: NOW() would be the time before the wait. */
  state(nowMs: number): Statement {
    const text = `SELECT position, GREATEST(?, ${TIME_MS}), trimmed_to, index_numbers, ${ENGINE_MS}, format FROM ${this.#name.head}`
    return statement(text, nowMs)
  }

  indexesOf(buckets: readonly string[]): Statement {
    return among(`SELECT bucket, record FROM ${this.#name.indexes} WHERE bucket IN (?)`, buckets)
  }

  valuesOf(keys: readonly string[]): Statement {
    const text = `SELECT object_key, version, content_type, body FROM ${this.#name.objects} FORCE INDEX (PRIMARY)`
    return among(`${text} WHERE object_key IN (?)`, keys)
  }

  versionsOf(buckets: readonly string[]): Statement {
    return among(`SELECT bucket, version FROM ${this.#name.buckets} WHERE bucket IN (?)`, buckets)
  }

  windowsOf(clients: readonly string[]): Statement {
    return among(`SELECT client, operations FROM ${this.#name.clients} WHERE client IN (?)`, clients)
  }

  foreign(ids: readonly string[]): Statement {
    return among(`SELECT id, done FROM ${this.#name.operations} WHERE id IN (?)`, ids)
  }

  count(low: string, high: string): Statement {
    const text = `SELECT count(*) FROM ${this.#name.objects} WHERE object_key >= ? AND object_key < ?`
    return statement(text, bytes(low), bytes(high))
  }

  changedAfter(after: Position, batches: number): Statement {
    const text = `SELECT position, record FROM ${this.#name.log} WHERE position > ? ORDER BY position DESC LIMIT ?`
    return statement(text, after, batches)
  }

  /** All that a transaction writes; no statement without rows. */
  writes(changes: Changes, engineMs: number): Statement[] {
    const { values, buckets, indexes, entries, tags, windows, foreign, numbers, log, timeMs, position } = changes
    const written = [...values].filter((each): each is [Key, StoredValue] => each[1] !== undefined)
    const removed = [...values].filter(each => each[1] === undefined).map(([key]) => key)
    const kept = [...entries.values()].filter(({ isThere }) => isThere).map(({ key }) => [key])
    const dropped = [...entries.values()].filter(({ isThere }) => !isThere).map(({ key }) => key)
    const name = this.#name
    return [
      ...upserts(
        name.objects,
        ['object_key', 'version', 'content_type', 'body'],
        written.map(([key, value]) => [bytes(key), value.version, bytes(value.contentType), asBuffer(value.body)]),
      ),
      ...(removed.length > 0 ? [among(`DELETE FROM ${name.objects} WHERE object_key IN (?)`, removed)] : []),
      ...upserts(
        name.buckets,
        ['bucket', 'version'],
        rowsOf(buckets, version => [version]),
      ),
      ...upserts(
        name.indexes,
        ['bucket', 'record'],
        rowsOf(indexes, record => [asBuffer(record)]),
      ),
      ...(dropped.length > 0 ? [statement(`DELETE FROM ${name.entries} WHERE entry IN (?)`, dropped)] : []),
      ...upserts(name.entries, ['entry'], kept),
      ...upserts(
        name.tags,
        ['tag', 'position'],
        rowsOf(tags, version => [version]),
      ),
      ...upserts(
        name.clients,
        ['client', 'last_ms', 'operations'],
        rowsOf(windows, window => [window.lastMs, bytes(spellWindow(window))]),
      ),
      ...upserts(
        name.operations,
        ['id', 'time_ms', 'done'],
        rowsOf(foreign, operation => [operation.timeMs, bytes(spellForeign(operation))]),
      ),
      ...(numbers ? [statement(`UPDATE ${name.head} SET index_numbers = ?`, asBuffer(encodeNumbers(numbers)))] : []),
      ...(log
        ? [
            statement(
              `INSERT INTO ${name.log} VALUES (?, ?, ?)`,
              ...[position, log.batch, asBuffer(encodeLogBatch(timeMs, log.commits))],
            ),
          ]
        : []),
      statement(`UPDATE ${name.head} SET position = ?, time_ms = ?, set_ms = ?`, position, timeMs, engineMs),
    ]
  }

  /** Assignments run from left to right: `time_ms` is computed from the old `set_ms`. */
  tick(nowMs: number): Statement {
    return statement(`UPDATE ${this.#name.head} SET time_ms = GREATEST(?, ${TIME_MS}), set_ms = ${ENGINE_MS}`, nowMs)
  }

  /** The time that was set; and whether this server has become read-only, which does not keep every user from writing. */
  ticked(): Statement {
    const isReadOnly = '@@read_only OR @@innodb_read_only'
    return statement(`SELECT position, time_ms, trimmed_to, ${isReadOnly} FROM ${this.#name.head}`)
  }

  /** Whether it is in the log; and whether the answer is certain: that part of the log remains, or was skipped. */
  isCommitted(position: Position, batch: string): Statement {
    const { head, log, skipped } = this.#name
    const text = `
      SELECT EXISTS (SELECT 1 FROM ${log} WHERE position = ? AND batch = ?),
        trimmed_to < ? OR EXISTS (SELECT 1 FROM ${log} WHERE position < ?) OR
        EXISTS (SELECT 1 FROM ${skipped} WHERE ended < ? AND begun > ?)
      FROM ${head}`
    return statement(text, position, batch, position, position, position, position)
  }

  /** Once this is committed, everything that could be read before it is on disk. */
  flush(): Statement {
    return statement(`UPDATE ${this.#name.flushes} SET times = times + 1`)
  }
}

export function command(text: string): Statement {
  return statement(text)
}

function statement(text: string, ...values: Value[]): Statement {
  return { text, values }
}

function among(text: string, names: readonly string[]): Statement {
  return statement(text, names.map(bytes))
}

function rowsOf<Value>(map: ReadonlyMap<string, Value>, toCells: (value: Value) => Cell[]): Cell[][] {
  return Array.from(map, ([name, value]) => [bytes(name), ...toCells(value)])
}

/** Rows, as many per statement as STATEMENT_BYTES_MAX allows. */
function upserts(table: string, columns: readonly string[], rows: readonly Cell[][]): Statement[] {
  const found: Statement[] = []
  for (let from = 0, to = 0; from < rows.length; from = to) {
    let size = 0
    do size += sizeOf(rows[to++]!)
    while (to < rows.length && size + sizeOf(rows[to]!) < STATEMENT_BYTES_MAX)
    found.push(upsert(table, columns, rows.slice(from, to)))
  }
  return found
}

function upsert(table: string, columns: readonly string[], rows: readonly Cell[][]): Statement {
  const row = `(${columns.map(() => '?').join()})`
  const changes = columns.map(name => `${name} = VALUES(${name})`).join()
  const text = `INSERT INTO ${table} VALUES ${rows.map(() => row).join()} ON DUPLICATE KEY UPDATE ${changes}`
  return { text, values: rows.flat() }
}

/** An upper bound: each byte may have to be escaped. */
export function sizeOf(values: readonly (Value | Cell)[]): number {
  return values.reduce<number>((sum, value) => sum + 2 * lengthOf(value) + 16, 0)
}

function lengthOf(value: Value | Cell): number {
  if (Array.isArray(value)) return sizeOf(value)
  return typeof value === 'string' || value instanceof Buffer ? Buffer.byteLength(value) : 24
}

function bytes(text: string): Buffer {
  return Buffer.from(text)
}

/** The driver accepts only buffers. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
