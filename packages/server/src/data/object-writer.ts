/**
 * Writes of one object: decide from what is there, commit on the condition that it still is, and decide again if it is
 * not. The bucket's own version is among the conditions of every write, so what its settings say holds at the commit,
 * and two first writes cannot create one bucket in two ways.
 */
import type {
  Addition,
  Commit,
  CommitResult,
  MaybePromise,
  Operation,
  ReadVersion,
  Store,
  StoredValue,
  Write,
} from '@freshet/core/store'
import {
  type BucketSettings,
  bucketOfKey,
  FreshetError,
  type Key,
  type Position,
  pathOfKey,
  type Version,
} from '@freshet/protocol'
import type { Access } from '../access/access.js'
import type { Caller } from '../access/caller.js'
import type { Charge } from '../access/quotas/quotas.js'
import { namespaceOf } from '../access/quotas/usage-record.js'
import type { Right } from '../access/rules/rights.js'
import type { LogFollower } from '../coherence/log-follower.js'
import type { RecentConflicts } from '../console/recent-conflicts.js'
import { counterRefused } from '../counters/counter-values.js'
import { JSON_TYPE } from '../http/answer.js'
import { type Conditions, holds, isConditional } from '../http/conditions.js'
import { isPromise } from '../http/maybe-promise.js'
import {
  type Claimant,
  type Idempotency,
  keyRequired,
  operationRefused,
  type Replayed,
  UnallowedRefusal,
} from '../idempotency/idempotency.js'
import type { AskedOperation } from '../idempotency/read-operation.js'
import type { Metrics } from '../operations/metrics.js'
import type { ServerRecorder } from '../recording/server-recorder.js'
import type { SchemaGuard } from '../schemas/schema-guard.js'
import type { ServerSettings } from '../settings.js'
import type { Bucket, BucketDirectory } from './bucket-directory.js'
import { encodeRecord } from './bucket-record.js'
import { bucketDeleting, matchRequired, tooMuchContention, versionConflict } from './refusals.js'

export interface WriterOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly metrics: Metrics
  readonly recorder: ServerRecorder | undefined
  readonly guard: SchemaGuard
  readonly idempotency: Idempotency
  readonly access: Access
  readonly conflicts: RecentConflicts
}

export interface Intent {
  readonly bucket: Key
  readonly key: Key
  readonly conditions: Conditions
  /** Whether what is written depends on what is there; then nobody may come between. */
  readonly dependsOnCurrent: boolean
  /** Called again after each conflict. Throws a refusal. Without a `bucket`: this write would create it. */
  decide(settings: BucketSettings, current: StoredValue | undefined, bucket: Bucket | undefined): Write
  /** One of which it takes, depending on what is there. */
  readonly rights: readonly Right[]
  /** Whether its refusals depend on what is there, and so tell of it. */
  readonly isTelling?: boolean
  /** Undefined where everybody may do everything. */
  readonly caller?: Caller | undefined
  readonly operation?: AskedOperation | undefined
  /** What the answer will be made of, should it be given again. */
  note?(existed: boolean): string
}

/** Of the bucket that an addition is in. */
export interface AddIntent {
  readonly bucket: Key
  readonly key: Key
  /** Called again if the bucket has changed. Throws a refusal. */
  decide(settings: BucketSettings): Addition
  readonly operation: AskedOperation | undefined
  readonly caller: Caller | undefined
}

export interface Changes {
  readonly writes: readonly Write[]
  readonly adds?: readonly Addition[]
}

export type CommitConditions = Pick<Commit, 'reads' | 'lists' | 'lease' | 'operation'>

