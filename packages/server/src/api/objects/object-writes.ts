/**
 * Writes one object: read what is stored, check whether the caller may write, decide, commit on the condition that nothing has
 * changed, and start again if it has.
 */
import type { Store, StoredValue, Write } from '@freshet/core/store'
import { FreshetError, formatEtag, type Key, pathOfKey, type Version, type WriteAnswer } from '@freshet/protocol'
import type { Caller } from '../../access/caller.js'
import type { Bucket, BucketDirectory } from '../../buckets/bucket-directory.js'
import { matchRequired, tooMuchContention, versionConflict } from '../../buckets/refusals.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import { type Answer, jsonAnswer } from '../../http/answer.js'
import { type Conditions, holds, isConditional } from '../../http/conditions.js'
import type { AnswerNote } from '../../idempotency/answer-note.js'
import {
  type Idempotency,
  type Outcome,
  operationWith,
  outcomeOf,
  REPLAYED,
  UnallowedRefusal,
} from '../../idempotency/idempotency.js'
import type { RecentConflicts } from '../../monitoring/recent-conflicts.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import { claimantOf } from '../../writing/claimant-of.js'
import { ATTEMPTS_MAX, type Committer, rightTo } from '../../writing/committer.js'
import { type AskedWrite, decideWrite, WRITE_KINDS } from './decide-write.js'

export interface ObjectWritesOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly idempotency: Idempotency
  readonly committer: Committer
  readonly conflicts: RecentConflicts
}

export class ObjectWrites {
  readonly #options: ObjectWritesOptions

  constructor(options: ObjectWritesOptions) {
    this.#options = options
  }

  async write(asked: AskedWrite): Promise<Answer> {
    const { operation, caller, key, kind } = asked
    const { rights } = WRITE_KINDS[kind]
    const claimant = claimantOf(caller, [key], each => rights.some(right => each.might(right, key)))
    const outcome = await this.#options.idempotency.once(operation, claimant, () => this.#commit(asked))
    return written(asked.bucket, outcome)
  }

  async #commit(asked: AskedWrite): Promise<Outcome> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const outcome = await this.#attempt(asked)
      if (outcome !== undefined) return outcome
    }
    throw tooMuchContention()
  }

  /** Undefined if something has changed in between. */
  async #attempt(asked: AskedWrite): Promise<Outcome | undefined> {
    const { bucket: bucketKey, key, kind, conditions, operation, caller } = asked
    const { store, follower, buckets, settings, committer } = this.#options
    await follower.catchUp()
    caller?.decideAnew()
    const bucket = buckets.get(bucketKey)
    const current = await store.get(key)
    const version = current?.version ?? 0
    const allowed = caller && this.#allowed(asked, caller, current, bucket)
    this.#checkConditions(asked, bucket, version)
    const write = allowed ?? decideWrite(asked, current, bucket, settings)
    // The caller was allowed to change the object as it is stored now.
    const isBound = WRITE_KINDS[kind].dependsOnCurrent || isConditional(conditions) || allowed !== undefined
    const note = noteOf(asked, current !== undefined)
    const result = await committer.commit(
      { writes: [write] },
      {
        ...(isBound ? { reads: [{ key, version }] } : {}),
        ...(operation === undefined ? {} : { operation: operationWith(operation, note) }),
      },
      new Map([[bucketKey, bucket]]),
      caller,
    )
    return result.committed ? outcomeOf(result, note) : undefined
  }

  /** Called before any other check, since every other refusal reveals something about what is stored. Throws the refusal. */
  #allowed(asked: AskedWrite, caller: Caller, current: StoredValue | undefined, bucket: Bucket | undefined): Write {
    const { key, kind, conditions } = asked
    const { rights, isTelling } = WRITE_KINDS[kind]
    let decided: Write
    try {
      decided = decideWrite(asked, current, bucket, this.#options.settings)
    } catch (error) {
      if (!rights.some(right => caller.might(right, key))) throw caller.refusal()
      if (isTelling && !caller.may('read', key, current)) throw caller.refusal()
      const isAllowed = rights.some(right => caller.may(right, key, current))
      throw isAllowed || !(error instanceof FreshetError) ? error : UnallowedRefusal.of(error)
    }
    const next = 'delete' in decided ? undefined : decided
    // A conditional replacement never creates an object, and a caller who could not see the object must not learn that it is
    // absent.
    const isReplaced = current !== undefined || conditions.match !== undefined
    if (caller.may(rightTo(decided, isReplaced), key, current, next)) return decided
    // If the rules reveal absence, a hidden object counts as absent.
    const isHidden = current !== undefined && caller.seen(key, current) === 'absent'
    if (isHidden && isTelling) return this.#allowed(asked, caller, undefined, bucket)
    const isReplacing = isHidden && conditions.match !== undefined && caller.may('update', key, undefined, next)
    throw isReplacing ? versionConflict(key, 0) : caller.refusal()
  }

  /** Throws PRECONDITION_REQUIRED, VERSION_CONFLICT. */
  #checkConditions({ key, conditions }: AskedWrite, bucket: Bucket | undefined, version: Version): void {
    if (bucket?.settings.requireMatch && !isConditional(conditions)) throw matchRequired(key)
    if (holds(conditions, version)) return
    this.#options.conflicts.add({
      ...{ kind: 'write', writes: [key], isLeased: false },
      changed: [{ key, ...expectedBy(conditions), version }],
    })
    throw versionConflict(key, version)
  }
}

/** A made id differs on each retry, so the note keeps the first one, which the retry returns. */
function noteOf({ kind, id }: AskedWrite, existed: boolean): AnswerNote {
  const isNew = kind === 'create' || (kind === 'put' && !existed)
  return { kind: 'object', status: isNew ? 201 : 200, id }
}

function written(bucket: Key, { position, note, isReplayed }: Outcome): Answer {
  if (note.kind !== 'object') throw new Error(`A write of an object was remembered as ${note.kind}.`)
  const { status, id } = note
  const answer: WriteAnswer = { id, version: position, position }
  return jsonAnswer(status, answer, [
    ...['ETag', formatEtag(position), 'Freshet-Position', `${position}`],
    ...(status === 201 ? ['Location', pathOfKey(`${bucket}/${id}`)] : []),
    ...(isReplayed ? REPLAYED : []),
  ])
}

/** The only version that would have met the conditions, if there was only one. */
function expectedBy({ match, noneMatch }: Conditions): { readonly expected?: Version } {
  if (noneMatch === '*') return { expected: 0 }
  return match !== undefined && match !== '*' && match.length === 1 ? { expected: match[0]! } : {}
}
