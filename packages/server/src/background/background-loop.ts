/**
 * The one loop on which a server does what no request asks for. A job is run at intervals, when it is woken, and again when it asks for
 * that; never twice at a time. Jobs do not wait for each other: a cache that is slow keeps no log from being trimmed. A job that fails is
 * logged and run again.
 */
import { describeError, type Log } from '../monitoring/log.js'

export interface Job {
  readonly name: string
  /** What the log says when it fails. */
  readonly failure: string
  /** Without it, the job is run only when it is woken. */
  readonly everyMs?: number
  /** After a failure; without it, at the next interval. */
  readonly retryMs?: number
  /** In how many ms it is to be run again, unless it is woken before; 0: at once. Undefined: at the next interval. */
  run(): Promise<number | undefined>
}

export interface RunningJob {
  /** Runs it, or runs it again if it is running. Resolves when it rests. */
  wake(): Promise<void>
  /** Resolves when it has ended. It is not run again. */
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

  /** Jobs that take long look at this now and then. */
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
    // While it runs it is not due.
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
    // In the same turn as the last look at `#isWoken`, so that no call is lost.
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