export interface Outcome {
  readonly position: Position
  /** As seen a moment before the commit. */
  readonly existed: boolean
  /** What the counter has reached. */
  readonly units?: number | undefined
  /** It was done before, and this was noted then. */
  readonly note?: string | undefined
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
    const claimant = claimantOf(intent.caller, intent.key, intent.rights)
    return this.#options.idempotency.once(
      { operation: intent.operation, claimant },
      () => this.#write(intent),
      replayedOutcome,
    )
  }

  /** Adds to a counter. Its note, should it be given again, is how many decimals it has. */
  add(intent: AddIntent): Promise<Outcome> {
    const { operation, caller, key } = intent
    const claimant = claimantOf(caller, key, ADDING)
    return this.#options.idempotency.once({ operation, claimant }, () => this.#add(intent), replayedOutcome)
  }

  /** Nothing has to be read for it: the commit adds to what it finds. */
  async #add({ bucket: bucketKey, key, decide, operation, caller }: AddIntent): Promise<Outcome> {
    const { store, recorder, follower, buckets } = this.#options
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const caughtUp = follower.catchUp()
      if (isPromise(caughtUp)) await caughtUp
      caller?.decideAnew()
      caller?.check('update', key)
      const bucket = buckets.get(bucketKey)
      checkNotDeleting([bucket])
      const settings = bucket?.settings ?? SETTINGS_BY_DEFAULT
      if (settings.requireMatch) throw matchRequired(key)
      const addition = decide(settings)
      if (operation === undefined && settings.requireIdempotencyKey) throw keyRequired(pathOfKey(key))
      const known = [{ key: bucketKey, version: bucket?.version ?? 0 }, ...rulesReadOf(caller)]
      const charge = await this.#charge({ writes: NONE, adds: [addition] }, known, caller)
      const reads = charge === undefined ? known : [...known, ...charge.reads]
      const writes = charge?.writes ?? NONE
      const noted = operation ? await this.#keyAdds([key], operation) : NONE
      const adds = [addition, ...(charge?.adds ?? NONE), ...noted]
      const result = await (recorder ?? store).commit(
        operation === undefined
          ? { reads, writes, adds }
          : { reads, writes, adds, operation: withNote(operation, `${addition.decimals}`) },
      )
      this.#note(result, true, () => settings, adds)
      if (!result.committed) continue
      const { position, units, replayed } = result
      return { position, existed: true, units: units?.[0], note: replayed?.note }
    }
    throw tooMuchContention()
  }

  async #write(intent: Intent): Promise<Outcome> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const outcome = await this.#attempt(intent)
      if (outcome) return outcome
    }
    throw tooMuchContention()
  }

  async #attempt(intent: Intent): Promise<Outcome | undefined> {
    const { bucket: bucketKey, key, conditions, dependsOnCurrent, operation } = intent
    const { store, follower, buckets } = this.#options
    await follower.catchUp()
    intent.caller?.decideAnew()
    const bucket = buckets.get(bucketKey)
    const current = await store.get(key)
    const version = current?.version ?? 0
    const existed = current !== undefined
    const decide = (found: StoredValue | undefined) =>
      intent.decide(bucket?.settings ?? SETTINGS_BY_DEFAULT, found, bucket)
    const allowed = intent.caller && this.#allowed(intent, intent.caller, current, decide)
    if (bucket?.settings.requireMatch && !isConditional(conditions)) throw matchRequired(key)
    if (!holds(conditions, version)) {
      this.#options.conflicts.add({
        ...{ kind: 'write', writes: [key], isLeased: false },
        changed: [{ key, ...expectedBy(conditions), version }],
      })
      throw versionConflict(key, version)
    }
    const decided = allowed ?? decide(current)
    // What was allowed was allowed of what is there.
    const isBound = dependsOnCurrent || isConditional(conditions) || allowed !== undefined
    const result = await this.tryCommit(
      { writes: [decided] },
      {
        ...(isBound ? { reads: [{ key, version }] } : {}),
        ...(operation === undefined ? {} : { operation: withNote(operation, intent.note?.(existed) ?? '') }),
      },
      new Map([[bucketKey, bucket]]),
      intent.caller,
    )
    if (!result.committed) return undefined
    return { position: result.position, existed, note: result.replayed?.note }
  }

  /** Asked before anything else, since every other refusal tells something of what is there. */
  #allowed(
    intent: Intent,
    caller: Caller,
    current: StoredValue | undefined,
    decide: (found: StoredValue | undefined) => Write,
  ): Write {
    const { key, isTelling, rights, conditions } = intent
    let decided: Write
    try {
      decided = decide(current)
    } catch (error) {
      if (!rights.some(right => caller.might(right, key))) throw caller.refusal()
      if (isTelling && !caller.may('read', key, current)) throw caller.refusal()
      const isAllowed = rights.some(right => caller.may(right, key, current))
      throw isAllowed || !(error instanceof FreshetError) ? error : UnallowedRefusal.of(error)
    }
    const next = 'delete' in decided ? undefined : decided
    // What is to be replaced and is not there is not created either; a caller who could not see it does not learn that.
    const isReplaced = current !== undefined || conditions.match !== undefined
    if (caller.may(rightTo(decided, isReplaced), key, current, next)) return decided
    // Where absence is told, an object that is hidden from the caller is absent.
    const isHidden = current !== undefined && caller.seen(key, current) === 'absent'
    if (isHidden && isTelling) return this.#allowed(intent, caller, undefined, decide)
    const isReplacing = isHidden && conditions.match !== undefined && caller.may('update', key, undefined, next)
    throw isReplacing ? versionConflict(key, 0) : caller.refusal()
  }

  /**
   * Commits changes to these buckets, creating those that are not there. Throws if that is refused for another reason than
   * that something has changed: a bound of a counter, or an operation that is not to be done.
   */
  async tryCommit(
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
    const keys = [...writes, ...adds].map(({ key }) => key)
    const noted = operation ? await this.#keyAdds(keys, operation) : NONE
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

  /** What makes its key count among those that are remembered. */
  #keyAdds(keys: readonly Key[], { id }: AskedOperation): MaybePromise<readonly Addition[]> {
    return this.#options.idempotency.keys.additionsFor(id, keys.map(namespaceOf))
  }

  /** What makes it count where there is a quota. */
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

  /** Counts it. Throws if it was refused for another reason than that something has changed. */
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

