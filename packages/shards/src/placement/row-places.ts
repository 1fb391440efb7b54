/**
 * Whether the rows of a shard are where queries look for them. A row outside its shard's range, or on a shard that has no range,
 * would be missing from results without an error; so each shard is examined once, before it is first asked.
 *
 * Ranges are compared by the smallest and the largest key of each table, which an index on the key answers. Where a hash places
 * rows, only the first 1,000 rows of each table are examined: that finds shards that are missing or in another order. `freshet
 * shards check` examines every row.
 */
import { FreshetError } from '@freshet/protocol'
import { quoteName, rangeOfShard, type Shard, type ShardMap } from '../plan/index.js'
import { placedAt } from './placed-database.js'
import type { ShardedDatabase } from './sharded-database.js'

const HASHED_ROWS_MAX = 1000

export class RowPlaces {
  readonly #database: ShardedDatabase
  readonly #looks = new Map<Shard, Promise<void>>()

  constructor(database: ShardedDatabase) {
    this.#database = database
  }

  /** Throws SHARD_UNUSABLE if rows are out of place, SHARD_UNAVAILABLE if one of the shards asked does not answer. */
  async confirm(asked: readonly Shard[], timeoutMs: number): Promise<void> {
    const { shards, map } = this.#database
    const unplaced = shards.filter(shard => !map.shards.includes(shard.name) && !asked.includes(shard))
    await Promise.all([
      ...asked.map(shard => this.#look(shard, timeoutMs)),
      ...unplaced.map(shard => this.#lookIfPossible(shard, timeoutMs)),
    ])
  }

  /** Leaves out shards that do not answer or are not prepared: queries that ask those fail. Throws SHARD_UNUSABLE. */
  async confirmAll(timeoutMs: number): Promise<void> {
    await Promise.all(this.#database.shards.map(shard => this.#lookIfPossible(shard, timeoutMs)))
  }

  async #lookIfPossible(shard: Shard, timeoutMs: number): Promise<void> {
    await this.#look(shard, timeoutMs).catch(error => {
      if (error instanceof RowsMisplaced || !(error instanceof FreshetError)) throw error
    })
  }

  #look(shard: Shard, timeoutMs: number): Promise<void> {
    const known = this.#looks.get(shard)
    if (known) return known
    const look = lookAt(this.#database, shard, timeoutMs).catch(error => {
      this.#looks.delete(shard)
      throw error
    })
    this.#looks.set(shard, look)
    return look
  }
}

class RowsMisplaced extends FreshetError {
  constructor(shard: string, message: string) {
    super('SHARD_UNUSABLE', message, { details: { shard } })
  }
}

async function lookAt(database: ShardedDatabase, shard: Shard, timeoutMs: number): Promise<void> {
  if (!database.map.shards.includes(shard.name)) {
    const table = await tableWithRows(shard, database.map)
    if (table === undefined) return
    // Rows arrive at a shard only after the log says so: so the log is read after the shard.
    const { map } = await placedAt(database, await database.log.head())
    if (!map.shards.includes(shard.name)) throw unplacedRows(shard.name, table)
  }
  // One after the other: the check should not take more connections than a query does.
  for (const table of Object.keys(database.map.sharded)) await lookAtTable(database, shard, table, timeoutMs)
}

/** The first sharded table of a shard that is not empty. Works also for a shard that was not prepared. */
export async function tableWithRows(shard: Shard, { sharded }: ShardMap): Promise<string | undefined> {
  for (const table of Object.keys(sharded)) {
    if (await shard.hasRows(table)) return table
  }
  return undefined
}

async function lookAtTable(database: ShardedDatabase, shard: Shard, table: string, timeoutMs: number): Promise<void> {
  const { placement, sharded, dialect } = database.map
  const key = sharded[table]!
  const [from, column] = [quoteName(table, dialect), quoteName(key, dialect)]
  const isHash = placement.kind === 'hash'
  const place = database.map.shards.indexOf(shard.name)
  const text = isHash
    ? `SELECT COUNT(*) FROM (SELECT ${column} FROM ${from} ORDER BY ${column} LIMIT ${HASHED_ROWS_MAX}) AS some WHERE ${misplacedCondition(column, place, database.map)}`
    : `SELECT (SELECT MIN(${column}) FROM ${from}), (SELECT MAX(${column}) FROM ${from}), (SELECT COUNT(*) FROM (SELECT 1 AS one FROM ${from} WHERE ${column} IS NULL LIMIT 1) AS n)`
  const { rows, applied } = await shard.read({ statement: { text, values: [] }, tables: [table], timeoutMs })
  const [cells] = rows
  // The snapshot that the keys are from has applied the log up to here: rows are placed as of then.
  const isWell = isHash
    ? Number(cells![0]) === 0
    : isWithin((await placedAt(database, applied)).map, shard.name, cells!)
  if (!isWell) throw misplacedRows(shard.name, table, key)
}

/** Numbers with a magnitude beyond 2^53 are rounded, which crosses no bound: bounds are smaller. */
function isWithin(map: ShardMap, shard: string, [min, max, nulls]: readonly unknown[]): boolean {
  if (Number(nulls) > 0) return false
  if (min === null) return true
  const place = map.shards.indexOf(shard)
  if (place === -1) return false
  const { low, high } = rangeOfShard(map, place)
  return Number(min) >= low && Number(max) <= high
}

/** Selects the rows of a table that belong to other shards than the one at this place. */
export function misplacedCondition(column: string, place: number, map: ShardMap): string {
  const { placement, shards, dialect } = map
  if (placement.kind === 'hash') {
    const hashed =
      dialect === 'mariadb'
        ? `CAST(CONV(LEFT(MD5(${column}), 8), 16, 10) AS UNSIGNED)`
        : `(('x' || LEFT(MD5(CAST(${column} AS text)), 8))::bit(32)::bigint & 4294967295)`
    return `(${column} IS NULL OR ${hashed} % ${shards.length} <> ${place})`
  }
  const { low, high } = rangeOfShard(map, place)
  const bounds = [
    ...(low === Number.NEGATIVE_INFINITY ? [] : [`${column} < ${low}`]),
    ...(high === Number.POSITIVE_INFINITY ? [] : [`${column} > ${high}`]),
  ]
  return `(${[`${column} IS NULL`, ...bounds].join(' OR ')})`
}

function misplacedRows(shard: string, table: string, key: string): FreshetError {
  return new RowsMisplaced(
    shard,
    `The shard ${shard} has rows of ${table} that belong to other shards by their ${key}. Correct "from" and the order of shards in the config, or move these rows; freshet shards check counts them.`,
  )
}

function unplacedRows(shard: string, table: string): FreshetError {
  return new RowsMisplaced(
    shard,
    `The shard ${shard} has rows of ${table}, but no range of keys, so no query reads it. Add "from", its first key, to its entry in the config; or, if it is new, empty its tables.`,
  )
}
