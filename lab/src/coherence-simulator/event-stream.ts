/**
 * A stream of events from one server process to one reader, with real clocks at both ends (`core/clock/server-clock.ts`): the
 * start is the exchange, and each event is stamped before the server asks the store. The server asks again and again, one request
 * at a time. A request waits while the process or its connection stalls, and its answer may be from before the stall. Some events
 * are lost. When the process is down, or at random, the stream moves to another process.
 */
import { ServerClock } from '@freshet/core/clock'
import type { ChangesEvent } from '@freshet/protocol'
import type { Random } from '../harness/random.js'
import type { EventQueue } from '../simulator/event-queue.js'
import type { PlantedBug } from './planted-bugs.js'
import type { Reader } from './reader.js'
import type { ServerWorker } from './server-worker.js'

export interface EventStreamOptions {
  readonly queue: EventQueue
  readonly random: Random
  readonly workers: readonly ServerWorker[]
  readonly reader: Reader
  readonly bug: PlantedBug | undefined
}

const EVENT_INTERVAL_MS = 500
const RETRY_MS = 200

export class EventStream {
  readonly #options: EventStreamOptions
  #worker: ServerWorker
  #clock = new ServerClock()
  #clockMs = 0
  #sent = 0
  #arrivedMs = 0
  /** Counts the streams: events of an old stream are ignored. */
  #opened = 0

  constructor(options: EventStreamOptions) {
    this.#options = options
    this.#worker = options.workers[0]!
  }

  open(): void {
    const { queue, random, workers, reader, bug } = this.#options
    const opened = ++this.#opened
    const askedAtMs = reader.nowMs
    this.#worker = random.pick(workers)
    if (!this.#worker.isUp) {
      queue.after(RETRY_MS, () => opened === this.#opened && this.open())
      return
    }
    const knowsClock = bug === 'clock of another process believed' && opened > 1
    queue.after(1 + 100 * random.float(), () => {
      this.#worker.stall.whenOver(() => {
        if (opened !== this.#opened) return
        const clockMs = this.#stampMs()
        this.#worker.follow()
        this.#sent = this.#worker.position
        if (!knowsClock) {
          this.#clock = new ServerClock()
          this.#clock.sample(askedAtMs, Math.floor(clockMs))
          this.#clockMs = Math.floor(clockMs)
        }
        this.#tick(opened)
      })
    })
  }

  #stampMs(): number {
    return this.#isByStore ? this.#worker.storeMs() : this.#worker.processMs()
  }

  get #isByStore(): boolean {
    return this.#options.bug === 'events stamped by the store clock'
  }

  #tick(opened: number): void {
    const { queue, random } = this.#options
    queue.after(EVENT_INTERVAL_MS, () => {
      if (opened !== this.#opened) return
      if (!this.#worker.isUp || random.float() < 0.002) this.open()
      else this.#ask(opened)
    })
  }

  #ask(opened: number): void {
    const { random, bug } = this.#options
    const worker = this.#worker
    const stampedMs = this.#stampMs()
    // Either the store has answered, and the answer is on its way, or it has not.
    const answered = random.float() < 0.5 ? this.#changes() : undefined
    worker.stall.whenOver(() => {
      if (opened !== this.#opened) return
      if (!worker.isUp) return this.#tick(opened)
      const askedMs = bug === 'stamp taken after the store was asked' ? this.#stampMs() : stampedMs
      const event = answered ?? this.#changes()
      if (event) this.#deliver({ ...event, askedMs: Math.floor(askedMs) }, opened)
      this.#tick(opened)
    })
  }

  #changes(): Omit<ChangesEvent, 'askedMs'> | undefined {
    const from = this.#sent
    const changes = this.#worker.changesAfter(from)
    this.#sent = this.#worker.position
    return changes === undefined ? undefined : { from, to: this.#sent, changes }
  }

  #deliver(event: ChangesEvent, opened: number): void {
    const { queue, random, reader } = this.#options
    if (random.float() < 0.01) return
    this.#arrivedMs = Math.max(this.#arrivedMs, queue.nowMs + 1 + 300 * random.float())
    queue.at(this.#arrivedMs, () => reader.stall.whenOver(() => opened === this.#opened && this.#receive(event)))
  }

  #receive(event: ChangesEvent): void {
    const { reader, bug } = this.#options
    const clock = this.#isByStore ? reader.storeClock : this.#clock
    const asOfMs = clock.asOfMs(this.#isByStore ? event.askedMs : Math.max(event.askedMs, this.#clockMs))
    const believesFuture = this.#isByStore || bug === 'clock of another process believed'
    if (asOfMs > reader.nowMs && !believesFuture) this.open()
    else reader.push(event, asOfMs)
  }
}
