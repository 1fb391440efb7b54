/** The beginning of a transaction: BEGIN, the lock of the head, and all reads, in one round trip. */

import type { ClientWindow, ForeignOperation } from '@freshet/core/counters'
import type { Key, Version } from '@freshet/core/store'
import { readForeign, readWindow } from '@freshet/store/commits'
import type { LockedState, Needs } from '@freshet/store/database'
import { decodeNumbers } from '@freshet/store/indexes'
import type pg from 'pg'
import { toChanged } from '../sql/log-rows.js'
import { type SharedTables, TAKEN_MAX } from '../sql/tables/shared-tables.js'
import { texts } from './arrays.js'
import type { PostgresConnection } from './postgres-connection.js'
import { type Ask, toValues, viewOf } from './postgres-views.js'
import type { StatementName } from './statements.js'
import { take, takenIn } from './tables/table-writes.js'

/** Whatever the database's own default is. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'

export async function lockAndRead(
  line: PostgresConnection,
  client: pg.Client,
  ask: Ask,
  needs: Needs,
  nowMs: number,
  tables: SharedTables,
): Promise<{
  readonly state: LockedState
  readonly engineMs: number
  /** How many notes of other programs' changes there were. */
  readonly taken: number
  /** The list of tables, according to the database. */
  readonly tablesText: string
}> {
  const some = (name: StatementName, wanted: Iterable<string>) => {
    const names = [...wanted]
    return names.length === 0 ? [] : ask(name, [texts(names)])
  }
  const [, , heads, values, buckets, tags, clients, foreign] = await Promise.all([
    line.command(client, BEGIN),
    ask('lock'),
    ask('state', [nowMs, texts([...needs.indexes, ...tables.buckets])]),
    some('lockedValues', needs.keys),
    some('lockedBuckets', needs.buckets),
    some('tagVersions', needs.tags),
    some('lockedClients', needs.clients),
    some('lockedForeign', needs.foreign),
  ])
  const [position, timeMs, trimmedTo, numbers, engineMs, tablesText, isPending] = heads[0] as [
    ...[number, number, number, string, number],
    ...[string | null, boolean],
  ]
  const isBackfill = needs.taking === 'backfill'
  const isTaken =
    !tables.isEmpty && (tablesText ?? '') === tables.text && needs.taking !== undefined && (isPending || isBackfill)
  const noted = isTaken ? await line.rowsOfText(client, take(tables, isBackfill)) : undefined
  const { count: taken, writes } = noted ? takenIn(tables, noted) : { count: 0, writes: [] }
  const indexes = heads.map(row => row.slice(7)).filter(([bucket]) => bucket !== null)
  const state: LockedState = {
    head: { position, timeMs, trimmedTo, numbers: decodeNumbers(Buffer.from(numbers)) },
    incoming: { writes, noted: taken, isFull: taken === TAKEN_MAX },
    values: toValues(values),
    buckets: new Map(buckets as [Key, Version][]),
    indexes: new Map(indexes.map(([bucket, record]) => [bucket as Key, Buffer.from(record as string)])),
    tags: new Map(tags as [string, Version][]),
    windows: new Map(
      clients.map(([name, record]): [string, ClientWindow] => [name as string, readWindow(record as string)]),
    ),
    foreign: new Map(
      foreign.map(([id, record]): [string, ForeignOperation] => [id as string, readForeign(record as string)]),
    ),
    more: async keys => toValues(await ask('lockedValues', [texts(keys)])),
    page: (bucket, range) => viewOf(ask).page(bucket, range),
    count: async (low, high) => (await ask('count', [low, high]))[0]![0] as number,
    changedAfter: async (after, batches) => toChanged(await ask('changedAfter', [after, batches]), after, batches),
  }
  return { state, engineMs, taken, tablesText: tablesText ?? '' }
}
