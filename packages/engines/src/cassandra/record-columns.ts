/**
 * The columns of a record of the log, in the row of its slot.
 *
 * Changes of indexes are one map. The first letter of each key says what the rest names:
 *
 *     i + bucket   the bytes of `encodeIndexes`
 *     t + tag      the position of the last change that carries the tag, in digits
 *     e + entry    1: the entry exists from now on; no byte: it is removed
 *     c + number   no byte: all entries of this dropped index are to be removed
 */
import type { LogEntry, StoredValue } from '@freshet/core/store'
import { decodeLogBatch, encodeLogBatch, encodeValue } from '@freshet/store/records'
import cassandra, { type types } from 'cassandra-driver'
import { type Effects, type LogRecord, type LogState, readValue } from '../log/log-record.js'
import type { Parameter } from './session.js'

const { unset } = cassandra.types
const NOTHING = Buffer.alloc(0)
const IS_THERE = Buffer.of(1)

/** From `id` on, in the order of the statement that appends. A column that is left out (`unset`) takes no space in its row. */
export function columnsOf({ id, state, commits, effects }: LogRecord): Parameter[] {
  const objects = new Map([...effects.objects].map(([key, value]) => [key, value ? spell(value) : NOTHING] as const))
  const keys = commits.length === 0 ? unset : encodeLogBatch(state.timeMs, commits)
  const { buckets, clients, operations, memory } = effects
  const maps = [objects, buckets, clients, operations, memory, indexingOf(effects)]
  return [id, JSON.stringify(state), keys, ...maps.map(map => (map.size === 0 ? unset : map))]
}

function indexingOf({ indexes, tags, entries, cleared }: Effects): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>()
  for (const [bucket, record] of indexes) found.set(`i${bucket}`, record)
  for (const [tag, position] of tags) found.set(`t${tag}`, Buffer.from(`${position}`))
  for (const [entry, isThere] of entries) found.set(`e${entry}`, isThere ? IS_THERE : NOTHING)
  for (const number of cleared) found.set(`c${number}`, NOTHING)
  return found
}

function readIndexing(
  indexing: ReadonlyMap<string, Buffer> | null,
): Pick<Effects, 'indexes' | 'tags' | 'entries' | 'cleared'> {
  const indexes = new Map<string, Buffer>()
  const tags = new Map<string, number>()
  const entries = new Map<string, boolean>()
  const cleared = new Set<number>()
  for (const [key, value] of indexing ?? []) {
    const name = key.slice(1)
    if (key.startsWith('i')) indexes.set(name, value)
    else if (key.startsWith('t')) tags.set(name, Number(value.toString()))
    else if (key.startsWith('e')) entries.set(name, value.length > 0)
    else cleared.add(Number(name))
  }
  return { indexes, tags, entries, cleared }
}

function spell(value: StoredValue): Uint8Array {
  return encodeValue(value.version, value)
}

export function recordOf(row: types.Row): LogRecord {
  const state = stateOf(row)
  return {
    slot: row.slot.toNumber(),
    id: row.id,
    state,
    commits: row.changed === null ? [] : decodeLogBatch(state.position, row.changed),
    effects: {
      objects: mapOf(row.objects, (value: Buffer, key) => (value.length === 0 ? undefined : readValue(key, value))),
      buckets: mapOf(row.buckets, (position: types.Long) => position.toNumber()),
      clients: mapOf(row.clients, (text: string) => text),
      operations: mapOf(row.operations, (text: string) => text),
      memory: mapOf(row.memory, (value: Buffer) => value),
      ...readIndexing(row.indexing),
    },
  }
}

export function stateOf({ state }: types.Row): LogState {
  return JSON.parse(state)
}

export function entriesInRow(row: types.Row): LogEntry[] {
  return row.changed === null ? [] : decodeLogBatch(stateOf(row).position, row.changed)
}

function mapOf<From, To>(map: Map<string, From> | null, read: (from: From, key: string) => To): Map<string, To> {
  return new Map(map === null ? [] : [...map].map(([key, value]) => [key, read(value, key)] as const))
}
