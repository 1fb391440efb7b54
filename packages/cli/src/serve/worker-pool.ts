/**
 * The workers of a primary, each in a slot of its own; one that dies is replaced (`worker-restarts.ts`).
 *
 * The primary handles signals. A terminal sends Ctrl-C to all processes at once; workers ignore it and wait for the primary.
 */
import cluster, { type Worker } from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { type RecentItem, type RecentKind, RecentLines } from '@freshet/server'
import type { Log } from '@freshet/server/configuration'
import type { Config } from '../config/options.js'
import { PoolMetrics } from './pool-metrics.js'
import { PoolQuestions } from './pool-questions.js'
import { type FromWorker, fromWorkerError, isFreshetMessage, type ToWorker } from './worker-messages.js'
import { NO_DEATHS, onWorkerDeath, type RestartState } from './worker-restarts.js'

export interface WorkerPoolOptions {
  readonly config: Config
  readonly log: Log
  /** Connects a new worker to the store. */
  readonly attach: (worker: Worker) => void
}

type MetricsQuestion = Extract<FromWorker, { freshet: 'askMetrics' }>
type RecentQuestion = Extract<FromWorker, { freshet: 'askRecent' }>

interface Slot {
  readonly index: number
  worker: Worker
  startedAtMs: number
  isLoaded: boolean
  readyAtMs: number | undefined
  restarts: RestartState
  /** Why the last worker in this slot could not start. */
  refusal: Error | undefined
}

/** After each connection a worker leaves the next to the others; otherwise the one that wakes first would take them all. */
const FAIR_ACCEPT = { UV_TCP_SINGLE_ACCEPT: '1' }
/** How long a worker may take to exit, after the time that requests get to finish. */
const EXIT_MS_MAX = 2000
/** How long to wait for a worker's answer. */
const ANSWER_MS_MAX = 1000

