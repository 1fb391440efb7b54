/**
 * All buckets, in memory, as of a position: loaded at the start, and kept up by the log follower. So a read finds its
 * lifetime without asking the store, and is never behind another server's change of it.
 */

import type { LogEntry, MaybePromise, Store, StoredValue } from '@freshet/core/store'
import type { BucketSettings, Key, Version } from '@freshet/protocol'
import { idOfKey } from '@freshet/protocol'
import { isPromise } from '../http/maybe-promise.js'
import type { ServerSettings } from '../settings.js'
import { type BucketRecord, decodeRecord, longestLifetimeMs } from './bucket-record.js'

export interface Bucket {
  readonly key: Key
  readonly version: Version
  readonly record: BucketRecord
  readonly settings: BucketSettings
  /** The header of everything read from it. */
  readonly cacheControl: string
}

export class BucketDirectory {
  readonly #store: Store
  readonly #settings: ServerSettings
  readonly #buckets = new Map<Key, Bucket>()
  /** For what was put into the store by other means than this server. */
  readonly cacheControlByDefault: string
  /** Grows whenever a bucket has changed. */
  revision = 0

  constructor(store: Store, settings: ServerSettings) {
    this.#store = store
    this.#settings = settings
    this.cacheControlByDefault = cacheControl(settings.lifetimeMs)
  }

  get size(): number {
    return this.#buckets.size
  }

  get(key: Key): Bucket | undefined {
    return this.#buckets.get(key)
  }

  keys(): readonly Key[] {
    return [...this.#buckets.keys()].sort()
  }

  async load(): Promise<void> {
    for (const { bucket } of await this.#store.buckets()) await this.refresh(bucket)
  }

  /** Reads again what these commits changed of buckets themselves. */
  follow(entries: readonly LogEntry[]): MaybePromise<void> {
    const changed = new Set<Key>()
    for (const { keys } of entries) for (const key of keys) if (idOfKey(key) === undefined) changed.add(key)
    if (changed.size === 0) return undefined
    const pending = [...changed].map(key => this.refresh(key)).filter(isPromise)
    return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined)
  }

  refresh(key: Key): MaybePromise<void> {
    const value = this.#store.get(key)
    return isPromise(value) ? value.then(found => this.#take(key, found)) : this.#take(key, value)
  }

  longestLifetimeMs(nowMs: number): number {
    let longest = this.#settings.lifetimeMs
    for (const { record } of this.#buckets.values()) {
      longest = Math.max(longest, longestLifetimeMs(record, nowMs, this.#settings))
    }
    return longest
  }

  #take(key: Key, value: StoredValue | undefined): void {
    if (value === undefined) {
      this.#buckets.delete(key)
      return
    }
    const known = this.#buckets.get(key)
    this.revision++
    if (known && known.version >= value.version) return
    const record = decodeRecord(value.body)
    const { past: _, ...settings } = record
    const lifetimeMs = settings.lifetimeMs ?? this.#settings.lifetimeMs
    this.#buckets.set(key, { key, version: value.version, record, settings, cacheControl: cacheControl(lifetimeMs) })
  }
}

/** `stale-while-revalidate=0` because Varnish adds a grace of its own unless told; see the caches' tests. */
function cacheControl(lifetimeMs: number): string {
  return `public, max-age=${Math.floor(lifetimeMs / 1000)}, must-revalidate, stale-while-revalidate=0`
}
