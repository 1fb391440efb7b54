/**
 * Does tasks in the background, one after the other, a page of objects at a time. The changes of a page and the progress of the
 * task are one commit, which depends on everything read for it. So a task resumes where it was after a crash; and if a client
 * writes at the same time, its write stands, and the page is read again.
 *
 * Of several servers over the same data, the keeper does this. The others put tasks into the store, and the log wakes the
 * keeper.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ReadVersion, ScanPage, Store, StoredEntry, Write } from '@freshet/core/store'
import { FreshetError, pathOfKey, type SchemaViolation } from '@freshet/protocol'
import type { Access } from '../access/access.js'
import { type Bucket, type BucketDirectory, DELETED_BUCKETS } from '../buckets/bucket-directory.js'
import { afterDeletion, recordWrite } from '../buckets/bucket-record.js'
import { endOf, migratesFrom } from '../buckets/schema-changes.js'
import type { SchemaGuard } from '../buckets/schema-guard.js'
import { forgetHistory } from '../buckets/schema-history.js'
import {
  findTask,
  forgetEnded,
  isTaskKey,
  listTasks,
  type StoredTask,
  type TaskFound,
  taskKey,
  taskWrite,
} from '../buckets/task-store.js'
import type { LogFollower } from '../coherence/log-follower.js'
import { JSON_TYPE } from '../http/answer.js'
import type { Log } from '../monitoring/log.js'
import type { ServerRecorder } from '../recording/server-recorder.js'
import { takeSteps } from '../schemas/migration-steps.js'
import type { ServerSettings } from '../settings/server-settings.js'
import type { KeeperJobs } from './keeper-jobs.js'

export interface TaskRunnerOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly guard: SchemaGuard
  readonly recorder: ServerRecorder | undefined
  readonly log: Log
  readonly access: Access
  readonly jobs: KeeperJobs
}

const CHANGED_AT_ONCE = 100
const LOOKED_AT_ONCE = 500

export class TaskRunner {
  readonly #options: TaskRunnerOptions

  constructor(options: TaskRunnerOptions) {
    this.#options = options
  }

  start(): void {
    this.#options.jobs.add({
      ...{ name: 'tasks', failure: 'a task failed; it will be retried' },
      isWokenBy: ({ keys }) => keys.some(isTaskKey),
      run: () => this.#run(),
    })
  }

  async #run(): Promise<void> {
    const tasks = (await listTasks(this.#options.store)).filter(({ state }) => state === 'running')
    for (const { id } of tasks) await this.#options.jobs.repeat(() => this.#step(id))
  }

  /** Returns whether the task has more to do now. */
  async #step(id: string): Promise<boolean> {
    const { store, follower, buckets } = this.#options
    const found = await findTask(store, id)
    const { task } = found
    if (task.state !== 'running') return false
    if (task.kind === 'deletion') return this.#delete(found)
    if (task.total === undefined) return this.#count(found)
    if (task.phase === 'changing' && task.by === 'client') return false
    await follower.catchUp()
    const bucket = buckets.get(task.bucket)
    if (bucket === undefined || !isOf(task, bucket)) return this.#end(found, bucket, { ...task, state: 'cancelled' })
    const limit = task.phase === 'changing' ? CHANGED_AT_ONCE : LOOKED_AT_ONCE
    const page = await store.scan(task.bucket, { limit, ...(task.after === undefined ? {} : { after: task.after }) })
    return task.phase === 'changing' ? this.#change(found, bucket, page) : this.#check(found, bucket, page)
  }

  async #count(found: TaskFound): Promise<boolean> {
    const { store } = this.#options
    let total = 0
    for (let after: string | undefined; ; ) {
      const page = await store.scan(found.task.bucket, {
        limit: LOOKED_AT_ONCE,
        ...(after === undefined ? {} : { after }),
      })
      total += page.entries.length
      if (page.next === undefined) break
      if (!this.#options.jobs.mayWork) return false
      after = page.next
      await nextTurn()
    }
    // A client may report progress at any time; that is no reason to count again.
    let counted = found
    while (!(await this.#commit(counted, { ...counted.task, total }))) counted = await findTask(store, found.task.id)
    return true
  }

  async #change(found: TaskFound, bucket: Bucket, page: ScanPage): Promise<boolean> {
    const { task } = found
    const old = page.entries.filter(({ version }) => version < migratesFrom(bucket))
    try {
      const writes = old.flatMap(entry => changed(bucket, entry))
      await this.#checkUnchanged(bucket, old, writes)
      const referenced = await this.#options.guard.check(writes, [], new Map([[bucket.key, bucket]]))
      const reads = [...old.map(({ id, version }) => ({ key: `${bucket.key}/${id}`, version })), ...referenced]
      const next = { ...past(task, page), changed: task.changed + writes.length }
      if (page.next === undefined) return await this.#end(found, bucket, { ...next, state: 'done' }, reads, writes)
      await this.#commit(found, next, [readOf(bucket), ...distinct(reads)], writes)
      return true
    } catch (error) {
      if (!(error instanceof FreshetError && isRefusal(error))) throw error
      return this.#fail(
        found,
        bucket,
        error.message,
        error.details.violations as readonly SchemaViolation[] | undefined,
      )
    }
  }

  /** Objects that the steps leave alone are not written, but must satisfy the schema too. */
  async #checkUnchanged(bucket: Bucket, old: readonly StoredEntry[], writes: readonly Write[]): Promise<void> {
    const written = new Set(writes.map(({ key }) => key))
    const rest = old.filter(({ id }) => !written.has(`${bucket.key}/${id}`))
    const same = rest.map(({ id, contentType, body }) => ({ key: `${bucket.key}/${id}`, contentType, body }))
    await this.#options.guard.check(same, [], new Map([[bucket.key, bucket]]))
  }

  async #check(found: TaskFound, bucket: Bucket, page: ScanPage): Promise<boolean> {
    const { task } = found
    const schema = bucket.record.pending?.schema ?? bucket.record.schema
    for (const { id, body } of schema === undefined ? [] : page.entries) {
      const violations = await this.#options.guard.violations(`${bucket.key}/${id}`, body, schema!)
      if (violations.length === 0) continue
      const message = `${violations[0]!.path} does not satisfy the new schema.`
      return this.#fail(found, bucket, message, violations)
    }
    const next = past(task, page)
    if (page.next === undefined) return this.#end(found, bucket, { ...next, state: 'done' })
    await this.#commit(found, next)
    return true
  }

  /**
   * No client can write to the bucket now, so each page follows the last. After the last page it is read from the start once
   * more; the commit that finds nothing left removes the bucket itself.
   */
  async #delete(found: TaskFound): Promise<boolean> {
    const { store, follower, buckets } = this.#options
    const { after, ...task } = found.task
    await follower.catchUp()
    const bucket = buckets.get(task.bucket)
    if (bucket?.record.deletion !== task.id) return this.#end(found, undefined, { ...task, state: 'cancelled' })
    const page = await store.scan(bucket.key, { limit: CHANGED_AT_ONCE, ...(after === undefined ? {} : { after }) })
    // Asked after the scan, since a bucket that holds objects cannot become a table: so no row is deleted.
    if (await store.isTable?.(bucket.key)) return this.#spare(found, bucket)
    const writes = page.entries.map(({ id }): Write => ({ key: `${bucket.key}/${id}`, delete: true }))
    const count = writes.length
    const next = { ...task, done: task.done + count, changed: task.changed + count }
    if (page.next === undefined && after === undefined) {
      const { reads, writes: own } = await this.#remains(bucket)
      return this.#end(found, bucket, { ...next, state: 'done' }, reads, [...writes, ...own])
    }
    await this.#commit(found, page.next === undefined ? next : { ...next, after: page.next }, [readOf(bucket)], writes)
    return true
  }

  /** Removes the bucket itself: its record, and with it its indexes and schemas. What stays is how long copies may live. */
  async #remains({ key, record }: Bucket): Promise<{ reads: ReadVersion[]; writes: Write[] }> {
    const { store, buckets, settings } = this.#options
    const { deleted } = buckets
    const left = afterDeletion(record, deleted?.record, store.nowMs(), settings)
    return {
      reads: [{ key: DELETED_BUCKETS, version: deleted?.version ?? 0 }],
      writes: [{ key, delete: true }, recordWrite(DELETED_BUCKETS, left), ...(await forgetHistory(store, key))],
    }
  }

  /** A bucket that has become a table in the meantime stays. */
  #spare(found: TaskFound, bucket: Bucket): Promise<boolean> {
    const { deletion: _, ...record } = bucket.record
    const message = `${bucket.key} has become a table of a database that other programs use.`
    const task: StoredTask = { ...found.task, state: 'failed', error: { message } }
    return this.#end(found, bucket, task, [], [recordWrite(bucket.key, record)])
  }

  /** A check that fails is the end of the new schema; a migration can be resumed. */
  async #fail(
    found: TaskFound,
    bucket: Bucket,
    message: string,
    violations: readonly SchemaViolation[] | undefined,
  ): Promise<boolean> {
    const error = { message, ...(violations === undefined ? {} : { violations }) }
    const task: StoredTask = { ...found.task, state: 'failed', error }
    this.#options.log.write('error', 'a task failed', { task: task.id, bucket: task.bucket, message })
    if (task.kind === 'check') return this.#end(found, bucket, task)
    return !(await this.#commit(found, task))
  }

  /** The task's last commit, which changes the record of the bucket as well. */
  async #end(
    found: TaskFound,
    bucket: Bucket | undefined,
    task: StoredTask,
    reads: readonly ReadVersion[] = [],
    writes: readonly Write[] = [],
  ): Promise<boolean> {
    const own = bucket !== undefined && isOf(task, bucket) ? endOf(task, bucket) : []
    const forgotten = await forgetEnded(this.#options.store)
    const bucketReads = bucket === undefined ? [] : [readOf(bucket)]
    return !(await this.#commit(found, task, [...bucketReads, ...distinct(reads)], [...writes, ...own, ...forgotten]))
  }

  async #commit(
    { version }: TaskFound,
    task: StoredTask,
    reads: readonly ReadVersion[] = [],
    writes: readonly Write[] = [],
  ): Promise<boolean> {
    const { recorder, store, access, buckets } = this.#options
    const known = [{ key: taskKey(task.id), version }, ...reads]
    // A migration may exceed the quota: otherwise it could not be finished.
    const charge = await access.quotas.charge(access.rules, {
      ...{ writes, adds: [], reads: known, isLimited: false },
      kindOf: bucket => buckets.get(bucket)?.settings.kind ?? 'object',
      hasBuckets: () => true,
    })
    if (charge !== undefined && charge.conflicts.length > 0) return false
    const result = await (recorder ?? store).commit({
      reads: charge === undefined ? known : [...known, ...charge.reads, access.rulesRead],
      writes: [...writes, taskWrite(task), ...(charge?.writes ?? [])],
      ...(charge === undefined || charge.adds.length === 0 ? {} : { adds: charge.adds }),
    })
    return result.committed
  }
}

