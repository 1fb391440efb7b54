/** A record of the log, as it is in the row of a slot. */
import type { LogEntry, StoredValue } from '@freshet/core/store'
import { decodeLogBatch, encodeLogBatch, encodeValue } from '@freshet/store/records'
import type { types } from 'cassandra-driver'
import { type LogRecord, type LogState, readEntry, readValue, spellEntry } from '../log/log-record.js'
import type { Parameter } from './session.js'

/** From `id` on, in the order of the statement that appends. */
export function columnsOf({ id, state, commits, effects }: LogRecord): Parameter[] {
  const objects = new Map([...effects.objects].map(([key, value]) => [key, value ? spell(value) : DELETED] as const))
  const keys = commits.length === 0 ? null : encodeLogBatch(state.timeMs, commits)
  const { buckets, clients, operations, memory, indexes, tags, cleared } = effects
  const entries = new Map(Array.from(effects.entries, ([entry, isThere]) => [readEntry(entry), isThere] as const))
  const maps = [objects, buckets, clients, operations, memory, indexes, tags, entries]
  const added = cleared.size === 0 ? null : [...cleared]
  return [id, JSON.stringify(state), keys, ...maps.map(map => (map.size === 0 ? null : map)), added]
}

const DELETED = Buffer.alloc(0)

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
      indexes: mapOf(row.index_records, (record: Buffer) => record),
      tags: mapOf(row.tags, (position: types.Long) => position.toNumber()),
      entries: new Map(
        Array.from((row.index_entries ?? []) as Iterable<[Buffer, boolean]>, ([entry, isThere]) => [
          spellEntry(entry),
          isThere,
        ]),
      ),
      cleared: new Set<number>(row.cleared ?? []),
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
