/** Copies rows between servers: reads, inserts and deletes them by ranges of their keys. */
import { FreshetError } from '@freshet/protocol'
import { type CopyRequest, type Move, quoteName, type TableRows } from '../plan/index.js'
import type { Session } from './session-pool.js'
import type { CopiedColumn, ShardEngine } from './shard-engine.js'

const VALUES_PER_INSERT_MAX = 5000
/** Well below what a server takes in one packet: `max_allowed_packet` is usually at least 1 MiB. */
const BYTES_PER_INSERT_MAX = 512 * 1024

type Range = Pick<Move, 'low' | 'high'>

export async function readRows(
  session: Session,
  engine: ShardEngine,
  { tables, range }: Pick<CopyRequest, 'tables' | 'range'>,
): Promise<readonly TableRows[]> {
  const copies: TableRows[] = []
  for (const [table, key] of Object.entries(tables)) {
    const columns = await columnsOf(session, engine, table)
    const condition = range && key !== undefined ? conditionOf(engine, key, range) : { text: '', values: [] }
    const listed = columns.map(({ read }) => read).join(', ')
    const text = `SELECT ${listed} FROM ${quoteName(table, engine.dialect)}${condition.text}`
    const { rows } = await session.run(engine.spell(text), condition.values)
    copies.push({ table, columns: columns.map(({ name }) => name), rows })
  }
  return copies
}

/** Inserts in this order of tables: tables that others refer to come first. */
export async function insertRows(session: Session, engine: ShardEngine, copies: readonly TableRows[]): Promise<void> {
  for (const { table, columns, rows } of copies) {
    const known = await columnsOf(session, engine, table)
    const writes = columns.map(column => writeOf(engine, known, table, column))
    const names = columns.map(column => quoteName(column, engine.dialect)).join(', ')
    const head = `INSERT INTO ${quoteName(table, engine.dialect)} (${names})${engine.insertAsIs} VALUES `
    for (const some of cutRows(rows)) {
      await session.run(engine.spell(head + some.map(() => `(${writes.join(', ')})`).join(', ')), some.flat())
    }
  }
}

type Row = TableRows['rows'][number]

/** A row that is too long is sent by itself. */
function* cutRows(rows: readonly Row[]): Generator<readonly Row[]> {
  let some: Row[] = []
  let bytes = 0
  for (const row of rows) {
    const more = row.reduce<number>((sum, cell) => sum + Buffer.byteLength(String(cell)), 0)
    const isFull = (some.length + 1) * row.length > VALUES_PER_INSERT_MAX || bytes + more > BYTES_PER_INSERT_MAX
    if (some.length > 0 && isFull) {
      yield some
      some = []
      bytes = 0
    }
    some.push(row)
    bytes += more
  }
  if (some.length > 0) yield some
}

/** Deletes in the opposite order of tables. */
export async function deleteRows(
  session: Session,
  engine: ShardEngine,
  tables: Readonly<Record<string, string>>,
  range: Range,
): Promise<void> {
  for (const [table, key] of Object.entries(tables).reverse()) {
    const { text, values } = conditionOf(engine, key, range)
    await session.run(engine.spell(`DELETE FROM ${quoteName(table, engine.dialect)}${text}`), values)
  }
}

export function conditionOf(
  { dialect }: ShardEngine,
  key: string,
  { low, high }: Range,
): { readonly text: string; readonly values: readonly number[] } {
  const column = quoteName(key, dialect)
  return high === null
    ? { text: ` WHERE ${column} >= ?`, values: [low] }
    : { text: ` WHERE ${column} >= ? AND ${column} < ?`, values: [low, high] }
}

async function columnsOf(session: Session, engine: ShardEngine, table: string): Promise<readonly CopiedColumn[]> {
  const columns = await engine.copiedColumns(session, table)
  if (columns.length === 0) throw drifted(engine, `there is no table ${table}`)
  return columns
}

function writeOf(engine: ShardEngine, known: readonly CopiedColumn[], table: string, column: string): string {
  const found = known.find(({ name }) => name === column)
  if (found === undefined) throw drifted(engine, `${table} has no column ${column}`)
  return found.write
}

function drifted({ place }: ShardEngine, what: string): FreshetError {
  return new FreshetError(
    'SHARD_DRIFT',
    `The tables of the shards differ: at ${place} ${what}. Run freshet shards check to see the differences.`,
  )
}
