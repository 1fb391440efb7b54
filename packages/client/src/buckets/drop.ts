/**
 * Deletes a bucket, or all buckets of a namespace, and waits until they are gone. Loaded at the first use: most programs never do
 * this.
 */
import {
  type BucketAnswer,
  checkName,
  FreshetError,
  type NamespaceAnswer,
  type Path,
  parseBucketName,
  pathOfKey,
  type Task,
} from '@freshet/protocol'
import { isPassing, type RetryPolicy, retry } from '../http/back-off.js'
import { Deadline, pause } from '../http/deadline.js'
import type { Transport } from '../http/transport.js'
import type { WriteOptions } from '../writing/write.js'
import type { Writer } from '../writing/writer.js'

/** Options of `db.drop`: `signal` and `timeoutMs` end the waiting; the server continues the deletion. */
export type DropOptions = Omit<WriteOptions, 'ifVersion'>

export interface DropParts {
  readonly writer: Writer
  readonly transport: Transport
  readonly policy: RetryPolicy
  readonly closed: AbortSignal
}

const FIRST_PAUSE_MS = 10
const PAUSE_MS_MAX = 1000
/** The longest time a timer allows: a bucket may hold any number of objects. */
const WAIT_MS_MAX = 2 ** 31 - 1

/** False if there was nothing to delete. */
export async function drop(parts: DropParts, name: string, options: DropOptions): Promise<boolean> {
  const path = pathOf(name)
  const { timeoutMs = WAIT_MS_MAX } = options
  const signals = [parts.closed, options.signal]
  const deadline = new Deadline({ timeoutMs, what: `DELETE ${path}`, signals })
  try {
    const request = { method: 'DELETE', target: path } as const
    // Repeating a deletion does no harm.
    const write = { request, paths: name.includes('/') ? [path] : [], operations: [], isIdempotent: true }
    const { task, tasks = [] } = await parts.writer.write<Partial<NamespaceAnswer> & BucketAnswer>(write, options)
    for (const id of task === undefined ? tasks : [task]) await untilEnded(parts, id, deadline.signal)
    return true
  } catch (error) {
    if (error instanceof FreshetError && error.code === 'BUCKET_NOT_FOUND') return false
    throw error
  } finally {
    deadline.end()
  }
}

/** `shop/products`, or `shop`. Throws NAME_INVALID. */
function pathOf(name: string): Path {
  if (name.includes('/')) parseBucketName(name)
  else checkName('namespace', name)
  return pathOfKey(name)
}

async function untilEnded({ transport, policy }: DropParts, id: string, signal: AbortSignal): Promise<void> {
  const request = { method: 'GET', target: `/tasks/${id}`, cache: 'no-store' } as const
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(PAUSE_MS_MAX, 2 * pauseMs)) {
    const { body, problem } = await retry(policy, signal, isPassing, async () => {
      const reply = await transport.text(request, signal)
      if (reply.problem && isPassing(reply.problem)) throw reply.problem
      return reply
    })
    // The server forgets tasks that ended a while ago.
    if (problem?.code === 'TASK_NOT_FOUND') return
    if (problem) throw problem
    const { state, error } = JSON.parse(body) as Task
    if (state === 'done') return
    if (state !== 'running')
      throw new FreshetError('BUCKET_IN_USE', error?.message ?? 'The server gave up the deletion.')
    await pause(pauseMs, signal)
  }
}
