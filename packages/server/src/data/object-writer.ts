/**
 * Writes of one object: decide from what is there, commit on the condition that it still is, and decide again if it is
 * not. The bucket's own version is among the conditions of every write, so what its settings say holds at the commit,
 * and two first writes cannot create one bucket in two ways.
 */
import type { Commit, Store, StoredValue, Write } from '@freshet/core/store'
import { type BucketSettings, FreshetError, type Key, type Position } from '@freshet/protocol'
import type { LogFollower } from '../coherence/log-follower.js'
import { JSON_TYPE } from '../http/answer.js'
import { type Conditions, holds, isConditional } from '../http/conditions.js'
import type { Metrics } from '../operations/metrics.js'
import type { ServerRecorder } from '../recording/server-recorder.js'
import type { SchemaGuard } from '../schemas/schema-guard.js'
import type { ServerSettings } from '../settings.js'
import type { Bucket, BucketDirectory } from './bucket-directory.js'
import { encodeRecord } from './bucket-record.js'
import { matchRequired, tooMuchContention, versionConflict } from './refusals.js'

export interface WriterOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly metrics: Metrics
  readonly recorder: ServerRecorder | undefined
  readonly guard: SchemaGuard
}

export interface Intent {
  readonly bucket: Key
  readonly key: Key
  readonly conditions: Conditions
  /** Whether what is written depends on what is there; then nobody may come between. */
  readonly dependsOnCurrent: boolean
  /** Called again after each conflict. Throws a refusal. Without a `bucket`: this write would create it. */
  decide(settings: BucketSettings, current: StoredValue | undefined, bucket: Bucket | undefined): Write
}

export type CommitConditions = Pick<Commit, 'reads' | 'lists' | 'lease'>

export interface Outcome {
  readonly position: Position
  /** As seen a moment before the commit. */
  readonly existed: boolean
}

/** Contention on one key is resolved by whoever comes first; so many others may come first. */
export const ATTEMPTS_MAX = 100
export const SETTINGS_BY_DEFAULT: BucketSettings = { kind: 'object' }

export class ObjectWriter {
  readonly #options: WriterOptions

  constructor(options: WriterOptions) {
    this.#options = options
  }

  async write(intent: Intent): Promise<Outcome> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const outcome = await this.#attempt(intent)
      if (outcome) return outcome
    }
    throw tooMuchContention()
  }

  async #attempt({
    bucket: bucketKey,
    key,
    conditions,
    dependsOnCurrent,
    decide,
  }: Intent): Promise<Outcome | undefined> {
    const { store, follower, buckets } = this.#options
    await follower.catchUp()
    const bucket = buckets.get(bucketKey)
    const current = await store.get(key)
    const version = current?.version ?? 0
    if (bucket?.settings.requireMatch && !isConditional(conditions)) throw matchRequired(key)
    if (!holds(conditions, version)) throw versionConflict(key, version)
    const write = decide(bucket?.settings ?? SETTINGS_BY_DEFAULT, current, bucket)
    const isBound = dependsOnCurrent || isConditional(conditions)
    const position = await this.commit(
      [write],
      isBound ? { reads: [{ key, version }] } : {},
      new Map([[bucketKey, bucket]]),
    )
    return position === undefined ? undefined : { position, existed: current !== undefined }
  }

  /** Commits writes to these buckets, creating those that are not there; undefined if a read does not hold any more. */
  async commit(
    writes: readonly Write[],
    conditions: CommitConditions,
    buckets: ReadonlyMap<Key, Bucket | undefined>,
  ): Promise<Position | undefined> {
    const result = await this.tryCommit(writes, conditions, buckets)
    return result.committed ? result.position : undefined
  }

  async tryCommit(
    writes: readonly Write[],
    { reads = [], lists = [], lease }: CommitConditions,
    buckets: ReadonlyMap<Key, Bucket | undefined>,
  ): ReturnType<Store['commit']> {
    const { store, metrics, recorder } = this.#options
    const created = [...buckets].filter(([, bucket]) => bucket === undefined).map(([key]) => createBucket(key))
    this.#checkRoom(created.length)
    const referenced = await this.#options.guard.check(writes, reads, buckets)
    const bucketReads = [...buckets].map(([key, bucket]) => ({ key, version: bucket?.version ?? 0 }))
    const result = await (recorder ?? store).commit({
      reads: [...reads, ...referenced, ...bucketReads],
      ...(lists.length === 0 ? {} : { lists }),
      writes: [...writes, ...created],
      ...(lease === undefined ? {} : { lease }),
    })
    if (result.committed) metrics.commits.value += writes.length === 0 ? 0 : 1
    else metrics.conflicts.value++
    if (!result.committed && result.lease !== undefined) metrics.leases.value++
    return result
  }

  #checkRoom(more: number): void {
    const { buckets, settings } = this.#options
    if (more === 0 || buckets.size + more <= settings.bucketsMax) return
    throw tooManyBuckets(settings.bucketsMax)
  }
}

export function tooManyBuckets(bucketsMax: number): FreshetError {
  return new FreshetError(
    'LIMIT_EXCEEDED',
    `There are ${bucketsMax} buckets already, as many as this server allows (bucketsMax). Use an existing one.`,
    { details: { bucketsMax } },
  )
}

function createBucket(key: Key): Write {
  return { key, contentType: JSON_TYPE, body: encodeRecord(SETTINGS_BY_DEFAULT) }
}
