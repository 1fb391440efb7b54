/** What commits are decided by: what was found of what they need, and over it what the log has beyond. And what they come to. */
import type { Key, Position, StoredValue } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { readForeign, readWindow, spellForeign, spellWindow } from '../sql/operation-records.js'
import { type Changes, type LockedState, type Needs, NOTHING_INCOMING } from '../sql/sql-engine.js'
import type { Effects, LogRecord, LogState } from './log-record.js'
import type { Mirror, Recent } from './mirror.js'
import type { Rows } from './parts.js'

/** What a record is to change, beside what follows from that. */
export interface Draft {
  readonly state?: Partial<LogState>
  readonly commits?: LogRecord['commits']
  readonly effects?: Effects
}

/** Of a state that the mirror has since gone beyond, maybe; what came between is pinned in it. */
export interface Found {
  readonly objects: Map<Key, StoredValue | undefined>
  readonly buckets: Map<Key, Position | undefined>
  readonly clients: Map<string, string | undefined>
  readonly operations: Map<string, string | undefined>
}

export async function fetchNeeds(
  mirror: Mirror,
  rows: Rows,
  { keys, buckets, clients, foreign }: Needs,
): Promise<Found> {
  const [a, b, c, d] = await Promise.all([
    fetchMissing(mirror.objects, keys, missing => rows.objects(missing)),
    fetchMissing(mirror.buckets, buckets, missing => rows.buckets(missing)),
    fetchMissing(mirror.clients, clients, missing => rows.records('clients', missing)),
    fetchMissing(mirror.operations, foreign, missing => rows.records('operations', missing)),
  ])
  return { objects: a, buckets: b, clients: c, operations: d }
}

/** What is recent, or else what the tables have; and that is recent from then on. */
async function fetchMissing<Value>(
  recent: Recent<Value | undefined>,
  all: Iterable<string>,
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): Promise<Map<string, Value | undefined>> {
  const keys = [...all]
  const found = new Map(keys.filter(key => recent.has(key)).map(key => [key, recent.get(key)]))
  const missing = keys.filter(key => !found.has(key))
  const rows = missing.length === 0 ? new Map<string, Value>() : await read(missing)
  for (const key of missing) {
    found.set(key, rows.get(key))
    recent.learn(key, rows.get(key), sizeOf(rows.get(key)))
  }
  return found
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  return typeof value === 'object' && value !== null && 'body' in value ? (value.body as Uint8Array).length : 0
}

/** The state at the end of the mirror. */
export function stateAtEnd(
  { state, objects, buckets, clients, operations }: Mirror,
  found: Found,
  nowMs: number,
  changedAfter: LockedState['changedAfter'],
): LockedState {
  const timeMs = Math.max(state.timeMs, nowMs)
  return {
    head: { position: state.position, timeMs, trimmedTo: state.trimmedTo, numbers: { last: 0, dropped: [] } },
    values: present(found.objects, objects, value => value),
    buckets: present(found.buckets, buckets, version => version),
    windows: present(found.clients, clients, readWindow),
    foreign: present(found.operations, operations, readForeign),
    indexes: new Map(),
    tags: new Map(),
    incoming: NOTHING_INCOMING,
    changedAfter,
    more: noIndexes,
    page: noIndexes,
    count: noIndexes,
  }
}

/** Those that are there; what is recent goes over what was found. */
function present<Kept, Value>(
  found: ReadonlyMap<string, Kept | undefined>,
  recent: { has(key: string): boolean; get(key: string): Kept | undefined },
  read: (kept: Kept) => Value,
): Map<string, Value> {
  const values = new Map<string, Value>()
  for (const [key, value] of found) {
    const latest = recent.has(key) ? recent.get(key) : value
    if (latest !== undefined) values.set(key, read(latest))
  }
  return values
}

export function draftOf({ position, values, buckets, log, windows, foreign }: Changes): Draft {
  return {
    state: { position },
    commits: log?.commits ?? [],
    effects: {
      objects: values,
      buckets,
      clients: new Map(Array.from(windows, ([client, window]) => [client, spellWindow(window)])),
      operations: new Map(Array.from(foreign, ([id, operation]) => [id, spellForeign(operation)])),
      memory: new Map(),
    },
  }
}

function noIndexes(): never {
  throw new FreshetError('LIMIT_EXCEEDED', 'A store over a log has no indexes.')
}
