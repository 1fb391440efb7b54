/**
 * Does tasks in the background, one after the other, a page of objects at a time. What a page comes to and how far the task
 * is are one commit, which depends on all that was read for it. So after a crash it goes on where it was; and where a client
 * writes at the same time, its write stands, and the page is looked at again.
 *
 * Of several servers over the same data the keeper does it; the others put tasks into the store, and the log tells.
 */
import type { LogEntry, ReadVersion, ScanPage, Store, StoredEntry, Write } from '@freshet/core/store'
import { FreshetError, pathOfKey, type SchemaViolation } from '@freshet/protocol'
import type { Access } from '../access/access.js'
import type { LogFollower } from '../coherence/log-follower.js'
import { type Bucket, type BucketDirectory, DELETED_BUCKETS } from '../data/bucket-directory.js'
import { afterDeletion, type BucketRecord, recordWrite } from '../data/bucket-record.js'
import type { Keeper } from '../fleet/keeper.js'
import { JSON_TYPE } from '../http/answer.js'
import { describeError, type Log } from '../operations/log.js'
import type { ServerRecorder } from '../recording/server-recorder.js'
import { takeSteps } from '../schemas/migration-steps.js'
import { effective, migratesFrom } from '../schemas/schema-changes.js'
import type { SchemaGuard } from '../schemas/schema-guard.js'
import { forgetHistory } from '../schemas/schema-history.js'
import type { ServerSettings } from '../settings.js'
import {
  findTask,
  forgetEnded,
  isTaskKey,
  listTasks,
  type StoredTask,
  type TaskFound,
  taskKey,
  taskWrite,
} from './task-store.js'

export interface TaskRunnerOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly guard: SchemaGuard
  readonly recorder: ServerRecorder | undefined
  readonly log: Log
  readonly keeper: Keeper
  readonly access: Access
}

const CHANGED_AT_ONCE = 100
const LOOKED_AT_ONCE = 500
const RETRY_MS = 1000

export class TaskRunner {
  readonly #options: TaskRunnerOptions
  #stopFollowing: () => void = () => undefined
  #running: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #isAwake = false
  #isStopping = false

  constructor(options: TaskRunnerOptions) {
    this.#options = options
  }

  start(): void {
    const { follower, keeper } = this.#options
    keeper.onChange(isKeeper => {
      if (isKeeper) this.#wake()
    })
    this.#stopFollowing = follower.onProgress(entries => {
      if (tellsOfTasks(entries)) this.#wake()
    })
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    this.#stopFollowing()
    clearTimeout(this.#retry)
    await this.#running
  }

  get #mayWork(): boolean {
    return this.#options.keeper.isKeeper && !this.#isStopping
  }

  #wake(): void {
    if (!this.#mayWork) return
    this.#isAwake = true
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    try {
      while (this.#isAwake && this.#mayWork) {
        this.#isAwake = false
        const tasks = (await listTasks(this.#options.store)).filter(({ state }) => state === 'running')
        for (const { id } of tasks) while (this.#mayWork && (await this.#step(id))) await turn()
      }
    } catch (error) {
      if (this.#isStopping) return
      this.#options.log.write('error', 'a task failed, and is tried again', describeError(error))
      this.#retry = setTimeout(() => this.#wake(), RETRY_MS).unref()
    } finally {
      this.#running = undefined
      if (this.#isAwake) this.#wake()
    }
  }

  /** Whether there is more to do of it now. */
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
      if (!this.#mayWork) return false
      after = page.next
      await turn()
    }
    // A client may tell of its progress all the time; that is no reason to count again.
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

  /** Those that the steps leave alone are not written; but they must satisfy the schema, too. */
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
      const message = `${violations[0]!.path} is not as the new schema says.`
      return this.#fail(found, bucket, message, violations)
    }
    const next = past(task, page)
    if (page.next === undefined) return this.#end(found, bucket, { ...next, state: 'done' })
    await this.#commit(found, next)
    return true
  }

  /**
   * No client can write to the bucket any more, so each page is behind the last. When there are no more it is looked at from the start once again;
   * the commit in which nothing is left removes the bucket itself.
   */
  async #delete(found: TaskFound): Promise<boolean> {
    const { store, follower, buckets } = this.#options
    const { after, ...task } = found.task
    await follower.catchUp()
    const bucket = buckets.get(task.bucket)
    if (bucket?.record.deletion !== task.id) return this.#end(found, undefined, { ...task, state: 'cancelled' })
    const page = await store.scan(bucket.key, { limit: CHANGED_AT_ONCE, ...(after === undefined ? {} : { after }) })
    // Asked after the scan, since a bucket that holds something cannot become a table: so no row is deleted.
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

  /** What removes the bucket itself: its record and with it its indexes, its schemas; and keeps how long copies may live. */
  async #remains({ key, record }: Bucket): Promise<{ reads: ReadVersion[]; writes: Write[] }> {
    const { store, buckets, settings } = this.#options
    const { deleted } = buckets
    const left = afterDeletion(record, deleted?.record, store.nowMs(), settings)
    return {
      reads: [{ key: DELETED_BUCKETS, version: deleted?.version ?? 0 }],
      writes: [{ key, delete: true }, recordWrite(DELETED_BUCKETS, left), ...(await forgetHistory(store, key))],
    }
  }

  /** A bucket that has become a table meanwhile stays. */
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

  /** Its last commit, in which the record of the bucket changes as well. */
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
    // A migration may take more room than there is: else it could not be gone on with.
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

function tellsOfTasks(entries: readonly LogEntry[]): boolean {
  return entries.some(({ keys }) => keys.some(isTaskKey))
}

/** Whether it is what the bucket waits for. */
function isOf({ id }: StoredTask, { record: { pending, migration } }: Bucket): boolean {
  return pending?.task === id || migration?.task === id
}

/** What a task that ends leaves of it in the record of its bucket. */
export function endOf({ state, schemaVersion }: StoredTask, { key, record }: Bucket): readonly Write[] {
  const { pending, migration: _, ...rest } = record
  if (pending === undefined || state !== 'done') return [recordWrite(key, rest)]
  const { fields, writes } = effective(key, schemaVersion, pending.schema)
  const promoted: BucketRecord = { ...rest, ...fields }
  return [recordWrite(key, promoted), ...writes]
}

function past(task: StoredTask, { entries }: ScanPage): StoredTask {
  const after = entries.at(-1)?.id ?? task.after
  return { ...task, done: task.done + entries.length, ...(after === undefined ? {} : { after }) }
}

/** The object after the steps; none if they leave it as it is. */
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

/** Requests come first. */
function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
