/**
 * Group commit: commits that arrive while one transaction is on its way to the disk go into the next. There is one
 * transaction at a time, so the transaction under way is always one known stretch of positions.
 *
 * A transaction ends in one of three ways. It is flushed: the mark advances, then the tasks are answered. Or it is refused
 * and leaves no trace: if the disk is full its tasks fail, and the next transaction may succeed; otherwise LMDB stumbled, and
 * the tasks are retried. Or it has left a trace without being durable, or was refused again and again, or another process has
 * become the writer: then nothing more is written, and all waiting tasks are rejected with the reason.
 *
 * The time in the log is that of the decision. Until the flush is over readers get the previous data, and caches keep it for
 * a lifetime from then on; so the window of the sketch allows for a short delay, but not for a disk that hangs. A batch that
 * took longer is logged again in the next batch, with a time at which it was visible. If the process ends before that, the
 * store's clock continues from the first entry's time, and no copy is older because of it than it would have been without the
 * delay.
 */
import { setImmediate } from 'node:timers/promises'
import type { Position } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { Changed } from '@freshet/store/records'
import { Batch } from './batch.js'
import type { DurableMark } from './durable-mark.js'
import type { Environment } from './environment.js'
import { isFull, reasonOf, storeDamaged, storeFull } from './lmdb-errors.js'
import type { DoneOperations } from './operations/done-operations.js'
import { RecordArena } from './record-arena.js'
import { decodeHead, type Head } from './records.js'

export const TASKS_PER_BATCH_MAX = 4096
const TRIES_MAX = 3
/** A small part of the window's slack, most of which is for caches. */
const VISIBLE_AFTER_MS_MAX = 1000

export interface GroupCommitOptions {
  readonly path: string
  readonly environment: Environment
  readonly epoch: number
  readonly mark: DurableMark
  readonly nowMs: () => number
  readonly operations: DoneOperations
  /** Called when the mark has advanced, before the callers get their results. */
  readonly onDurable: (position: Position) => void
  /** Called once, when nothing more will be written. */
  readonly onFailed: (error: unknown) => void
}

interface Task<Result = unknown> {
  readonly plan: (batch: Batch, argument: unknown) => Result
  readonly argument: unknown
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
  result: Result | undefined
}

