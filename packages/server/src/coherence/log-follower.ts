/**
 * Reads the change log into the sketch and the bucket directory, and removes what changed from the hot objects.
 *
 * Invariant: after `catchUp`, both include every commit that any process had acknowledged before the call. So an answer that is
 * made afterwards is never behind what its reader could know. It is called on every commit that the store notifies of, and
 * again before every answer that depends on it: correctness does not depend on the notifications.
 *
 * The window is computed from the buckets as they are at the sketch's own position. A copy with a long lifetime was read after
 * the commit that allowed it, and a change that outdates the copy comes later still in the log. So a sketch that contains that
 * change knows the lifetime already, and does not forget the change too early.
 */
import { createHash } from 'node:crypto'
import { createSketch, Lifetimes, type Sketch } from '@freshet/core/coherence'
import type { LogEntry, MaybePromise, Store } from '@freshet/core/store'
import { bucketOfKey, FreshetError, idOfKey, type Position } from '@freshet/protocol'
import type { Access } from '../access/access.js'
import { lastRulesChange } from '../access/access-record.js'
import type { BucketDirectory } from '../buckets/bucket-directory.js'
import { isPromise } from '../http/maybe-promise.js'
import { describeError, type Log } from '../monitoring/log.js'
import type { ServerSettings } from '../settings/server-settings.js'
import type { HotObjects } from './hot-objects.js'

const LIFETIMES = 'lifetimes'
const ENTRIES_PER_READ = 1000
/** No client can name this namespace. */
const OWN_NAMESPACE = '_freshet/'

export type ProgressListener = (entries: readonly LogEntry[]) => void

export class LogFollower {
  readonly #store: Store
  readonly #settings: ServerSettings
  readonly #buckets: BucketDirectory
  readonly #hot: HotObjects
  readonly #access: Access | undefined
  readonly #listeners = new Set<ProgressListener>()
  readonly #ownListeners: ProgressListener[] = []
  #lifetimes: Lifetimes
  #sketch: Sketch
  /** Set while the log is read from a store that answers later. Only one read at a time, since order matters. */
  #reading: Promise<void> | undefined
  /** The revision of the bucket directory that the window was last computed from. */
  #revision = 0
  #distrustedMs = Number.NEGATIVE_INFINITY
  /** How far the sketch and the directory have read the log. */
  position: Position = 0
  /**
   * Everything committed before this, by the store's clock, is included. For people and for the ids of operations; otherwise
   * see `askedMs`.
   */
  asOfMs = 0
  /**
   * Everything acknowledged before this, by `performance.now()`, is included. Readers infer from it how fresh an event is. The
   * store's clock does not allow that, since it may stand still and catch up later.
   */
  askedMs = 0
  /** The log that the sketch belongs to. The store may already have switched to another one for another request. */
  log: string

  constructor(store: Store, settings: ServerSettings, buckets: BucketDirectory, hot: HotObjects, access?: Access) {
    this.#store = store
    this.#settings = settings
    this.#buckets = buckets
    this.#hot = hot
    this.#access = access
    this.log = store.log
    this.#lifetimes = this.#createLifetimes(undefined)
    this.#sketch = this.#createSketch(0)
  }

  get sketch(): Sketch {
    return this.#sketch
  }

  /** Must be called before the first answer. When it resolves, the default lifetime is on disk. */
  async start(): Promise<void> {
    const remembered = await this.#store.recall(LIFETIMES)
    this.#lifetimes = this.#createLifetimes(remembered)
    await this.keepPromise()
    await this.#startOver()
    await this.catchUp()
    this.advance()
  }

