/**
 * The workers of a primary: as many as asked for, each in a slot of its own; one that dies is replaced
 * (`worker-restarts.ts`).
 *
 * Signals are the primary's business. A terminal sends Ctrl-C to all processes at once; workers ignore it and wait to be
 * told.
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
  /** Why its last worker could not start. */
  refusal: Error | undefined
}

/** After each connection a worker lets the others have the next; else who wakes first would take them all. */
const FAIR_ACCEPT = { UV_TCP_SINGLE_ACCEPT: '1' }
/** Beyond the time that requests get to finish. */
const EXIT_MS_MAX = 2000
/** So long a worker is waited for that is asked something. */
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
  /** Whether all workers ever listened at once. */
  #isReady = false
  #isStopping = false
  #onAllReady: () => void = () => undefined
  #onFailed: (error: Error) => void = () => undefined
  /** Rejects when workers keep dying before they can do anything. */
  readonly failed: Promise<never>
  readonly #allReady: Promise<void>

  /** Forks at once, so that the workers load their code while the primary opens the store. */
  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#log = this.#lines.listenTo(options.log)
    this.failed = new Promise((_, reject) => {
      this.#onFailed = reject
    })
    // Whoever waits for it gets it; until then it is not an unhandled one.
    this.failed.catch(() => undefined)
    this.#allReady = new Promise(resolve => {
      this.#onAllReady = resolve
    })
    // Workers accept connections themselves. Handed to them by the primary, one that is under way to a worker that dies
    // would stay open for ever, and its client would wait for ever.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    const exec = fileURLToPath(new URL('./worker.js', import.meta.url))
    cluster.setupPrimary({ exec, args: [], serialization: 'advanced' })
    for (let index = 0; index < options.config.workers; index++) this.#slots.push(this.#newSlot(index))
  }

  /** The store is open: lets the workers begin. Resolves when all of them listen. */
  async start(): Promise<void> {
    this.#isStarted = true
    for (const slot of this.#slots) if (slot.isLoaded) this.#tellToStart(slot)
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
    // A worker that dies while something is being said to it; its exit is told as well.
    worker.on('error', error => this.#log.write('error', 'worker channel failed', { error: error.message }))
    return { worker, startedAtMs: performance.now(), isLoaded: false, readyAtMs: undefined }
  }

  #tellToStart({ worker, index }: Slot): void {
    this.#options.attach(worker)
    say(worker, { freshet: 'start', config: this.#options.config, slot: index })
  }

  #hear(slot: Slot, message: FromWorker): void {
    if (message.freshet === 'loaded') {
      slot.isLoaded = true
      if (this.#isStarted) this.#tellToStart(slot)
    } else if (message.freshet === 'refused') slot.refusal = fromWorkerError(message.error)
    else if (message.freshet === 'ready') this.#onReady(slot)
    else if (message.freshet === 'metrics') this.#metrics.answered(message.question, message.figures)
    else if (message.freshet === 'recent') this.#recent.answered(message.question, message.items)
    else if (message.freshet === 'askRecent') void this.#tellRecent(slot.worker, message)
    else void this.#tellMetrics(slot.worker, message)
  }

  async #tellMetrics(worker: Worker, { question, figures }: MetricsQuestion): Promise<void> {
    say(worker, { freshet: 'allMetrics', question, figures: await this.#metrics.collect(worker.id, figures) })
  }

  /** What all but the one that asks remember, and the primary itself. */
  async #tellRecent(worker: Worker, { question, kind }: RecentQuestion): Promise<void> {
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
    // What refuses the very first workers will refuse the next ones too.
    if (decision.kind === 'giveUp' || (slot.refusal && !this.#isReady)) {
      this.#onFailed(slot.refusal ?? new Error(`Worker ${slot.index} keeps dying at its start (${how}).`))
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
  // One that is gone hears nothing; its exit is told as well.
  if (worker.isConnected()) worker.send(message, () => undefined)
}