/** The right that a write takes, given whether it replaces something. */
export function rightTo(write: { readonly delete?: true } | object, isReplaced: boolean): Right {
  if ('delete' in write) return 'delete'
  return isReplaced ? 'update' : 'create'
}

export function tooManyBuckets(bucketsMax: number): FreshetError {
  return new FreshetError(
    'LIMIT_EXCEEDED',
    `There are ${bucketsMax} buckets already, as many as this server allows (bucketsMax). Use an existing one.`,
    { details: { bucketsMax } },
  )
}

/** Writes rely on the version of their bucket's record, so none is committed after the deletion has begun. */
function checkNotDeleting(buckets: Iterable<Bucket | undefined>): void {
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

/** `rights`: one of them is needed for what they ask for. */
function claimantOf(caller: Caller | undefined, key: Key, rights: readonly Right[]): Claimant {
  return {
    namespaces: [namespaceOf(key)],
    refusal: () => (rights.some(right => caller?.might(right, key) ?? true) ? undefined : caller?.refusal()),
  }
}

const ADDING: readonly Right[] = ['update']

function rulesReadOf(caller: Caller | undefined): readonly ReadVersion[] {
  return caller === undefined ? NONE : [caller.rulesRead]
}

const NONE: readonly never[] = []

/** The one version that would have done, if it was one. */
function expectedBy({ match, noneMatch }: Conditions): { readonly expected?: Version } {
  if (noneMatch === '*') return { expected: 0 }
  return match !== undefined && match !== '*' && match.length === 1 ? { expected: match[0]! } : {}
}

export function withNote({ id, fingerprint }: AskedOperation, note: string): Operation {
  return { id, fingerprint, note }
}

function replayedOutcome({ position, units: [units], note }: Replayed): Outcome {
  return { position, existed: true, units, note }
}

function createBucket(key: Key): Write {
  return { key, contentType: JSON_TYPE, body: encodeRecord(SETTINGS_BY_DEFAULT) }
}
