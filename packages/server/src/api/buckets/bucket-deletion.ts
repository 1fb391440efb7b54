/**
 * `DELETE /db/{namespace}/{bucket}` and `DELETE /db/{namespace}`: one commit marks the buckets, then a task for each bucket
 * deletes its objects in further commits. Every write depends on the version of its bucket's record, so no write is committed
 * after the mark.
 */
import type { ReadVersion, Store, Write } from '@freshet/core/store'
import {
  type BucketAnswer,
  checkName,
  FreshetError,
  formatEtag,
  type JsonSchema,
  type Key,
  type NamespaceAnswer,
  type Position,
} from '@freshet/protocol'
import { type Audited, auditWrite } from '../../access/audit.js'
import type { Caller } from '../../access/caller.js'
import { namespaceOf } from '../../access/quotas/usage-record.js'
import type { Bucket, BucketDirectory } from '../../buckets/bucket-directory.js'
import { recordWrite } from '../../buckets/bucket-record.js'
import { bucketNotFound, tooMuchContention, versionConflict } from '../../buckets/refusals.js'
import type { SchemaGuard } from '../../buckets/schema-guard.js'
import { findTask, type StoredTask, taskKey, taskWrite } from '../../buckets/task-store.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import { type Answer, jsonAnswer } from '../../http/answer.js'
import { type Conditions, holds, isConditional, readConditions } from '../../http/conditions.js'
import type { Log } from '../../monitoring/log.js'
import type { Metrics } from '../../monitoring/metrics.js'
import type { ServerRecorder } from '../../recording/server-recorder.js'
import type { Call } from '../../routing/call.js'
import { ATTEMPTS_MAX } from '../../writing/committer.js'

export interface BucketDeletionOptions {
  readonly store: Store
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly guard: SchemaGuard
  readonly metrics: Metrics
  readonly recorder: ServerRecorder | undefined
  readonly log: Log
  readonly newId: () => string
}

interface Deletion {
  readonly position: Position
  /** In the order of the buckets. */
  readonly tasks: readonly string[]
}

export class BucketDeletion {
  readonly #options: BucketDeletionOptions

  constructor(options: BucketDeletionOptions) {
    this.#options = options
  }

  /** Throws BUCKET_NOT_FOUND, BUCKET_IN_USE, VERSION_CONFLICT. */
  async deleteBucket(key: Key, { exchange, caller }: Call): Promise<Answer> {
    const conditions = readConditions(exchange.request.headers)
    const { position, tasks } = await this.#delete(() => [this.#bucket(key, conditions)], caller)
    const [task = ''] = tasks
    const answer: BucketAnswer = { id: key, version: position, position, task }
    const headers = ['ETag', formatEtag(position), 'Freshet-Position', `${position}`, 'Location', `/tasks/${task}`]
    return jsonAnswer(202, answer, headers)
  }

  /** Throws BUCKET_NOT_FOUND, BUCKET_IN_USE. */
  async deleteNamespace({ caller, names: [namespace = ''] }: Call): Promise<Answer> {
    checkName('namespace', namespace)
    const answer: NamespaceAnswer = await this.#delete(() => this.#bucketsOf(namespace), caller)
    return jsonAnswer(202, answer, ['Freshet-Position', `${answer.position}`])
  }

