/**
 * The last step of every write: PUTs, transactions and additions all become commits. The versions of the buckets' records are
 * among the conditions of each commit, so their settings apply at the commit, and two first writes cannot create one bucket in
 * two ways.
 */
import type { Addition, Commit, CommitResult, MaybePromise, ReadVersion, Store, Write } from '@freshet/core/store'
import {
  type BucketSettings,
  bucketOfKey,
  type FreshetError,
  type Key,
  type OperationId,
  pathOfKey,
} from '@freshet/protocol'
import type { Access } from '../access/access.js'
import type { Caller } from '../access/caller.js'
import type { Charge } from '../access/quotas/quotas.js'
import { namespaceOf } from '../access/quotas/usage-record.js'
import type { Right } from '../access/rules/rights.js'
import type { Bucket, BucketDirectory } from '../buckets/bucket-directory.js'
import { encodeRecord } from '../buckets/bucket-record.js'
import { bucketDeleting } from '../buckets/refusals.js'
import type { SchemaGuard } from '../buckets/schema-guard.js'
import { JSON_TYPE } from '../http/answer.js'
import { type Idempotency, keyRequired, operationRefused } from '../idempotency/idempotency.js'
import type { Metrics } from '../monitoring/metrics.js'
import type { ServerRecorder } from '../recording/server-recorder.js'
import { overLimit } from '../settings/limits.js'
import type { ServerSettings } from '../settings/server-settings.js'
import { counterRefused } from './counter-values.js'

export interface CommitterOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly buckets: BucketDirectory
  readonly metrics: Metrics
  readonly recorder: ServerRecorder | undefined
  readonly guard: SchemaGuard
  readonly idempotency: Idempotency
  readonly access: Access
}

export interface Changes {
  readonly writes: readonly Write[]
  readonly adds?: readonly Addition[]
}

export type CommitConditions = Pick<Commit, 'reads' | 'lists' | 'lease' | 'operation'>

/** Of several writers of one key, the first one wins. This many others may come first before a writer gives up. */
export const ATTEMPTS_MAX = 100
export const SETTINGS_BY_DEFAULT: BucketSettings = { kind: 'object' }

export class Committer {
  readonly #options: CommitterOptions

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  /**
   * Commits changes to these buckets, creating those that do not exist. Returns the result if something has changed. Throws if
   * the commit is refused for another reason: a bound of a counter, or an operation that must not be done.
   */
  async commit(
    { writes, adds = [] }: Changes,
    { reads = [], lists = [], lease, operation }: CommitConditions,
    buckets: ReadonlyMap<Key, Bucket | undefined>,
    caller?: Caller,
  ): ReturnType<Store['commit']> {
    const { store, recorder } = this.#options
    checkNotDeleting(buckets.values())
    if (operation === undefined) checkKeyless(adds, writes, buckets)
    const created = [...buckets].filter(([, bucket]) => bucket === undefined).map(([key]) => createBucket(key))
    this.#checkRoom(created.length)
    const referenced = await this.#options.guard.check(writes, reads, buckets, caller)
    const bucketReads = [...buckets].map(([key, bucket]) => ({ key, version: bucket?.version ?? 0 }))
    const known = [...reads, ...referenced, ...bucketReads, ...rulesReadOf(caller)]
    const charge = await this.#charge({ writes, adds }, known, caller)
    if (charge !== undefined && charge.conflicts.length > 0) return { committed: false, conflicts: charge.conflicts }
    // The ids of our clients do not count.
    const isCounted = operation?.id.kind === 'foreign'
    const noted = isCounted ? await this.#keyAdds([...writes, ...adds], operation.id) : NONE
    const allAdds = [...adds, ...(charge?.adds ?? NONE), ...noted]
    const result = await (recorder ?? store).commit({
      reads: charge === undefined ? known : [...known, ...charge.reads],
      ...(lists.length === 0 ? {} : { lists }),
      writes: [...writes, ...created, ...(charge?.writes ?? NONE)],
      ...(allAdds.length === 0 ? {} : { adds: allAdds }),
      ...(operation === undefined ? {} : { operation }),
      ...(lease === undefined ? {} : { lease }),
    })
    const settingsOf = (key: Key) => buckets.get(bucketOfKey(key))?.settings ?? SETTINGS_BY_DEFAULT
    this.#note(result, writes.length + adds.length > 0, settingsOf, allAdds)
    return result
  }

