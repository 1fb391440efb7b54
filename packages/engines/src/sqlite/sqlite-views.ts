/** Reads on a connection. Each read is synchronous, and so sees one state. */
import type { Key, Position, Version } from '@freshet/core/store'
import type { AsyncView, BucketPage, KeyRange } from '@freshet/store/engine'
import { decodeIndexes } from '@freshet/store/indexes'
import type { Connection } from './connection.js'
import { toBuffer, toValue, toValues } from './rows.js'

const ZERO = Buffer.of(0)

/** `inOneState` runs each read, so that all its parts see one state. */
export function viewOf(
  place: string,
  connection: Connection,
  inOneState: <Result>(read: () => Result) => Promise<Result>,
): AsyncView {
  return {
    page: (bucket, range) => inOneState(() => readPage(place, connection, bucket, range)),
    values: keys =>
      inOneState(() => ({
        value: toValues(place, connection.step({ name: 'value', each: keys.map(key => [key]) })),
        position: positionOf(connection),
      })),
    indexes: bucket =>
      inOneState(() => {
        const record = connection.row('index', bucket)?.[1] as string | undefined
        const indexes = decodeIndexes(record === undefined ? undefined : Buffer.from(record))
        return { value: { indexes, version: versionOf(connection, bucket) }, position: positionOf(connection) }
      }),
    tagVersions: tags =>
      inOneState(
        () => new Map(connection.step({ name: 'tag', each: tags.map(tag => [tag]) }) as unknown as [string, Version][]),
      ),
    entries: ({ low, high, after, isDescending, limit }) =>
      inOneState(() => {
        // The next possible entry has one more byte.
        const bounds = isDescending ? [low, after ?? high] : [after ? Buffer.concat([after, ZERO]) : low, high]
        const rows = connection.rows(isDescending ? 'entriesDown' : 'entries', ...bounds, limit)
        return rows.map(([entry]) => toBuffer(entry))
      }),
  }
}

function readPage(place: string, connection: Connection, bucket: Key, range: KeyRange): BucketPage {
  const rows = connection.rows(range.isDescending ? 'pageDown' : 'page', ...pageValues(range))
  return {
    values: rows.map(row => ({ key: row[0] as Key, ...toValue(place, row) })),
    version: versionOf(connection, bucket),
    position: positionOf(connection),
  }
}

export function pageValues({ low, high, limit }: KeyRange): (string | number)[] {
  return [low.key, high.key, Number(low.isIncluded), Number(high.isIncluded), limit]
}

function positionOf(connection: Connection): Position {
  return connection.row('head')![0] as Position
}

function versionOf(connection: Connection, bucket: Key): Version {
  return (connection.row('bucket', bucket)?.[1] as Version | undefined) ?? 0
}