  /** Follows every commit that the store notifies of. Returns a function that stops following. */
  listen(log: Log): () => void {
    return this.#store.onCommit(async () => {
      try {
        await this.catchUp()
      } catch (error) {
        log.write('error', 'following the log failed', describeError(error))
      }
    })
  }

  /** Remembers the default lifetime, and forgets lifetimes that no copy has now. */
  async keepPromise(): Promise<void> {
    const promised = this.#lifetimes.use(this.#settings.lifetimeMs, this.#store.nowMs())
    if (promised) await this.#store.remember(LIFETIMES, promised)
  }

  /** See the invariant above. Synchronous if the store is. Throws what the store throws. */
  catchUp(): MaybePromise<void> {
    // The times are taken first, so that they never claim to know later commits.
    const askedMs = performance.now()
    const nowMs = this.#store.nowMs()
    const position = this.#store.position()
    const done = isPromise(position) ? position.then(reached => this.catchUpTo(reached)) : this.catchUpTo(position)
    return isPromise(done) ? done.then(() => this.#knowAsOf(nowMs, askedMs)) : this.#knowAsOf(nowMs, askedMs)
  }

  /** Reads the log up to a position that the store has reached. */
  catchUpTo(position: Position): MaybePromise<void> {
    if (this.#reading) return this.#reading.then(() => this.catchUpTo(position))
    while (this.position < position) {
      const before = this.position
      const read = this.#readOnce(position)
      if (isPromise(read)) {
        return this.#alone(read).then(() => {
          this.#checkProgress(before, position)
          return this.catchUpTo(position)
        })
      }
      this.#checkProgress(before, position)
    }
    return undefined
  }

  /** A failed request is better than a process in an endless loop. */
  #checkProgress(before: Position, position: Position): void {
    if (this.position !== before) return
    throw new Error(`The log does not continue from position ${before} to ${position}.`)
  }

  /** Moves the window to the current time. */
  advance(): void {
    const nowMs = this.#store.nowMs()
    this.#revision = this.#buckets.revision
    this.#sketch.advance(nowMs, this.#windowMs(nowMs))
  }

  /**
   * How far the log can be trimmed. For a while after a change of rules, nothing may be trimmed: copies from before the change
   * may still live, the new sketch does not cover them, and purging caches needs the log of that time.
   */
  get trimmableTo(): Position {
    const nowMs = this.#store.nowMs()
    return nowMs - this.#distrustedMs <= this.#windowMs(nowMs) ? 0 : this.#sketch.from
  }

  /** Calls the listener with the new commits whenever the sketch has grown. */
  onProgress(listener: ProgressListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Calls the listener with commits that change more than objects: buckets, rules, tasks and whatever else the server keeps in
   * the store.
   */
  onOwnChange(listener: ProgressListener): void {
    this.#ownListeners.push(listener)
  }

  #knowAsOf(nowMs: number, askedMs: number): void {
    this.asOfMs = Math.max(this.asOfMs, Math.floor(nowMs))
    this.askedMs = Math.max(this.askedMs, askedMs)
  }

  #readOnce(position: Position): MaybePromise<void> {
    try {
      const entries = this.#store.changes(this.position, ENTRIES_PER_READ)
      if (!isPromise(entries)) return this.#take(entries, position)
      return entries.then(
        read => this.#take(read, position),
        error => this.#recover(error),
      )
    } catch (error) {
      return this.#recover(error)
    }
  }

  #take(entries: readonly LogEntry[], position: Position): MaybePromise<void> {
    const reloading = entries.some(isOwn) ? this.#access?.follow(entries) : undefined
    if (reloading) return reloading.then(() => this.#follow(entries, position))
    return this.#follow(entries, position)
  }

  #follow(entries: readonly LogEntry[], position: Position): MaybePromise<void> {
    const following = this.#buckets.follow(entries)
    if (isPromise(following)) return following.then(() => this.#append(entries, position))
    this.#append(entries, position)
    return undefined
  }

  #append(entries: readonly LogEntry[], position: Position): void {
    // Positions may have gaps; one without a commit must still be reached.
    const known = entries.length > 0 ? entries : [{ position, timeMs: this.#store.nowMs(), keys: [], tags: [] }]
    const hasOwn = entries.some(isOwn)
    const change = hasOwn ? lastRulesChange(known) : -1
    if (change !== -1) this.#distrust(known[change]!)
    this.#sketch.append(this.#shown(known.slice(change + 1)))
    this.#hot.follow(entries)
    this.position = this.#sketch.position
    if (this.#buckets.revision !== this.#revision) this.advance()
    for (const listener of this.#listeners) listener(entries)
    if (hasOwn) for (const listener of this.#ownListeners) listener(entries)
  }

  /**
   * The rules have changed, and copies from before may be closed to their readers now. So the sketch starts here: a session
   * does not trust copies that are older than the start of the sketch (`core/coherence/session.ts`).
   */
  #distrust({ position, timeMs }: LogEntry): void {
    this.#sketch = this.#createSketch(position)
    this.#distrustedMs = timeMs
  }

  /**
   * Readers need not know about changes of what no cache may keep. Results of queries are kept only if everybody sees every
   * object; otherwise, tags would reveal the fields of hidden objects.
   */
  #shown(entries: readonly LogEntry[]): readonly LogEntry[] {
    const access = this.#access
    if (access === undefined || !access.isOn) return entries
    return entries.map(entry => ({
      ...entry,
      keys: entry.keys.filter(key => access.mayBeCached(bucketOfKey(key))),
      tags: entry.tags.filter(tag => access.mayListsBeCached(tag.slice(0, tag.indexOf('?')))),
    }))
  }

  /** A follower that has fallen behind the trimmed log starts over, which is safe: what was trimmed is older than the window. */
  #recover(error: unknown): Promise<void> {
    if (error instanceof FreshetError && error.code === 'LOG_TRIMMED') return this.#startOver()
    throw error
  }

  async #startOver(): Promise<void> {
    const from = await this.#store.trimmedTo()
    const { log } = this.#store
    await this.#access?.load()
    await this.#buckets.load()
    this.log = log
    this.#sketch = this.#createSketch(from)
    this.#hot.clear()
    this.position = from
  }

  async #alone(reading: Promise<void>): Promise<void> {
    // Also after a failure, since the next caller must be able to try.
    this.#reading = reading.then(
      () => this.#done(),
      () => this.#done(),
    )
    await reading
  }

  #done(): void {
    this.#reading = undefined
  }

  #windowMs(nowMs: number): number {
    const { responseMsMax, slackMs } = this.#settings
    return Math.max(this.#lifetimes.windowMs(nowMs), this.#buckets.longestLifetimeMs(nowMs) + responseMsMax + slackMs)
  }

  #createLifetimes(remembered: Uint8Array | undefined): Lifetimes {
    const { responseMsMax, slackMs } = this.#settings
    return new Lifetimes({ ...(remembered && { remembered }), nowMs: this.#store.nowMs(), responseMsMax, slackMs })
  }

  #createSketch(from: Position): Sketch {
    const { falsePositiveRateMax, slotMs } = this.#settings
    const windowMs = this.#windowMs(this.#store.nowMs())
    return createSketch({ seed: seedOf(this.log), from, windowMs, falsePositiveRateMax, slotMs })
  }
}

/** Whether the commit changes anything other than clients' objects. */
function isOwn({ keys }: LogEntry): boolean {
  return keys.some(key => key.startsWith(OWN_NAMESPACE) || idOfKey(key) === undefined)
}

/** The same for every server over the same log, so that each may read the other's segments. */
function seedOf(log: string): bigint {
  return createHash('sha256').update(`freshet sketch ${log}`).digest().readBigUInt64BE()
}
