/**
 * Tasks, as stored under keys that no request can name, in the same commits as their work. So the record of a task is never
 * ahead of its work, or behind it, whenever a process is killed.
 */
import type { Store, Write } from '@freshet/core/store'
import { FreshetError, type Key, type Task, type Version } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'

/** Namespaces begin with a letter or a digit, so this is not a namespace. */
const TASKS: Key = '_freshet/tasks'
/** Ended tasks are kept for a while, so that clients can read their result. */
const ENDED_MAX = 100
const PAGE = 1000

/** Without what the record of its bucket contains. */
export type StoredTask = Omit<Task, 'from'>

export interface TaskFound {
  readonly task: StoredTask
  readonly version: Version
}

export function taskKey(id: string): Key {
  return `${TASKS}/${id}`
}

export function isTaskKey(key: Key): boolean {
  return key.startsWith(`${TASKS}/`)
}

export function taskWrite(task: StoredTask): Write {
  return { key: taskKey(task.id), contentType: JSON_TYPE, body: Buffer.from(JSON.stringify(task)) }
}

/** Throws TASK_NOT_FOUND. */
export async function findTask(store: Store, id: string): Promise<TaskFound> {
  const found = /^[0-9a-z]{26}$/.test(id) ? await store.get(taskKey(id)) : undefined
  if (found !== undefined) return { task: decode(found.body), version: found.version }
  throw new FreshetError('TASK_NOT_FOUND', 'There is no such task, or it ended long ago. GET /tasks lists the tasks.')
}

/** Oldest first. */
export async function listTasks(store: Store): Promise<readonly StoredTask[]> {
  const tasks: StoredTask[] = []
  for (let after: string | undefined; ; ) {
    const { entries, next } = await store.scan(TASKS, { limit: PAGE, ...(after === undefined ? {} : { after }) })
    tasks.push(...entries.map(({ body }) => decode(body)))
    if (next === undefined) return tasks
    after = next
  }
}

/** The writes that remove the tasks that ended longest ago, if there are too many. */
export async function forgetEnded(store: Store): Promise<readonly Write[]> {
  const ended = (await listTasks(store)).filter(
    ({ state, kind }) => state === 'done' || state === 'cancelled' || (state === 'failed' && kind !== 'migration'),
  )
  return ended.slice(0, Math.max(0, ended.length - ENDED_MAX)).map(({ id }) => ({ key: taskKey(id), delete: true }))
}

function decode(body: Uint8Array): StoredTask {
  return JSON.parse(new TextDecoder().decode(body)) as StoredTask
}
