/**
 * All buckets, in memory, as of a position: loaded at the start, and kept up to date by the log follower. So a read finds its
 * lifetime without asking the store, and never uses a lifetime that another server has already changed. For buckets that learn
 * lifetimes, what is learnt about their keys is kept here too.
 */
import { randomBytes } from 'node:crypto'
import { LearntLifetimes } from '@freshet/core/coherence'
import type { LogEntry, MaybePromise, Store, StoredValue } from '@freshet/core/store'
import type { BucketSettings, Key, Version } from '@freshet/protocol'
import { bucketOfKey, FreshetError, idOfKey } from '@freshet/protocol'
import { isPromise } from '../http/maybe-promise.js'
import type { ServerSettings } from '../settings/server-settings.js'
import {
  type BucketRecord,
  decodeRecord,
  isUnstamped,
  longestLifetimeMs,
  settingsOf,
  stampPast,
} from './bucket-record.js'

export interface Bucket {
  readonly key: Key
  readonly version: Version
  readonly record: BucketRecord
  readonly settings: BucketSettings
  /** The Cache-Control header of everything read from the bucket; for learnt lifetimes, that of the longest. */
  readonly cacheControl: string
}

/** What is remembered of deleted buckets: how long copies of their contents may live. */
export interface DeletedBuckets {
  readonly version: Version
  readonly record: BucketRecord
}

/** Namespaces begin with a letter or a digit, so this is not a namespace. Written with every deletion. */
export const DELETED_BUCKETS: Key = '_freshet/lifetimes/deleted'

/** What the answer is about: an object, or a list under the key of its bucket. */
export interface Asked {
  readonly key: Key
  /** Undefined if the object is absent; then its lifetime cannot be learnt. */
  readonly version: Version | undefined
  /** Whether the request has `?at=`. */
  readonly isAt: boolean
}

export class BucketDirectory {
  readonly #store: Store
  readonly #settings: ServerSettings
  readonly #buckets = new Map<Key, Bucket>()
  readonly #learnt = new LearntLifetimes({ seed: randomBytes(8).readBigUInt64BE() })
  /** How many buckets learn. If none does, only the times are taken from the log. */
  #learning = 0
  /** For objects that were put into the store by other means than a server. */
  readonly #cacheControlByDefault: string
  #deleted: DeletedBuckets | undefined
  /** Grows whenever a bucket changes. */
  revision = 0

  constructor(store: Store, settings: ServerSettings) {
    this.#store = store
    this.#settings = settings
    this.#cacheControlByDefault = cacheControl(settings.lifetimeMs)
  }

  get size(): number {
    return this.#buckets.size
  }

  get(key: Key): Bucket | undefined {
    return this.#buckets.get(key)
  }

  get deleted(): DeletedBuckets | undefined {
    return this.#deleted
  }