export class GroupCommit {
  readonly #options: GroupCommitOptions
  readonly #arena = new RecordArena()
  #waiting: Task[] = []
  #running: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined
  /** After a batch was refused, its tasks are tried one by one, so that one that is too large does not fail the others. */
  #alone = 0
  /** How often the batch at the head of the queue was refused for a reason that is not its own. */
  #refusals = 0
  /** The changes whose log entries have a time before they became visible. */
  #late: Changed | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  /** Adds to the next batch. Resolves, with the result of `plan`, when the batch is durable. */
  submit<Result>(plan: (batch: Batch) => Result): Promise<Result>
  /** One plan for many calls, with an argument for each. */
  submit<Result, Argument>(plan: (batch: Batch, argument: Argument) => Result, argument: Argument): Promise<Result>
  submit<Result>(plan: (batch: Batch, argument: unknown) => Result, argument?: unknown): Promise<Result> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    return new Promise<Result>((resolve, reject) => {
      const task: Task<Result> = { plan, argument, resolve, reject, result: undefined }
      this.#waiting.push(task as Task)
      this.#running ??= this.#run()
    })
  }

  /** Resolves when nothing is waiting or under way. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  /** Ends all writing, and rejects all waiting tasks with the error. */
  fail(error: unknown, underWay: readonly Task[] = []): void {
    const { mark, onFailed } = this.#options
    const isFirst = this.#failure === undefined
    this.#failure ??= { error }
    mark.fail(error)
    for (const task of [...underWay, ...this.#waiting.splice(0)]) task.reject(error)
    if (isFirst) onFailed(error)
  }

  async #run(): Promise<void> {
    // Commits that arrive in the same turn join the batch.
    await setImmediate()
    while (this.#waiting.length > 0) {
      await this.#runBatch(this.#take())
      // So do the next commits of callers that have just been answered.
      await afterAllPromises()
    }
    this.#running = undefined
  }

  #take(): Task[] {
    const count = this.#alone > 0 ? 1 : TASKS_PER_BATCH_MAX
    this.#alone = Math.max(0, this.#alone - 1)
    return this.#waiting.splice(0, count)
  }

  async #runBatch(tasks: readonly Task[]): Promise<void> {
    const { environment, epoch, mark, nowMs, operations } = this.#options
    const before = mark.position
    let thrown: unknown
    try {
      environment.refresh()
      this.#arena.clear()
      const batch = new Batch({
        tables: environment,
        arena: this.#arena,
        head: this.#head(),
        nowMs: nowMs(),
        operations,
      })
      if (this.#late) batch.logAgain(this.#late)
      if (!this.#plan(tasks, batch)) return
      const isOurs =
        !batch.hasChanges ||
        (await environment.write(epoch, () => {
          thrown = errorOf(() => batch.apply(epoch))
          if (thrown !== undefined) throw thrown
        }))
      if (!isOurs) throw this.#takenOver()
      operations.end()
      this.#answer(tasks, batch.position)
      this.#noteDelay(batch, nowMs())
    } catch (error) {
      await this.#onRefused(tasks, { error, thrown, before })
    }
  }

  /**
   * A task that meets a damaged record, or a mistake of its caller, is refused, and the others are decided again without it.
   * False: the others are waiting for that, and there is nothing to write.
   */
  #plan(tasks: readonly Task[], batch: Batch): boolean {
    for (const task of tasks) {
      try {
        task.result = task.plan(batch, task.argument)
      } catch (error) {
        if (!isOfTask(error)) throw error
        task.reject(error)
        this.#waiting.unshift(...tasks.filter(other => other !== task))
        return false
      }
    }
    return true
  }

  /** As LMDB shows it. */
  #head(): Head {
    return decodeHead(this.#options.environment.meta.get('head')!)
  }

  #takenOver(): FreshetError {
    const { path } = this.#options
    return new FreshetError(
      'STORE_TAKEN_OVER',
      `Another process has taken over the store at ${path}. This process no longer writes to it; stop it.`,
    )
  }

  #answer(tasks: readonly Task[], position: Position): void {
    const { mark, onDurable } = this.#options
    this.#refusals = 0
    if (!mark.has(position)) {
      mark.advance(position)
      onDurable(position)
    }
    for (const task of tasks) task.resolve(task.result)
  }

  #noteDelay(batch: Batch, visibleMs: number): void {
    this.#late = undefined
    if (!batch.hasChanges || visibleMs - batch.timeMs <= VISIBLE_AFTER_MS_MAX) return
    const { changed } = batch
    if (changed.keys.length === 0) return
    this.#late = changed
    // A batch for this alone, if nothing else is waiting. If it is refused, the next batch will do.
    this.submit(() => {}).catch(() => {})
  }

  async #onRefused(tasks: readonly Task[], refusal: Refusal): Promise<void> {
    const { path } = this.#options
    const reason = refusal.thrown ?? (await reasonOf(refusal.error))
    if (reason instanceof FreshetError || this.#leftTrace(refusal)) {
      return this.fail(toFailure(reason, path), tasks)
    }
    if (await isFull(path, reason)) return this.#onFull(tasks, reason)
    if (++this.#refusals === TRIES_MAX) return this.fail(toFailure(reason, path), tasks)
    this.#waiting.unshift(...tasks)
  }

  #leftTrace({ thrown, before }: Refusal): boolean {
    const { environment } = this.#options
    environment.refresh()
    return thrown !== undefined || this.#head().position !== before
  }

  #onFull(tasks: readonly Task[], reason: unknown): void {
    if (tasks.length === 1) {
      tasks[0]!.reject(storeFull(this.#options.path, reason))
    } else {
      this.#waiting.unshift(...tasks)
      this.#alone = tasks.length
    }
  }
}

/** Whether the error fails only the task that met it. */
function isOfTask(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof FreshetError && error.code === 'STORE_DAMAGED')
}

interface Refusal {
  /** The error of LMDB. */
  readonly error: unknown
  /** An error thrown while the tables were being written: what was written before it may be committed. */
  readonly thrown: unknown
  /** The position before the batch. */
  readonly before: Position
}

/** Resolves when all continuations that were waiting for promises have run. */
function afterAllPromises(): Promise<void> {
  return new Promise(resolve => process.nextTick(resolve))
}

function errorOf(action: () => void): unknown {
  try {
    action()
    return undefined
  } catch (error) {
    return error
  }
}

function toFailure(reason: unknown, path: string): unknown {
  if (reason instanceof FreshetError) return reason
  return storeDamaged(path, 'LMDB could not finish a commit', reason)
}
