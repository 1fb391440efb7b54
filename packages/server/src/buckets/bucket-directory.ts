/**
 * All buckets, in memory, as of a position: loaded at the start, and kept up by the log follower. So a read finds its
 * lifetime without asking the store, and is never behind another server's change of it. Where a bucket learns lifetimes,
 * what is learnt of its keys is kept here too.
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
  /** The header of everything read from it; where lifetimes are learnt, of the longest-lived. */
  readonly cacheControl: string
}

/** What is remembered of buckets that were deleted: how long copies of what was in them may live. */
export interface DeletedBuckets {
  readonly version: Version
  readonly record: BucketRecord
}

/** Namespaces begin with a letter or a digit, so this is not a namespace. Written with every deletion. */
export const DELETED_BUCKETS: Key = '_freshet/lifetimes/deleted'

/** What is about to be answered: an object, or a list under the key of its bucket. */
export interface Asked {
  readonly key: Key
  /** Undefined where there is none; then nothing can be learnt. */
  readonly version: Version | undefined
  /** Whether under `?at=`. */
  readonly isAt: boolean
}

export class BucketDirectory {
  readonly #store: Store
  readonly #settings: ServerSettings
  readonly #buckets = new Map<Key, Bucket>()
  readonly #learnt = new LearntLifetimes({ seed: randomBytes(8).readBigUInt64BE() })
  /** How many buckets learn; where none does, only the time is taken from the log. */
  #learning = 0
  /** For what was put into the store by other means than this server. */
  readonly #cacheControlByDefault: string
  #deleted: DeletedBuckets | undefined
  /** Grows whenever a bucket has changed. */
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

  /** Also over what was known: the store may have been emptied since, or put back from an older copy. */
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
    // What the log does not have any more is older than a window.
    const nowMs = this.#store.nowMs()
    this.#learnt.begin(await this.#store.trimmedTo(), nowMs - this.longestLifetimeMs(nowMs))
  }

  /** Reads again what these commits changed of buckets themselves, and learns from what they changed in them. */
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

  /** The header of an answer. */
  cacheControl(asked: Asked): string {
    const bucket = this.#buckets.get(bucketOfKey(asked.key))
    if (bucket === undefined) return this.#cacheControlByDefault
    const { learn } = bucket.settings
    if (learn === undefined || asked.isAt) return bucket.cacheControl
    if (asked.version === undefined) return cacheControl(learn.minMs)
    return cacheControl(this.#learnt.lifetimeMs(asked.key, asked.version, this.#store.nowMs(), learn))
  }

  /** Whether the header of an answer depends on when it is made. */
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
    // Copies outlive the bucket. How long is read after it was seen to be gone, and known before it is: the window never gets too short.
    const deleted = this.#store.get(DELETED_BUCKETS)
    const forget = (found: StoredValue | undefined) => {
      this.#takeDeleted(found)
      this.#set(key, undefined)
      this.revision++
    }
    return isPromise(deleted) ? deleted.then(forget) : forget(deleted)
  }

  /** Of a record, by the store's clock. Not asked of the log where nothing depends on it; where the log has lost it, it is now. */
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

  /** `committedMs`: or later. */
  #take(key: Key, value: StoredValue, committedMs = this.#store.nowMs(), isAnew = false): void {
    const known = this.#buckets.get(key)
    this.revision++
    if (known && known.version >= value.version && !isAnew) return
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

/** A change of an object is one of its bucket's lists, too. */
function withBuckets(entry: LogEntry): LogEntry {
  return { ...entry, keys: [...entry.keys, ...new Set(entry.keys.map(bucketOfKey))] }
}

/** `stale-while-revalidate=0` because Varnish adds a grace of its own unless told; see the caches' tests. */
function cacheControl(lifetimeMs: number): string {
  return `public, max-age=${Math.floor(lifetimeMs / 1000)}, must-revalidate, stale-while-revalidate=0`
}