export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #slots: Slot[] = []
  readonly #metrics = new PoolMetrics({
    workers: () => this.#serving().map(({ id }) => id),
    ask: (id, question) => {
      const worker = this.#serving().find(worker => worker.id === id)
      if (worker) say(worker, { freshet: 'countMetrics', question })
    },
    waitMsMax: ANSWER_MS_MAX,
  })
  readonly #recent = new PoolQuestions<RecentKind, readonly RecentItem[]>({
    ask: (id, question, kind) => {
      const worker = this.#serving().find(worker => worker.id === id)
      if (worker) say(worker, { freshet: 'listRecent', question, kind })
    },
    waitMsMax: ANSWER_MS_MAX,
  })
  readonly #lines = new RecentLines()
  readonly #log: Log
  #isStarted = false
  /** Whether all workers have ever listened at once. */
  #isReady = false
  #isStopping = false
  #onAllReady: () => void = () => undefined
  #onFailed: (error: Error) => void = () => undefined
  /** Rejects if workers keep dying before they are ready. */
  readonly failed: Promise<never>
  readonly #allReady: Promise<void>

  /** Forks the workers at once, so that the workers load their code while the primary opens the store. */
  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#log = this.#lines.listenTo(options.log)
    this.failed = new Promise((_, reject) => {
      this.#onFailed = reject
    })
    // Callers that await it get the rejection; until then it must not count as unhandled.
    this.failed.catch(() => undefined)
    this.#allReady = new Promise(resolve => {
      this.#onAllReady = resolve
    })
    // Workers accept connections themselves. If the primary handed them over, a connection on its way to a worker that dies would
    // stay open for ever, and its client would wait for ever.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    const exec = fileURLToPath(new URL('./worker.js', import.meta.url))
    cluster.setupPrimary({ exec, args: [], serialization: 'advanced' })
    for (let index = 0; index < options.config.workers; index++) this.#slots.push(this.#newSlot(index))
  }

  /** Call this once the store is open. Starts the workers; resolves when all of them listen. */
  async start(): Promise<void> {
    this.#isStarted = true
    for (const slot of this.#slots) if (slot.isLoaded) this.#startWorker(slot)
    return Promise.race([this.#allReady, this.failed])
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    const alive = this.#slots.filter(slot => !slot.worker.isDead())
    const { stopMsMax, drainMs } = this.#options.config
    const deadline = setTimeout(() => this.kill(), drainMs + stopMsMax + EXIT_MS_MAX)
    const gone = alive.map(({ worker }) => new Promise(resolve => worker.once('exit', resolve)))
    for (const { worker, isLoaded } of alive) {
      if (isLoaded) say(worker, { freshet: 'stop' })
      else worker.process.kill('SIGKILL')
    }
    await Promise.all(gone)
    clearTimeout(deadline)
  }

  kill(): void {
    this.#isStopping = true
    for (const { worker } of this.#slots) worker.process.kill('SIGKILL')
  }

  #newSlot(index: number): Slot {
    const slot: Slot = { index, restarts: NO_DEATHS, refusal: undefined, ...this.#fork(() => slot) }
    return slot
  }

  #fork(slotOf: () => Slot): Pick<Slot, 'worker' | 'startedAtMs' | 'isLoaded' | 'readyAtMs'> {
    const worker = cluster.fork(FAIR_ACCEPT)
    worker.on('message', (message: unknown) => {
      if (isFreshetMessage(message)) this.#hear(slotOf(), message as FromWorker)
    })
    worker.on('exit', (code, signal) => this.#onExit(slotOf(), signal ?? `exit code ${code}`))
    // A worker may die while a message is being sent to it; its exit is reported as well.
    worker.on('error', error => this.#log.write('error', 'worker channel failed', { error: error.message }))
    return { worker, startedAtMs: performance.now(), isLoaded: false, readyAtMs: undefined }
  }

  #startWorker({ worker, index }: Slot): void {
    this.#options.attach(worker)
    say(worker, { freshet: 'start', config: this.#options.config, slot: index })
  }

  #hear(slot: Slot, message: FromWorker): void {
    if (message.freshet === 'loaded') {
      slot.isLoaded = true
      if (this.#isStarted) this.#startWorker(slot)
    } else if (message.freshet === 'refused') slot.refusal = fromWorkerError(message.error)
    else if (message.freshet === 'ready') this.#onReady(slot)
    else if (message.freshet === 'metrics') this.#metrics.answered(message.question, message.figures)
    else if (message.freshet === 'recent') this.#recent.answered(message.question, message.items)
    else if (message.freshet === 'askRecent') void this.#sendRecent(slot.worker, message)
    else void this.#sendMetrics(slot.worker, message)
  }

  async #sendMetrics(worker: Worker, { question, figures }: MetricsQuestion): Promise<void> {
    say(worker, { freshet: 'allMetrics', question, figures: await this.#metrics.collect(worker.id, figures) })
  }

  /** Sends what the primary and all other workers remember. */
  async #sendRecent(worker: Worker, { question, kind }: RecentQuestion): Promise<void> {
    const others = this.#serving().filter(({ id }) => id !== worker.id)
    const answers = await Promise.all(others.map(({ id }) => this.#recent.ask(id, kind)))
    const own = kind === 'lines' ? this.#lines.lines.list() : []
    say(worker, { freshet: 'allRecent', question, items: [...own, ...answers.flatMap(items => items ?? [])] })
  }

  #serving(): Worker[] {
    return this.#slots
      .filter(({ worker, readyAtMs }) => readyAtMs !== undefined && !worker.isDead())
      .map(slot => slot.worker)
  }

  #onReady(slot: Slot): void {
    slot.readyAtMs = performance.now()
    slot.refusal = undefined
    if (this.#isReady || this.#slots.some(({ readyAtMs }) => readyAtMs === undefined)) return
    this.#isReady = true
    this.#onAllReady()
  }

  #onExit(slot: Slot, how: string): void {
    this.#metrics.ended(slot.worker.id)
    if (this.#isStopping) return
    const { worker, readyAtMs, startedAtMs } = slot
    const wasReady = readyAtMs !== undefined
    const livedMs = performance.now() - (readyAtMs ?? startedAtMs)
    const decision = onWorkerDeath(slot.restarts, { wasReady, livedMs })
    this.#log.write('error', 'worker died', { worker: slot.index, pid: worker.process.pid, how, livedMs })
    // If the very first workers are refused, the next ones would be refused, too.
    if (decision.kind === 'giveUp' || (slot.refusal && !this.#isReady)) {
      this.#onFailed(slot.refusal ?? new Error(`Worker ${slot.index} keeps dying during its start (${how}).`))
      return
    }
    slot.restarts = decision.state
    setTimeout(() => this.#replace(slot), decision.afterMs)
  }

  #replace(slot: Slot): void {
    if (this.#isStopping) return
    Object.assign(
      slot,
      this.#fork(() => slot),
    )
  }
}

function say(worker: Worker, message: ToWorker): void {
  // A worker that is gone gets nothing; its exit is reported as well.
  if (worker.isConnected()) worker.send(message, () => undefined)
}
