/** Reads of PostgreSQL, of the primary or of a standby, over any way to run statements. */

import type { IndexRecord } from '@freshet/core/commit'
import type { Key, Position, StoredValue, Version } from '@freshet/core/store'
import type { Head } from '@freshet/store/database'
import type { AsyncView, BucketPage, KeyedValue, KeyRange, View } from '@freshet/store/engine'
import { decodeIndexes } from '@freshet/store/indexes'
import type { RemoteReplica } from '@freshet/store/reads'
import { StateLines } from '../sql/state-lines.js'
import { texts } from './arrays.js'
import type { PostgresConnection, Row } from './postgres-connection.js'
import type { StatementName } from './statements.js'

export interface StandbyLines {
  readonly place: string
  readonly reads: PostgresConnection
  /** For reads of several statements. */
  readonly states: readonly PostgresConnection[]
}

/** Runs a statement, on any connection or on a certain one. */
export type Ask = (name: StatementName, values?: unknown[]) => Promise<readonly Row[]>

/** A standby: read in the same way, without retries. */
export function createStandby({ place, reads, states }: StandbyLines): RemoteReplica {
  const free = new StateLines(states)
  const view = viewOf((name, values) => reads.rows(name, values))
  return {
    place,
    values: view.values,
    inOneState: ({ isOneRead }, read) => (isOneRead ? read(view) : free.use(line => readState(line, read))),
    close: async () => {
      await Promise.all([reads, ...states].map(line => line.close()))
    },
  }
}

/** Reads over any way to run statements. */
export function viewOf(ask: Ask): AsyncView {
  return {
    async page(bucket, range) {
      return toPage(await ask(range.isDescending ? 'pageDown' : 'page', pageValues(bucket, range)))
    },
    async values(keys) {
      const rows = await ask('values', [texts(keys)])
      return { value: toValues(rows.map(row => row.slice(1))), position: rows[0]![0] as Position }
    },
    async indexes(bucket) {
      const [position, version, record] = (await ask('indexes', [bucket]))[0] as [
        Position,
        Version | null,
        string | null,
      ]
      return { value: { indexes: toIndexes(record), version: version ?? 0 }, position }
    },
    async tagVersions(tags) {
      return new Map((await ask('tagVersions', [texts(tags)])) as [string, Version][])
    },
    async entries({ low, high, after, isDescending, limit }) {
      // The next possible entry has one more byte.
      const bounds = isDescending ? [low, after ?? high] : [after ? Buffer.concat([after, ZERO]) : low, high]
      const rows = await ask(isDescending ? 'entriesDown' : 'entries', [...bounds, limit])
      return rows.map(([entry]) => entry as Buffer)
    },
  }
}

const ZERO = Buffer.of(0)

export async function readState<Result>(
  line: PostgresConnection,
  read: (view: View) => Promise<Result>,
): Promise<Result> {
  const client = await line.connected()
  const beginning = line.command(client, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  try {
    const [result] = await Promise.all([read(viewOf((name, values) => line.rowsOn(client, name, values))), beginning])
    return result
  } finally {
    // All replies have arrived.
    line.command(client, 'COMMIT').catch(() => {})
  }
}

function pageValues(bucket: Key, { low, high, limit }: KeyRange): unknown[] {
  return [bucket, low.key, high.key, low.isIncluded, high.isIncluded, limit]
}

function toPage(rows: readonly Row[]): BucketPage {
  const [position, version] = rows[0] as [Position, Version | null]
  const values = rows
    .filter(row => row[2] !== null)
    .map(([, , key, ...value]): KeyedValue => ({ key: key as Key, ...toValue(value) }))
  return { values, version: version ?? 0, position }
}

/** Key and value; a row without a key is of the head alone. */
export function toValues(rows: readonly Row[]): Map<Key, StoredValue> {
  const there = rows.filter(([key]) => key !== null)
  return new Map(there.map(([key, ...value]) => [key as Key, toValue(value)]))
}

function toValue([version, contentType, body]: Row): StoredValue {
  return { version: version as Version, contentType: contentType as string, body: body as Buffer }
}

export function toHead([position, timeMs, trimmedTo]: Row): Head {
  return {
    position: position as Position,
    isPending: false,
    timeMs: timeMs as number,
    trimmedTo: trimmedTo as Position,
  }
}

function toIndexes(record: string | null): readonly IndexRecord[] {
  return decodeIndexes(record === null ? undefined : Buffer.from(record))
}
