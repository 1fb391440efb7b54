/** The meaning of MariaDB's replies; and reads through them, of the primary or of a replica. */
import type { Key, Position, StoredValue, Version } from '@freshet/core/store'
import type { AsyncView, KeyedValue, View } from '@freshet/store/engine'
import { decodeIndexes } from '@freshet/store/indexes'
import type { RemoteReplica } from '@freshet/store/reads'
import { StateLines } from '../sql/state-lines.js'
import type { MariadbConnection, Row } from './mariadb-connection.js'
import { command, type Statement, type Statements } from './statements.js'

export const COMMIT: Statement = command('COMMIT')
export const SNAPSHOT: Statement = command('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY')

/** Runs a statement, on any connection or on a certain one. */
export type Ask = (statement: Statement) => Promise<readonly Row[]>

export interface StandbyLines {
  readonly place: string
  readonly statements: Statements
  readonly reads: readonly MariadbConnection[]
  /** For reads of several statements. */
  readonly states: readonly MariadbConnection[]
}

/**
 * A replica: read in the same way, without retries. What it has is in the primary's binary log; only the primary knows
 * whether that is visible yet.
 */
export function createStandby({ place, statements, reads, states }: StandbyLines): RemoteReplica {
  const free = new StateLines(states)
  let turn = 0
  const view = viewOf(statements, statement => reads[turn++ % reads.length]!.rows(statement))
  const inSnapshot = <Result>(read: (view: View) => Promise<Result>) =>
    free.use(async line => {
      const link = await line.connected()
      const beginning = line.rowsOn(link, SNAPSHOT)
      const reading = read(viewOf(statements, statement => line.rowsOn(link, statement)))
      const [began, done] = await Promise.allSettled([beginning, reading])
      line.rowsOn(link, COMMIT).catch(() => {})
      if (began.status === 'rejected') throw began.reason
      if (done.status === 'rejected') throw done.reason
      return done.value
    })
  return {
    place,
    values: view.values,
    inOneState: ({ isOneRead }, read) => (isOneRead ? read(view) : inSnapshot(read)),
    close: async () => {
      await Promise.all([...reads, ...states].map(line => line.close()))
    },
  }
}

/** Reads over any way to run statements. */
export function viewOf(statements: Statements, ask: Ask): AsyncView {
  return {
    async page(bucket, range) {
      const rows = await ask(statements.page(bucket, range))
      const [position, version] = headIn(rows) as [Position, Version | null]
      const found = byBytes(
        rows.filter(row => row[0] === null),
        2,
      )
      if (range.isDescending) found.reverse()
      const values = found.map(([, , key, ...value]): KeyedValue => ({ key: textOf(key), ...toValue(value) }))
      return { values, version: version ?? 0, position }
    },
    async values(keys) {
      const rows = await ask(statements.values(keys))
      return { value: valuesIn(rows), position: positionIn(rows) }
    },
    async indexes(bucket) {
      const [row] = await ask(statements.indexes(bucket))
      const [position, version, record] = row as [Position, Version | null, Buffer | null]
      return { value: { indexes: decodeIndexes(record ?? undefined), version: version ?? 0 }, position }
    },
    async tagVersions(tags) {
      if (tags.length === 0) return new Map()
      return toMap(await ask(statements.tagVersions(tags)), version => version as Version)
    },
    async entries({ low, high, after, isDescending, limit }) {
      // The next possible entry has one more byte.
      const bounds = isDescending
        ? { low, high: after ?? high }
        : { low: after ? Buffer.concat([after, ZERO]) : low, high }
      const rows = await ask(statements.entries({ ...bounds, isDescending, limit }))
      return rows.map(([entry]) => entry as Buffer)
    },
  }
}

const ZERO = Buffer.of(0)

/** The row with the position; among rows of one column, the first. */
export function headIn(rows: readonly Row[]): Row {
  return rows.find(([first]) => first !== null)!
}

export function positionIn(rows: readonly Row[]): Position {
  return headIn(rows)[0] as Position
}

/** Sorts rows: a union has no order of its own. Sorting rows that are in order already costs little. */
export function byBytes(rows: Row[], column: number): Row[] {
  return rows.sort((a, b) => Buffer.compare(a[column] as Buffer, b[column] as Buffer))
}

export function toMap<Value>(rows: readonly Row[], toValue: (column: unknown) => Value): Map<string, Value> {
  return new Map(rows.map(([name, column]) => [textOf(name), toValue(column)]))
}

/** Key and value. */
export function toValues(rows: readonly Row[]): Map<Key, StoredValue> {
  return new Map(rows.map(([key, ...value]) => [textOf(key), toValue(value)]))
}

/** The values in the other rows than the one with the position. */
export function valuesIn(rows: readonly Row[]): Map<Key, StoredValue> {
  const values = new Map<Key, StoredValue>()
  for (const [position, key, version, contentType, body] of rows) {
    if (position === null) values.set(textOf(key), toValue([version, contentType, body]))
  }
  return values
}

function toValue([version, contentType, body]: Row): StoredValue {
  return { version: version as Version, contentType: textOf(contentType), body: body as Buffer }
}

export function textOf(bytes: unknown): string {
  return (bytes as Buffer).toString()
}