  keys(): readonly Key[] {
    return [...this.#buckets.keys()].sort()
  }

  /** Also replaces what was known, since the store may have been emptied, or restored from an older copy. */
  async load(): Promise<void> {
    const listed = new Set((await this.#store.buckets()).map(({ bucket }) => bucket))
    const gone: Key[] = []
    for (const key of [...listed, ...this.keys()]) {
      const value = await this.#store.get(key)
      if (value === undefined) gone.push(key)
      else this.#take(key, value, await this.#committedMs(value), true)
    }
    const deleted = await this.#store.get(DELETED_BUCKETS)
    this.#takeDeleted(deleted, deleted && (await this.#committedMs(deleted)))
    for (const key of gone) this.#set(key, undefined)
    // What the log no longer has is older than a window.
    const nowMs = this.#store.nowMs()
    this.#learnt.begin(await this.#store.trimmedTo(), nowMs - this.longestLifetimeMs(nowMs))
  }

  /** Reads the buckets' records that these commits changed, and learns from the changes of their objects. */
  follow(entries: readonly LogEntry[]): MaybePromise<void> {
    this.#learn(entries)
    const changed = new Set<Key>()
    for (const { keys } of entries) for (const key of keys) if (idOfKey(key) === undefined) changed.add(key)
    if (changed.size === 0) return undefined
    const pending = [...changed].map(key => this.refresh(key)).filter(isPromise)
    return pending.length === 0 ? undefined : Promise.all(pending).then(() => undefined)
  }

  refresh(key: Key): MaybePromise<void> {
    const value = this.#store.get(key)
    return isPromise(value) ? value.then(found => this.#takeLatest(key, found)) : this.#takeLatest(key, value)
  }

  /** The Cache-Control header of an answer. */
  cacheControl(asked: Asked): string {
    const bucket = this.#buckets.get(bucketOfKey(asked.key))
    if (bucket === undefined) return this.#cacheControlByDefault
    const { learn } = bucket.settings
    if (learn === undefined || asked.isAt) return bucket.cacheControl
    if (asked.version === undefined) return cacheControl(learn.minMs)
    return cacheControl(this.#learnt.lifetimeMs(asked.key, asked.version, this.#store.nowMs(), learn))
  }

  /** Whether the header of an answer depends on the time at which it is made. */
  isLearning(key: Key): boolean {
    return this.#learning > 0 && this.#buckets.get(bucketOfKey(key))?.settings.learn !== undefined
  }

  longestLifetimeMs(nowMs: number): number {
    let longest = this.#settings.lifetimeMs
    const deleted = this.#deleted === undefined ? [] : [this.#deleted]
    for (const { record } of [...this.#buckets.values(), ...deleted]) {
      longest = Math.max(longest, longestLifetimeMs(record, nowMs, this.#settings))
    }
    return longest
  }

  #learn(entries: readonly LogEntry[]): void {
    const learns = (key: Key) => this.isLearning(key)
    for (const entry of entries) this.#learnt.follow(this.#learning > 0 ? withBuckets(entry) : entry, learns)
  }

  #takeLatest(key: Key, value: StoredValue | undefined): MaybePromise<void> {
    if (value !== undefined) return this.#take(key, value)
    // Copies outlive the bucket. Their lifetimes are read after the bucket was found to be absent, and are known before it is
    // removed here, so the window never gets too short.
    const deleted = this.#store.get(DELETED_BUCKETS)
    const forget = (found: StoredValue | undefined) => {
      this.#takeDeleted(found)
      this.#set(key, undefined)
      this.revision++
    }
    return isPromise(deleted) ? deleted.then(forget) : forget(deleted)
  }

  /**
   * When a record was committed, by the store's clock. Read from the log only if something depends on it. If the log no longer
   * has it: now.
   */
  async #committedMs({ version, body }: StoredValue): Promise<number> {
    const nowMs = this.#store.nowMs()
    if (!isUnstamped(decodeRecord(body))) return nowMs
    try {
      const [entry] = await this.#store.changes(version - 1, 1)
      return entry?.position === version ? entry.timeMs : nowMs
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'LOG_TRIMMED') return nowMs
      throw error
    }
  }

  #takeDeleted(value: StoredValue | undefined, committedMs = this.#store.nowMs()): void {
    if (value !== undefined && value.version === this.#deleted?.version) return
    this.#deleted = value && { version: value.version, record: stampPast(decodeRecord(value.body), committedMs) }
  }

  /** `committedMs`: an upper bound. */
  #take(key: Key, value: StoredValue, committedMs = this.#store.nowMs(), isReload = false): void {
    const known = this.#buckets.get(key)
    this.revision++
    if (known && known.version >= value.version && !isReload) return
    const record = stampPast(decodeRecord(value.body), committedMs)
    const settings = settingsOf(record)
    const lifetimeMs = settings.learn?.maxMs ?? settings.lifetimeMs ?? this.#settings.lifetimeMs
    this.#set(key, { key, version: value.version, record, settings, cacheControl: cacheControl(lifetimeMs) })
  }

  #set(key: Key, bucket: Bucket | undefined): void {
    if (this.#buckets.get(key)?.settings.learn) this.#learning--
    if (bucket === undefined) this.#buckets.delete(key)
    else this.#buckets.set(key, bucket)
    if (bucket?.settings.learn) this.#learning++
  }
}

/** A change of an object is a change of its bucket's lists, too. */
function withBuckets(entry: LogEntry): LogEntry {
  return { ...entry, keys: [...entry.keys, ...new Set(entry.keys.map(bucketOfKey))] }
}

/** `stale-while-revalidate=0` because Varnish otherwise adds its own grace period; see the caches' tests. */
function cacheControl(lifetimeMs: number): string {
  return `public, max-age=${Math.floor(lifetimeMs / 1000)}, must-revalidate, stale-while-revalidate=0`
}
