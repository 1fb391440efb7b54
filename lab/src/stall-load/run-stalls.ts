/**
 * Sessions with every way of refreshing read through Varnish in front of two servers over one engine, while servers, backends,
 * connections and the readers themselves stall at random, for a tenth of a second to ten seconds. Every read is checked.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { DirectWriters } from '../coherence-load/direct-writers.js'
import { ReadChecker, SessionRecord } from '../coherence-load/read-checker.js'
import { RecordedHistory } from '../coherence-load/recorded-history.js'
import type { Random } from '../harness/random.js'
import { machineOffsetMs, type ReadingMessage, type ReadingOptions, type ReportedRead } from './reading-process.js'
import { type StalledEngine, type StallFleet, type StallKind, startStallFleet } from './stall-fleet.js'

export interface StallsOptions {
  readonly engine: StalledEngine
  readonly random: Random
  /** The run ends after this many checked reads and this many stalls, or after `msMax`. */
  readonly reads: number
  readonly stalls: number
  readonly msMax: number
  readonly stallMsMax: number
  /** The average pause of readers between two requests. */
  readonly readPauseMs: number
  readonly onProgress?: (reads: number) => void
}

export interface StallsResult {
  readonly engine: StalledEngine
  readonly reads: number
  readonly stale: number
  readonly stalls: number
  readonly stallsBy: Readonly<Record<StallKind, number>>
  readonly writes: number
  /** Reads and writes that got no answer in time. */
  readonly failed: number
  readonly seconds: number
  /** The first stale reads, for debugging. */
  readonly traces: readonly string[]
}

const PROCESS = fileURLToPath(new URL('../../dist/stall-load/reading-process.js', import.meta.url))
/** For each process of readers. */
const REFRESHES = [
  ['on-demand', 'push'],
  ['poll', 'push'],
] as const
const SESSIONS = 3
const WRITERS = { count: 3, pauseMs: 30 }
const KINDS: readonly StallKind[] = ['server', 'backend', 'connection', 'client']
const STALL_MS_MIN = 100
/** The largest number of simultaneous stalls. */
const STALLERS = 1
const PAUSE_MS = 1500
const END_MS_MAX = 90_000

export async function runStalls(options: StallsOptions): Promise<StallsResult> {
  const fleet = await startStallFleet(options.engine)
  try {
    return await new Stalls(options, fleet).run()
  } finally {
    await fleet.stop()
  }
}

class Stalls {
  readonly #options: StallsOptions
  readonly #fleet: StallFleet
  readonly #history = new RecordedHistory()
  readonly #checker = new ReadChecker(this.#history)
  readonly #offsetMs = machineOffsetMs()
  readonly #readsBy = new Map<ChildProcess, number>()
  readonly #stallsBy = { server: 0, backend: 0, connection: 0, client: 0 }
  #failed = 0
  #hasEnded = false

  constructor(options: StallsOptions, fleet: StallFleet) {
    this.#options = options
    this.#fleet = fleet
  }

  async run(): Promise<StallsResult> {
    const { random, engine, msMax, reads } = this.#options
    const beganMs = performance.now()
    const isOver = () => {
      this.#options.onProgress?.(this.#reads)
      const isDone = this.#reads >= reads && this.#stalls >= this.#options.stalls
      return this.#hasEnded || isDone || performance.now() - beganMs > msMax
    }
    const { originUrls } = this.#fleet
    const writers = new DirectWriters({ urls: originUrls, history: this.#history, random, ...WRITERS })
    await writers.fill()
    const children = REFRESHES.map((refreshes, i) => this.#startReading(refreshes, i, random.fork(`readers ${i}`)))
    try {
      await Promise.all([
        ...Array.from({ length: STALLERS }, (_, i) => this.#stallOn(random.fork(`stalls ${i}`), isOver)),
        ...writers.run(isOver),
      ])
      await Promise.all(children.map(({ child, ended }) => this.#end(child, ended)))
    } finally {
      for (const { child } of children) child.kill('SIGKILL')
    }
    return {
      ...{ engine, reads: this.#reads, stale: this.#checker.violationCount, stalls: this.#stalls },
      ...{ stallsBy: { ...this.#stallsBy }, writes: this.#history.writes, failed: this.#failed },
      ...{ seconds: (performance.now() - beganMs) / 1000, traces: this.#checker.traces },
    }
  }

  get #reads(): number {
    return [...this.#readsBy.values()].reduce((sum, reads) => sum + reads, 0)
  }

  get #stalls(): number {
    return Object.values(this.#stallsBy).reduce((sum, count) => sum + count, 0)
  }

  #startReading(refreshes: ReadingOptions['refreshes'], i: number, random: Random) {
    const { urls } = this.#fleet
    const given: ReadingOptions = {
      ...{ url: urls[i % urls.length]!, refreshes, sessions: SESSIONS },
      ...{ pauseMs: this.#options.readPauseMs, seed: random.uint32() },
    }
    const child = fork(PROCESS, [JSON.stringify(given)], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    child.on('message', (message: ReadingMessage) => this.#take(child, message))
    const ended = once(child, 'exit').then(([code]) => {
      this.#hasEnded = true
      if (code !== 0) throw new Error(`Readers with ${refreshes.join(', ')} ended with exit code ${code}.`)
    })
    // The caller handles the rejection when it ends the readers.
    ended.catch(() => {})
    return { child, ended }
  }

  #take(child: ChildProcess, message: ReadingMessage): void {
    if (message.kind === 'end') this.#failed += message.failed
    else if (message.kind === 'reads') {
      for (const read of message.reads) this.#judge(read)
      this.#readsBy.set(child, message.reads.at(-1)?.reads ?? this.#readsBy.get(child) ?? 0)
    } else {
      const { id, position, number, ms } = message
      this.#history.acknowledgePut(id, position, number, ms - this.#offsetMs)
    }
  }

  /** Everything acknowledged to writers here before the read began is known by the time that the read is reported. */
  #judge({ id, what, ageMs, least, found, served, ...times }: ReportedRead): void {
    const [beganMs, endedMs] = [times.beganMs - this.#offsetMs, times.endedMs - this.#offsetMs]
    const due = ['staleness', this.#history.dueAt(id, beganMs - ageMs)] as const
    const read = { id, what, ageMs, beganMs, record: new SessionRecord(), least: [due, ...least] }
    this.#checker.end(read, found, served, endedMs)
  }

  async #stallOn(random: Random, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await pause(random.float() * 2 * PAUSE_MS, isOver)
      const kind = random.pick(KINDS)
      const goOn = this.#fleet.stall(kind, random)
      if (goOn === undefined) continue
      try {
        await pause(STALL_MS_MIN * (this.#options.stallMsMax / STALL_MS_MIN) ** random.float(), isOver)
      } finally {
        goOn()
      }
      this.#stallsBy[kind]++
    }
  }

  async #end(child: ChildProcess, ended: Promise<void>): Promise<void> {
    if (child.connected) child.send('end')
    const late = delay(END_MS_MAX, undefined, { ref: false }).then(() => {
      throw new Error(`Readers did not end within ${END_MS_MAX} ms.`)
    })
    await Promise.race([ended, late])
  }
}

async function pause(ms: number, isOver: () => boolean): Promise<void> {
  for (const untilMs = performance.now() + ms; performance.now() < untilMs && !isOver(); ) {
    await delay(Math.min(50, untilMs - performance.now()))
  }
}
