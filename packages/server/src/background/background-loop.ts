/**
 * The loop on which a server runs all jobs that no request starts. A job runs at intervals, when it is woken, and again when it
 * requests that, but never twice at a time. Jobs do not wait for each other: a slow cache does not delay the trimming of the
 * log. A job that fails is logged and runs again.
 */
import { describeError, type Log } from '../monitoring/log.js'

export interface Job {
  readonly name: string
  /** The log message when the job fails. */
  readonly failure: string
  /** Without an interval, the job runs only when it is woken. */
  readonly everyMs?: number
  /** The delay after a failure; default: the next interval. */
  readonly retryMs?: number
  /**
   * Returns after how many ms the job should run again, unless it is woken earlier; 0: at once. Undefined: at the next
   * interval.
   */
  run(): Promise<number | undefined>
}

export interface RunningJob {
  /** Runs the job, or runs it once more if it is running. Resolves when the job is idle. */
  wake(): Promise<void>
  /** Resolves when the job has ended. It does not run again. */
  stop(): Promise<void>
}

export class BackgroundLoop {
  readonly #log: Log
  readonly #jobs = new Set<ScheduledJob>()
  #timer: NodeJS.Timeout | undefined
  #isStopping = false

  constructor(log: Log) {
    this.#log = log
  }

  /** Long-running jobs check this from time to time. */
  get isStopping(): boolean {
    return this.#isStopping
  }

  add(job: Job): RunningJob {
    const scheduled = new ScheduledJob(job, {
      onRest: () => this.#plan(),
      onFailure: error => this.#report(job, error),
      onStop: () => this.#jobs.delete(scheduled),
    })
    this.#jobs.add(scheduled)
    this.#plan()
    return scheduled
  }

  /** Resolves when every job has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    await Promise.all([...this.#jobs].map(job => job.stop()))
  }

  /** One timer, for the job that is due first. */
  #plan(): void {
    clearTimeout(this.#timer)
    if (this.#isStopping) return
    let dueMs = Number.POSITIVE_INFINITY
    for (const job of this.#jobs) dueMs = Math.min(dueMs, job.dueMs)
    if (dueMs === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.#runDue(), Math.max(0, dueMs - performance.now())).unref()
  }

  #runDue(): void {
    const nowMs = performance.now()
    for (const job of this.#jobs) if (job.dueMs <= nowMs) job.wake()
    this.#plan()
  }

  #report({ name, failure }: Job, error: unknown): void {
    if (!this.#isStopping) this.#log.write('error', failure, { job: name, ...describeError(error) })
  }
}

interface JobEvents {
  onRest(): void
  onFailure(error: unknown): void
  onStop(): void
}

class ScheduledJob implements RunningJob {
  readonly #job: Job
  readonly #events: JobEvents
  #running: Promise<void> | undefined
  #isWoken = false
  #isStopped = false
  /** By `performance.now()`. */
  dueMs: number

  constructor(job: Job, events: JobEvents) {
    this.#job = job
    this.#events = events
    this.dueMs = this.#dueIn(job.everyMs)
  }

  wake(): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    this.#isWoken = true
    // A running job is not due.
    this.dueMs = Number.POSITIVE_INFINITY
    this.#running ??= this.#run()
    return this.#running
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.dueMs = Number.POSITIVE_INFINITY
    this.#events.onStop()
    await this.#running
  }

  async #run(): Promise<void> {
    const { everyMs } = this.#job
    let againMs: number | undefined = 0
    while ((this.#isWoken || againMs === 0) && !this.#isStopped) {
      this.#isWoken = false
      againMs = await this.#runOnce()
    }
    // In the same turn as the last check of `#isWoken`, so that no call of `wake` is lost.
    this.#running = undefined
    if (this.#isStopped) return
    this.dueMs = this.#dueIn(againMs ?? everyMs)
    this.#events.onRest()
  }

  async #runOnce(): Promise<number | undefined> {
    try {
      return await this.#job.run()
    } catch (error) {
      if (!this.#isStopped) this.#events.onFailure(error)
      return this.#job.retryMs
    }
  }

  #dueIn(ms: number | undefined): number {
    return ms === undefined ? Number.POSITIVE_INFINITY : performance.now() + ms
  }
}
