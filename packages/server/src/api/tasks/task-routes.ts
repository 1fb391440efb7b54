/** `/tasks`: background tasks, and the actions that clients can take on them. */
import type { ReadVersion, Store, Write } from '@freshet/core/store'
import { FreshetError, type Position, type Task, type TaskAction, type TaskList } from '@freshet/protocol'
import { auditWrite } from '../../access/audit.js'
import type { Caller } from '../../access/caller.js'
import type { Bucket, BucketDirectory } from '../../buckets/bucket-directory.js'
import { tooMuchContention } from '../../buckets/refusals.js'
import { endOf, migratesFrom } from '../../buckets/schema-changes.js'
import { findTask, listTasks, type StoredTask, taskKey, taskWrite } from '../../buckets/task-store.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import { type Answer, jsonAnswer } from '../../http/answer.js'
import { readBody } from '../../http/request-body.js'
import { readJsonObject } from '../../json/json-text.js'
import type { ServerRecorder } from '../../recording/server-recorder.js'
import type { Call, Route } from '../../routing/call.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import { ATTEMPTS_MAX } from '../../writing/committer.js'

export interface TaskRoutesOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly recorder: ServerRecorder | undefined
}

const BODY_BYTES_MAX = 4096

export class TaskRoutes {
  readonly #options: TaskRoutesOptions

  constructor(options: TaskRoutesOptions) {
    this.#options = options
  }

  routes(): readonly Route[] {
    return [
      { pattern: '/tasks', methods: { GET: { access: 'admin', handle: () => this.#list() } } },
      {
        pattern: '/tasks/{task}',
        methods: {
          GET: { access: 'admin', handle: call => this.#get(call) },
          POST: { access: 'admin', handle: call => this.#post(call), takesBody: true },
        },
      },
    ]
  }

  async #list(): Promise<Answer> {
    await this.#options.follower.catchUp()
    const tasks = await listTasks(this.#options.store)
    const answer: TaskList = { tasks: tasks.map(task => this.#withOrigin(task)) }
    return jsonAnswer(200, answer)
  }

  async #get({ names: [id = ''] }: Call): Promise<Answer> {
    await this.#options.follower.catchUp()
    const { task } = await findTask(this.#options.store, id)
    return jsonAnswer(200, this.#withOrigin(task))
  }

  async #post({ exchange, caller, names: [id = ''] }: Call): Promise<Answer> {
    const body = await readBody(exchange, BODY_BYTES_MAX)
    const action = readAction(readJsonObject(body, this.#options.settings))
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const position = await this.#act(id, action, caller)
      if (position !== undefined) {
        const { task } = await findTask(this.#options.store, id)
        return jsonAnswer(200, this.#withOrigin(task), ['Freshet-Position', `${position}`])
      }
    }
    throw tooMuchContention()
  }

  async #act(id: string, action: TaskAction, caller: Caller | undefined): Promise<Position | undefined> {
    const { store, follower, buckets, recorder } = this.#options
    const { task, version } = await findTask(store, id)
    await follower.catchUp()
    const next = after(task, action)
    const bucket = buckets.get(task.bucket)
    const { reads, writes } = next.state === 'cancelled' ? released(next, bucket) : { reads: [], writes: [] }
    const result = await (recorder ?? store).commit({
      reads: [{ key: taskKey(id), version }, ...reads],
      writes: [...writes, taskWrite(next), ...cancellationAudit(caller, task, next)],
    })
    return result.committed ? result.position : undefined
  }

  #withOrigin(task: StoredTask): Task {
    const bucket = this.#options.buckets.get(task.bucket)
    return bucket?.record.migration?.task === task.id ? { ...task, from: migratesFrom(bucket) } : task
  }
}

/** Audits that a planned schema will not come into force. */
function cancellationAudit(
  caller: Caller | undefined,
  { id: task, bucket, state }: StoredTask,
  next: StoredTask,
): Write[] {
  if (caller === undefined || next.state !== 'cancelled') return []
  const by = { who: caller.subject, from: caller.from, what: 'bucket', bucket } as const
  return [auditWrite({ ...by, before: { task, state }, after: { task, state: next.state } })]
}

function released(task: StoredTask, bucket: Bucket | undefined): { reads: ReadVersion[]; writes: readonly Write[] } {
  const { pending, migration } = bucket?.record ?? {}
  if (bucket === undefined || (pending ?? migration)?.task !== task.id) return { reads: [], writes: [] }
  return { reads: [{ key: bucket.key, version: bucket.version }], writes: endOf(task, bucket) }
}

/** The task after the action. Throws TASK_STATE. */
function after(task: StoredTask, action: TaskAction): StoredTask {
  const { error: _, after: __, ...fresh } = task
  const isClients = task.state === 'running' && task.phase === 'changing' && task.by === 'client'
  // A deletion cannot be cancelled: some of its objects are already deleted.
  const isOpen = task.state === 'running' || (task.state === 'failed' && task.kind === 'migration')
  if (action.do === 'cancel' && isOpen && task.kind !== 'deletion') {
    return { ...task, state: 'cancelled' }
  }
  if (action.do === 'resume' && task.state === 'failed' && task.kind === 'migration') {
    // A client examines all objects again; their versions show which are done.
    if (task.by === 'client') return { ...fresh, state: 'running', phase: 'changing', done: 0 }
    return { ...fresh, state: 'running', ...(task.after === undefined ? {} : { after: task.after }) }
  }
  if (action.do === 'progress' && isClients) {
    return { ...task, after: action.after, done: action.done, changed: action.changed }
  }
  if (action.do === 'finish' && isClients) return { ...fresh, phase: 'checking', done: 0 }
  throw new FreshetError(
    'TASK_STATE',
    `The task ${task.id} is a ${task.kind} by the ${task.by}, ${task.state} (${task.phase}), and does not accept ` +
      `${action.do} in this state.`,
    { details: { task } },
  )
}

function readAction(text: string): TaskAction {
  const { do: verb, after: id, done, changed, ...others } = JSON.parse(text) as Record<string, unknown>
  const isAlone = id === undefined && done === undefined && changed === undefined
  if (Object.keys(others).length === 0) {
    if (isAlone && (verb === 'resume' || verb === 'cancel' || verb === 'finish')) return { do: verb }
    if (verb === 'progress' && typeof id === 'string' && isCount(done) && isCount(changed)) {
      return { do: verb, after: id, done, changed }
    }
  }
  throw new FreshetError(
    'BODY_INVALID',
    'A task accepts {"do":"resume"}, {"do":"cancel"}, {"do":"finish"} or {"do":"progress","after":ID,"done":N,"changed":N}.',
  )
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