  /** The additions that count the operation's key among the remembered ones. */
  #keyAdds(changes: readonly { readonly key: Key }[], id: OperationId): MaybePromise<readonly Addition[]> {
    return this.#options.idempotency.keys.additionsFor(
      id,
      changes.map(({ key }) => namespaceOf(key)),
    )
  }

  /** The additions and reads that count the changes towards a quota. */
  #charge(
    { writes, adds = NONE }: Changes,
    reads: readonly ReadVersion[],
    caller: Caller | undefined,
  ): Promise<Charge> | undefined {
    const { access, buckets } = this.#options
    return (
      caller &&
      access.quotas.charge(caller.rules, {
        ...{ writes, adds, reads, isLimited: true },
        kindOf: bucket => (buckets.get(bucket)?.settings ?? SETTINGS_BY_DEFAULT).kind,
        hasBuckets: namespace => buckets.keys().some(key => namespaceOf(key) === namespace),
      })
    )
  }

  /** Counts the result. Throws if the commit was refused for another reason than that something has changed. */
  #note(
    result: CommitResult,
    hasChanges: boolean,
    settingsOf: (key: Key) => BucketSettings,
    adds: readonly Addition[],
  ): void {
    const { store, metrics, access, idempotency } = this.#options
    if (result.committed) {
      if (hasChanges && result.replayed === undefined) metrics.commits.value++
      return
    }
    const { refusedOperation, refusedAdds = [] } = result
    if (refusedOperation !== undefined) throw operationRefused(refusedOperation, store.supports.retentionMs)
    for (const refused of refusedAdds) {
      throw (
        access.quotas.refusalOf(refused, adds) ??
        idempotency.keys.refusalOf(refused) ??
        counterRefused(refused, settingsOf(refused.key))
      )
    }
    metrics.conflicts.value++
    if (result.lease !== undefined) metrics.leases.value++
  }

  #checkRoom(more: number): void {
    const { buckets, settings } = this.#options
    if (more === 0 || buckets.size + more <= settings.bucketsMax) return
    throw tooManyBuckets(settings.bucketsMax)
  }
}

/** The right that a write requires, depending on whether it replaces an object. */
export function rightTo(write: { readonly delete?: true } | object, isReplaced: boolean): Right {
  if ('delete' in write) return 'delete'
  return isReplaced ? 'update' : 'create'
}

export function tooManyBuckets(bucketsMax: number): FreshetError {
  return overLimit({
    code: 'LIMIT_EXCEEDED',
    limit: 'bucketsMax',
    what: `There are already ${bucketsMax} buckets, the most that this server keeps.`,
    instead: 'Use an existing one, delete one',
    details: { bucketsMax },
  })
}

/** Writes depend on the version of their bucket's record, so none is committed after the deletion has started. */
export function checkNotDeleting(buckets: Iterable<Bucket | undefined>): void {
  for (const bucket of buckets) {
    const task = bucket?.record.deletion
    if (task !== undefined) throw bucketDeleting(bucket!.key, task)
  }
}

function checkKeyless(
  adds: readonly Addition[],
  writes: readonly Write[],
  buckets: ReadonlyMap<Key, Bucket | undefined>,
): void {
  if (![...buckets.values()].some(bucket => bucket?.settings.requireIdempotencyKey)) return
  for (const { key } of [...writes, ...adds]) {
    if (buckets.get(bucketOfKey(key))?.settings.requireIdempotencyKey) throw keyRequired(pathOfKey(key))
  }
}

function rulesReadOf(caller: Caller | undefined): readonly ReadVersion[] {
  return caller === undefined ? NONE : [caller.rulesRead]
}

const NONE: readonly never[] = []

function createBucket(key: Key): Write {
  return { key, contentType: JSON_TYPE, body: encodeRecord(SETTINGS_BY_DEFAULT) }
}
