/**
 * A view of a store over a log: rows, with the log's changes since the mirror was pinned over them. The rows may have been read
 * at different moments since then. That does no harm: every change in between is in the log, and goes over them.
 *
 * The parts of a view are of one state if the log has changed none of them since the view was made. `one-state.ts` checks that.
 */
import type { IndexRecord } from '@freshet/core/commit'
import type { Key, Position, Snapshot, StoredValue, Version } from '@freshet/core/store'
import { bucketOfKey, idOfKey } from '@freshet/protocol'
import type { AsyncView, BucketPage, EntriesRange, KeyedValue, KeyRange } from '@freshet/store/engine'
import { decodeIndexes } from '@freshet/store/indexes'
import { readEntry, spellEntry } from './log-record.js'
import type { Rows } from './log-storage.js'
import type { Mirror, Pin, Recent } from './mirror.js'
import { changedRows, type Keyed } from './stretch.js'
import { boundsOf, orderOfEntries, orderOfKeys, type TakenRows } from './taken-rows.js'

export interface ViewParts {
  readonly mirror: Mirror
  readonly pin: Pin
  readonly rows: Rows
}

type Changes<Row> = ReadonlyMap<string, Row | undefined>

export class LogView implements AsyncView {
  readonly #parts: ViewParts
  readonly #taken: TakenRows
  readonly #objects = new Map<Key, Changes<KeyedValue>>()
  #entries: Changes<Keyed> | undefined

  constructor(parts: ViewParts, taken: TakenRows) {
    this.#parts = parts
    this.#taken = taken
  }

  async page(bucket: Key, range: KeyRange): Promise<BucketPage> {
    const { limit, isDescending } = range
    const changes = this.#changesOf(bucket)
    const within = { ...boundsOf(range), compare: orderOfKeys(isDescending), limit }
    const [values, version] = await Promise.all([
      changedRows(this.#taken.pages(bucket, range), changes, within),
      this.#versionOf(bucket),
    ])
    const own = changes.size === 0 ? values : values.map(value => (changes.has(value.key) ? owned(value) : value))
    return { values: own, version, position: this.#position }
  }

  async values(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> {
    const { mirror, rows } = this.#parts
    const read = (missing: readonly Key[]) => rows.objects(missing)
    const found = await this.#latest(mirror.objects, this.#taken.values, keys, read, owned)
    const value = new Map<Key, StoredValue>()
    for (const [key, each] of found) if (each !== undefined) value.set(key, each)
    return { value, position: this.#position }
  }

  async indexes(
    bucket: Key,
  ): Promise<Snapshot<{ readonly indexes: readonly IndexRecord[]; readonly version: Version }>> {
    const [indexes, version] = await Promise.all([this.#indexesOf(bucket), this.#versionOf(bucket)])
    return { value: { indexes, version }, position: this.#position }
  }

  async tagVersions(tags: readonly string[]): Promise<ReadonlyMap<string, Version>> {
    const { mirror, rows } = this.#parts
    const found = await this.#learned(mirror.tags, this.#taken.tags, tags, missing => rows.tags(missing))
    return new Map(Array.from(found, ([tag, version]) => [tag, version ?? 0]))
  }

  async entries(range: EntriesRange): Promise<readonly Buffer[]> {
    const { low, high, after, isDescending, limit } = range
    const ends = boundsOf({
      low: { key: spellEntry(low), isIncluded: true },
      high: { key: spellEntry(high), isIncluded: false },
      ...{ isDescending, limit },
    })
    const from = after === undefined ? ends.from : { key: spellEntry(after), isIncluded: false }
    const within = { from, to: ends.to, compare: orderOfEntries(isDescending), limit }
    const entries = await changedRows(this.#taken.entries(range), this.#changedEntries(), within)
    return entries.map(({ key }) => readEntry(key))
  }

  get #position(): Position {
    return this.#parts.mirror.state.position
  }

  async #versionOf(bucket: Key): Promise<Version> {
    const { mirror, rows } = this.#parts
    const found = await this.#learned(mirror.buckets, this.#taken.versions, [bucket], missing => rows.buckets(missing))
    return found.get(bucket) ?? 0
  }

  async #indexesOf(bucket: Key): Promise<readonly IndexRecord[]> {
    const { mirror, rows } = this.#parts
    // No bucket has ever had an index.
    if (mirror.state.numbers === undefined) return []
    const found = await this.#learned(mirror.indexes, this.#taken.indexes, [bucket], missing => rows.indexes(missing))
    return decodeIndexes(found.get(bucket))
  }

  /** As `#latest`, for small values, which the mirror keeps from then on. */
  #learned<Value extends Version | Buffer>(
    recent: Recent<Value | undefined>,
    taken: Map<string, Value | undefined>,
    keys: readonly string[],
    read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
  ): Promise<Map<string, Value | undefined>> {
    const readAndLearn = async (missing: readonly string[]) => {
      const found = await read(missing)
      for (const key of missing) {
        const value = found.get(key)
        recent.learn(key, value, typeof value === 'object' ? value.length : 0)
      }
      return found
    }
    return this.#latest(recent, taken, keys, readAndLearn, value => value)
  }

  /**
   * The values that records have changed since the pin, else those that were taken. Values that were not taken yet are taken
   * now, from the mirror or from rows. `copy` copies a value that the mirror keeps.
   */
  async #latest<Value>(
    recent: Recent<Value | undefined>,
    taken: Map<string, Value | undefined>,
    keys: readonly string[],
    read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
    copy: (value: Value) => Value,
  ): Promise<Map<string, Value | undefined>> {
    const { slot } = this.#parts.pin
    const kept = (key: string) => {
      const value = recent.get(key)
      return value === undefined ? undefined : copy(value)
    }
    const wanted = keys.filter(key => !taken.has(key) && !recent.isAfter(key, slot))
    const missing = wanted.filter(key => !recent.has(key))
    for (const key of wanted) if (recent.has(key)) taken.set(key, kept(key))
    if (missing.length > 0) {
      const found = await read(missing)
      for (const key of missing) taken.set(key, found.get(key))
    }
    if (wanted.length > 0) this.#taken.noteTaken()
    return new Map(keys.map(key => [key, recent.isAfter(key, slot) ? kept(key) : taken.get(key)]))
  }

  /** What the log has changed in a bucket, by key. The bucket's own record is left out. */
  #changesOf(bucket: Key): Changes<KeyedValue> {
    const known = this.#objects.get(bucket)
    if (known !== undefined) return known
    const changes = new Map<Key, KeyedValue | undefined>()
    for (const { effects } of this.#parts.pin.recordsSince()) {
      if (!effects.buckets.has(bucket)) continue
      for (const [key, value] of effects.objects) {
        if (bucketOfKey(key) === bucket && idOfKey(key) !== undefined) changes.set(key, value && { key, ...value })
      }
    }
    this.#objects.set(bucket, changes)
    return changes
  }

  #changedEntries(): Changes<Keyed> {
    if (this.#entries !== undefined) return this.#entries
    const changes = new Map<string, Keyed | undefined>()
    for (const { effects } of this.#parts.pin.recordsSince()) {
      for (const [key, isThere] of effects.entries) changes.set(key, isThere ? { key } : undefined)
    }
    this.#entries = changes
    return changes
  }
}

/** The reader owns the bytes. */
function owned<Value extends StoredValue>(value: Value): Value {
  return { ...value, body: Buffer.from(value.body) }
}

export function copyOf(value: StoredValue | undefined): StoredValue | undefined {
  return value && owned(value)
}
