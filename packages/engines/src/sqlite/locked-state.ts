/** The beginning of a transaction, the lock and all reads, and its end, all writes; each is one message to the writer thread. */

import type { ClientWindow, ForeignOperation } from '@freshet/core/counters'
import type { Key, Position, StoredValue, Version } from '@freshet/core/store'
import { readForeign, readWindow, spellForeign, spellWindow } from '@freshet/store/commits'
import { type Changes, type LockedState, type Needs, NOTHING_INCOMING } from '@freshet/store/database'
import { decodeNumbers, encodeNumbers } from '@freshet/store/indexes'
import { encodeLogBatch } from '@freshet/store/records'
import { toChanged } from '../sql/log-rows.js'
import type { Row, Step, Value } from './connection.js'
import { logRow, toLogRows, toValue, toValues, valueRow } from './rows.js'
import { pageValues } from './sqlite-views.js'
import type { StatementName } from './statements.js'
import type { Writer } from './writer.js'

export const BEGIN: Step = { name: 'beginWrite', each: [[]] }
export const COMMIT: Step = { name: 'commit', each: [[]] }
export const ROLLBACK: Step = { name: 'rollback', each: [[]] }

export interface Locked {
  readonly state: LockedState
  /** The machine's time, from which the time of the state was computed. */
  readonly engineMs: number
}

export async function lockAndRead(place: string, writer: Writer, needs: Needs, nowMs: number): Promise<Locked> {
  const each = (name: StatementName, names: Iterable<string>): Step => ({ name, each: Array.from(names, one => [one]) })
  const ask = async (name: StatementName, ...values: Value[]) => (await writer.run([{ name, each: [values] }]))[0]!
  const [, heads, values, buckets, indexes, tags, clients, foreign] = (await writer.run([
    BEGIN,
    { name: 'state', each: [[nowMs]] },
    each('value', needs.keys),
    each('bucket', needs.buckets),
    each('index', needs.indexes),
    each('tag', needs.tags),
    each('client', needs.clients),
    each('foreign', needs.foreign),
  ])) as readonly Row[][]
  const [position, timeMs, trimmedTo, numbers, engineMs] = heads![0] as [Position, number, Position, string, number]
  const state: LockedState = {
    head: { position, timeMs, trimmedTo, numbers: decodeNumbers(Buffer.from(numbers)) },
    incoming: NOTHING_INCOMING,
    values: toValues(place, values!),
    buckets: new Map(buckets as unknown as [Key, Version][]),
    indexes: new Map(indexes!.map(([bucket, record]) => [bucket as Key, Buffer.from(record as string)])),
    tags: new Map(tags as unknown as [string, Version][]),
    windows: new Map(
      clients!.map(([name, text]): [string, ClientWindow] => [name as string, readWindow(text as string)]),
    ),
    foreign: new Map(
      foreign!.map(([id, text]): [string, ForeignOperation] => [id as string, readForeign(text as string)]),
    ),
    more: async keys => toValues(place, (await writer.run([each('value', keys)]))[0]!),
    async page(bucket, range) {
      const rows = await ask(range.isDescending ? 'pageDown' : 'page', ...pageValues(range))
      const version = (await ask('bucket', bucket))[0]?.[1] as Version | undefined
      return {
        values: rows.map(row => ({ key: row[0] as Key, ...toValue(place, row) })),
        version: version ?? 0,
        position,
      }
    },
    count: async (low, high) => (await ask('count', low, high))[0]![0] as number,
    changedAfter: async (after, batches) =>
      toChanged(toLogRows(place, await ask('changedAfter', after, batches)), after, batches),
  }
  return { state, engineMs }
}

/** Only the steps that have something to write. */
export function writesOf(changes: Changes, engineMs: number): Step[] {
  const { values, buckets, log, indexes, numbers, entries, tags, windows, foreign, position, timeMs } = changes
  const removed = [...values].filter(each => each[1] === undefined).map(([key]) => [key])
  const written = [...values].filter((each): each is [Key, StoredValue] => each[1] !== undefined)
  const entriesWhere = (isWanted: boolean) =>
    [...entries.values()].filter(({ isThere }) => isThere === isWanted).map(({ key }) => [own(key)])
  const steps: Step[] = [
    { name: 'removeValue', each: removed },
    { name: 'putValue', each: written.map(([key, value]) => valueRow(key, { ...value, body: own(value.body) })) },
    { name: 'putBucket', each: [...buckets] },
    { name: 'putLog', each: log ? [logRow(position, log.batch, own(encodeLogBatch(timeMs, log.commits)))] : [] },
    { name: 'putNumbers', each: numbers ? [[textOf(encodeNumbers(numbers))]] : [] },
    { name: 'putIndex', each: Array.from(indexes, ([bucket, record]) => [bucket, textOf(record)]) },
    { name: 'dropEntry', each: entriesWhere(false) },
    { name: 'putEntry', each: entriesWhere(true) },
    { name: 'putTag', each: [...tags] },
    {
      name: 'putClient',
      each: Array.from(windows, ([client, window]) => [client, window.lastMs, spellWindow(window)]),
    },
    { name: 'putForeign', each: Array.from(foreign, ([id, done]) => [id, done.timeMs, spellForeign(done)]) },
    { name: 'move', each: [[position, timeMs, engineMs]] },
  ]
  return steps.filter(({ each }) => each.length > 0)
}

/** Bytes sent to a thread take the whole buffer of which they are a part with them. */
function own(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}