  #bucket(key: Key, conditions: Conditions): Bucket {
    const { buckets, follower } = this.#options
    const bucket = buckets.get(key)
    const version = bucket?.version ?? 0
    if (isConditional(conditions) && !holds(conditions, version)) throw versionConflict(key, version)
    if (bucket === undefined) throw bucketNotFound(key, follower.position)
    return bucket
  }

  #bucketsOf(namespace: string): readonly Bucket[] {
    const { buckets, follower } = this.#options
    const found = buckets.keys().filter(key => namespaceOf(key) === namespace)
    if (found.length > 0) return found.map(key => buckets.get(key)!)
    throw new FreshetError('BUCKET_NOT_FOUND', `There is no bucket in the namespace ${namespace}.`, {
      details: { position: follower.position },
    })
  }

  async #delete(find: () => readonly Bucket[], caller: Caller | undefined): Promise<Deletion> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      await this.#options.follower.catchUp()
      const begun = await this.#begin(find(), caller)
      if (begun !== undefined) return begun
    }
    throw tooMuchContention()
  }

  /** For buckets that are being deleted already, returns the tasks that do it. Undefined if something has changed in between. */
  async #begin(found: readonly Bucket[], caller: Caller | undefined): Promise<Deletion | undefined> {
    const { store, recorder, metrics, log, follower } = this.#options
    const running = await Promise.all(found.map(({ record }) => this.#running(record.deletion)))
    const ids = running.map(id => id ?? this.#options.newId())
    const begun = found.flatMap((bucket, i) => (running[i] === undefined ? [{ bucket, id: ids[i]! }] : []))
    if (begun.length === 0) return { position: follower.position, tasks: ids }
    for (const { bucket } of begun) await this.#checkUnused(bucket, found)
    const parts = await Promise.all(begun.map(({ bucket, id }) => this.#marked(bucket, id)))
    const audited = caller === undefined ? [] : begun.map(({ bucket }) => deletionAudit(caller, bucket))
    const result = await (recorder ?? store).commit({
      reads: parts.flatMap(({ reads }) => reads),
      writes: [...parts.flatMap(({ writes }) => writes), ...audited.map(auditWrite)],
    })
    if (!result.committed) {
      metrics.conflicts.value++
      return undefined
    }
    metrics.commits.value++
    for (const each of audited) log.write('info', 'audit', { ...each })
    return { position: result.position, tasks: ids }
  }

  /**
   * The task, unless it has ended: a server that does not know deletions may have cancelled it, or a backup without it was
   * restored.
   */
  async #running(id: string | undefined): Promise<string | undefined> {
    if (id === undefined) return undefined
    try {
      const { task } = await findTask(this.#options.store, id)
      return task.state === 'running' ? id : undefined
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'TASK_NOT_FOUND') return undefined
      throw error
    }
  }

  /** Cancels, in the same commit, a task that works on the bucket's schema. */
  async #marked({ key, version, record }: Bucket, id: string): Promise<{ reads: ReadVersion[]; writes: Write[] }> {
    const { pending, migration, ...rest } = record
    const former = (pending ?? migration)?.task
    const task: StoredTask = {
      ...{ id, kind: 'deletion', bucket: key, schemaVersion: record.schemaVersion ?? 0, by: 'server' },
      ...{ state: 'running', phase: 'deleting', done: 0, changed: 0 },
    }
    const reads = [{ key, version }]
    const writes = [recordWrite(key, { ...rest, deletion: id }), taskWrite(task)]
    if (former === undefined) return { reads, writes }
    const found = await findTask(this.#options.store, former)
    return {
      reads: [...reads, { key: taskKey(former), version: found.version }],
      writes: [...writes, taskWrite({ ...found.task, state: 'cancelled' })],
    }
  }

  /** `together`: the buckets that are deleted in the same request, whose schemas do not matter. */
  async #checkUnused({ key }: Bucket, together: readonly Bucket[]): Promise<void> {
    const { store, buckets } = this.#options
    if (await store.isTable?.(key)) throw isTable(key)
    const deleted = new Set(together.map(bucket => bucket.key))
    for (const other of buckets.keys()) {
      const { schema, pending, deletion } = buckets.get(other)?.record ?? {}
      if (deleted.has(other) || deletion !== undefined) continue
      for (const each of [schema, pending?.schema]) {
        if (each !== undefined && (await this.#refersTo(each, key))) throw isReferred(key, other)
      }
    }
  }

  async #refersTo(schema: JsonSchema, bucket: Key): Promise<boolean> {
    try {
      return (await this.#options.guard.compile(schema)).references.some(reference => reference.bucket === bucket)
    } catch (error) {
      // Nothing can be written under an invalid schema, so its references do not matter.
      if (error instanceof FreshetError && error.code === 'SCHEMA_INVALID') return false
      throw error
    }
  }
}

function deletionAudit(caller: Caller, { key, record }: Bucket): Audited {
  return { who: caller.subject, from: caller.from, what: 'bucket', bucket: key, before: record, after: null }
}

function isTable(key: Key): FreshetError {
  return new FreshetError(
    'BUCKET_IN_USE',
    `The bucket ${key} is a table of a database that other programs use, so it was not deleted. freshet tables remove ` +
      `--bucket ${key} detaches it, and leaves its rows alone.`,
    { details: { bucket: key } },
  )
}

function isReferred(key: Key, by: Key): FreshetError {
  return new FreshetError(
    'BUCKET_IN_USE',
    `The bucket ${key} was not deleted: the schema of ${by} has checked references to it. Change that schema, or delete ` +
      `${by}, first.`,
    { details: { bucket: key, referredBy: by } },
  )
}