/** Whether the bucket waits for this task. */
function isOf({ id }: StoredTask, { record: { pending, migration } }: Bucket): boolean {
  return pending?.task === id || migration?.task === id
}

function past(task: StoredTask, { entries }: ScanPage): StoredTask {
  const after = entries.at(-1)?.id ?? task.after
  return { ...task, done: task.done + entries.length, ...(after === undefined ? {} : { after }) }
}

/** The object after the steps; empty if they leave it as it is. */
function changed({ key: bucket, record }: Bucket, { id, body }: StoredEntry): Write[] {
  const key = `${bucket}/${id}`
  const before = new TextDecoder().decode(body)
  try {
    const after = takeSteps(before, record.migration?.steps ?? [])
    return after === before ? [] : [{ key, contentType: JSON_TYPE, body: Buffer.from(after) }]
  } catch (cause) {
    throw new FreshetError('SCHEMA_MISFIT', `${pathOfKey(key)}: ${(cause as Error).message}.`, { cause })
  }
}

function isRefusal({ code }: FreshetError): boolean {
  return code === 'SCHEMA_VIOLATED' || code === 'REFERENCE_MISSING' || code === 'SCHEMA_MISFIT'
}

function readOf({ key, version }: Bucket): ReadVersion {
  return { key, version }
}

function distinct(reads: readonly ReadVersion[]): readonly ReadVersion[] {
  return [...new Map(reads.map(read => [read.key, read])).values()]
}
