/**
 * The state that commits are decided against: what was read of what they need, with later records over it. And what they
 * change.
 */

import type { Key, Position, StoredValue } from '@freshet/core/store'
import { bucketOfKey } from '@freshet/protocol'
import { readForeign, readWindow, spellForeign, spellWindow } from '@freshet/store/commits'
import { type Changes, type LockedState, type Needs, NOTHING_INCOMING } from '@freshet/store/database'
import { type Effects, type LogRecord, type LogState, NO_EFFECTS, NO_NUMBERS } from './log-record.js'
import type { Rows } from './log-storage.js'
import { LogView, type ViewParts } from './log-view.js'
import type { Mirror, Recent } from './mirror.js'
import { TakenRows } from './taken-rows.js'

/** What a record is to change; its other fields follow from that. */
export interface Draft {
  readonly state?: Partial<LogState>
  readonly commits?: LogRecord['commits']
  readonly effects?: Effects
}

/** Of a state that the mirror may have passed since; the records in between are pinned in it. */
export interface Found {
  readonly objects: Map<Key, StoredValue | undefined>
  readonly buckets: Map<Key, Position | undefined>
  readonly clients: Map<string, string | undefined>
  readonly operations: Map<string, string | undefined>
  readonly indexes: Map<Key, Buffer | undefined>
  readonly tags: Map<string, Position | undefined>
}

export async function fetchNeeds(
  mirror: Mirror,
  rows: Rows,
  { keys, buckets, clients, foreign, indexes, tags }: Needs,
): Promise<Found> {
  // Without `numbers` no bucket has ever had an index. If one gets its first meanwhile, the mirror will have it.
  const readIndexes = async (missing: readonly Key[]) =>
    mirror.state.numbers === undefined ? new Map<Key, Buffer>() : rows.indexes(missing)
  const [a, b, c, d, e, f] = await Promise.all([
    fetchMissing(mirror.objects, keys, missing => rows.objects(missing)),
    fetchMissing(mirror.buckets, buckets, missing => rows.buckets(missing)),
    fetchMissing(mirror.clients, clients, missing => rows.records('clients', missing)),
    fetchMissing(mirror.operations, foreign, missing => rows.records('operations', missing)),
    fetchMissing(mirror.indexes, indexes, readIndexes),
    fetchMissing(mirror.tags, tags, missing => rows.tags(missing)),
  ])
  return { objects: a, buckets: b, clients: c, operations: d, indexes: e, tags: f }
}

/** Recent values, or else those in the tables, which the mirror then keeps. */
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
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length
  return typeof value === 'object' && value !== null && 'body' in value ? (value.body as Uint8Array).length : 0
}

export interface StateParts extends ViewParts {
  readonly found: Found
  readonly nowMs: number
  readonly changedAfter: LockedState['changedAfter']
  /** About how many objects a bucket has. */
  count(bucket: Key): Promise<number>
}

/**
 * The state at the end of the mirror. If the mirror advances meanwhile, the slot after this state is taken, and all is decided
 * again.
 */
export function stateAtEnd({ found, nowMs, changedAfter, count, ...parts }: StateParts): LockedState {
  const { mirror, rows } = parts
  const { state, objects } = mirror
  return {
    head: {
      position: state.position,
      timeMs: Math.max(state.timeMs, nowMs),
      trimmedTo: state.trimmedTo,
      numbers: state.numbers ?? NO_NUMBERS,
    },
    values: present(found.objects, objects, value => value),
    buckets: present(found.buckets, mirror.buckets, version => version),
    windows: present(found.clients, mirror.clients, readWindow),
    foreign: present(found.operations, mirror.operations, readForeign),
    indexes: present(found.indexes, mirror.indexes, record => record),
    tags: present(found.tags, mirror.tags, version => version),
    incoming: NOTHING_INCOMING,
    changedAfter,
    more: async keys => {
      const more = await fetchMissing(objects, keys, missing => rows.objects(missing))
      return present(more, objects, value => value)
    },
    page: (bucket, range) => new LogView(parts, new TakenRows(rows)).page(bucket, range),
    count: low => count(bucketOfKey(low)),
  }
}

/** The values that exist; recent ones replace those that were found. */
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

export function draftOf(changes: Changes): Draft {
  const { position, values, buckets, log, windows, foreign, indexes, numbers, tags, entries } = changes
  return {
    state: { position, ...(numbers && { numbers }) },
    commits: log?.commits ?? [],
    effects: {
      ...NO_EFFECTS,
      objects: values,
      buckets,
      clients: new Map(Array.from(windows, ([client, window]) => [client, spellWindow(window)])),
      operations: new Map(Array.from(foreign, ([id, operation]) => [id, spellForeign(operation)])),
      ...(indexes.size > 0 && {
        indexes: new Map(Array.from(indexes, ([bucket, record]) => [bucket, Buffer.from(record)])),
      }),
      tags,
      ...(entries.size > 0 && { entries: new Map(Array.from(entries, ([key, { isThere }]) => [key, isThere])) }),
    },
  }
}
