/**
 * Many sessions read through caches, while writers write past them and through them, answers come late, and copies are purged at
 * random. With faults, caches and the server are also killed and restarted. Every read is checked.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { startFleetOrigin } from '../caches/fleet-origin.js'
import { OFTEN_LATE, SHORT_WINDOW, type SlowOrigin, startSlowOrigin } from '../caches/slow-origin.js'
import { type RunningTopology, runThrough, type Topology } from '../caches/topology.js'
import type { EngineName } from '../engines/engine-name.js'
import type { Random } from '../harness/random.js'
import { sumOf } from '../harness/sum-of.js'
import { CarelessPurger } from './careless-purger.js'
import { DirectWriters } from './direct-writers.js'
import { figuresOf, type SessionFigures } from './handed-session.js'
import { LoadSession } from './load-session.js'
import { readPlainly } from './plain-reader.js'
import { type Promised, ReadChecker } from './read-checker.js'
import { STALENESS_MS } from './read-modes.js'
import { RecordedHistory } from './recorded-history.js'
import { READ_MS_MAX, runTogether } from './run-together.js'
import type { CheckedReads } from './stale-reads.js'

export interface LoadOptions {
  readonly topology: Topology
  /** Two servers over this engine; one server over an embedded store if undefined. */
  readonly engine?: EngineName
  readonly random: Random
  /** The run goes on until this many reads have been checked. */
  readonly reads: number
  readonly plainReads: number
  readonly lifetimeMs: number
  /** How often the server and a cache, in turn, are killed, and how many times at most; never if undefined. */
  readonly faults?: { readonly intervalMs: number; readonly countMax: number }
  readonly onProgress?: (reads: number) => void
}

export interface LoadResult extends CheckedReads, SessionFigures {
  readonly violationsBy: Readonly<Partial<Record<Promised, number>>>
  /** The share of requests for objects and lists that did not reach the server. */
  readonly hitShare: number
  readonly writes: number
  readonly purges: number
  readonly cacheRestarts: number
  readonly serverRestarts: number
  readonly seconds: number
}

const READERS = 16
const WRITERS = { count: 2, pauseMs: 40 }
const PURGE_PAUSE_MS = 10
/** Copies become stale only after a while. */
const PLAIN_MS_MIN = 1500
const REFRESHES = ['on-demand', 'poll', 'push'] as const

export function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { engine, random, lifetimeMs } = options
  const settings = { settings: { ...SHORT_WINDOW, lifetimeMs }, ...OFTEN_LATE }
  const starting: Promise<SlowOrigin> =
    engine === undefined ? startSlowOrigin(settings) : startFleetOrigin(engine, settings, random.fork('servers'))
  return runThrough(options.topology, starting, (origin, running) => new Load(options, origin, running).run())
}

class Load {
  readonly #options: LoadOptions
  readonly #origin: SlowOrigin
  readonly #running: RunningTopology
  readonly #history = new RecordedHistory()
  readonly #checker = new ReadChecker(this.#history)
  readonly #writers: DirectWriters
  readonly #purger: CarelessPurger
  readonly #sessions: readonly LoadSession[]
  #cacheRestarts = 0
  #serverRestarts = 0

  constructor(options: LoadOptions, origin: SlowOrigin, running: RunningTopology) {
    this.#options = options
    this.#origin = origin
    this.#running = running
    const { random } = options
    this.#writers = new DirectWriters({ urls: [origin.url], history: this.#history, random, ...WRITERS })
    this.#purger = new CarelessPurger(running.caches, random.fork('purges'))
    this.#sessions = Array.from({ length: READERS }, (_, i) => this.#createSession(i))
  }

  async run(): Promise<LoadResult> {
    const beganMs = performance.now()
    await this.#writers.fill()
    const readsBefore = this.#origin.dataReads
    await this.#runSessions()
    const originReads = this.#origin.dataReads - readsBefore
    const seconds = (performance.now() - beganMs) / 1000
    const plain = await this.#runPlainly()
    return { ...this.#figures(originReads), ...plain, seconds }
  }

  async #runSessions(): Promise<void> {
    const { reads, faults, onProgress } = this.#options
    const isDone = () => {
      onProgress?.(this.#checker.reads)
      return this.#checker.reads >= reads
    }
    await runTogether({ isDone, msMax: reads * READ_MS_MAX }, isOver => [
      ...this.#sessions.map(session => session.run(isOver)),
      ...this.#writers.run(isOver),
      this.#purger.run(PURGE_PAUSE_MS, isOver),
      ...(faults === undefined ? [] : [this.#causeFaults(faults, isOver)]),
    ])
  }

  /** With the same writers, and the same caches in their current state. */
  async #runPlainly(): Promise<{ naiveReads: number; naiveViolations: number }> {
    const { plainReads, random } = this.#options
    const { url, fetch } = this.#running
    const checker = new ReadChecker(this.#history)
    const leastMs = performance.now() + PLAIN_MS_MIN
    const isOver = () => checker.reads >= plainReads && performance.now() > leastMs
    const reader = { url, fetch, stalenessMs: STALENESS_MS, checker }
    await Promise.all([
      ...Array.from({ length: READERS }, (_, i) =>
        readPlainly({ ...reader, random: random.fork(`plain ${i}`) }, isOver),
      ),
      ...this.#writers.run(isOver),
    ])
    return { naiveReads: checker.reads, naiveViolations: checker.violationCount }
  }

  #createSession(i: number): LoadSession {
    // Through a forward proxy, readers call the server by its own name.
    const { url, fetch } = this.#running
    return new LoadSession({
      url,
      fetch,
      refresh: REFRESHES[i % REFRESHES.length]!,
      history: this.#history,
      checker: this.#checker,
      random: this.#options.random.fork(`reader ${i}`),
      onUrl: asked => this.#purger.note(asked),
    })
  }

  async #causeFaults(
    { intervalMs, countMax }: NonNullable<LoadOptions['faults']>,
    isOver: () => boolean,
  ): Promise<void> {
    const random = this.#options.random.fork('faults')
    const first = random.below(2)
    for (let nextMs = performance.now() + intervalMs; !isOver(); await delay(20)) {
      const count = this.#serverRestarts + this.#cacheRestarts
      if (performance.now() < nextMs || count >= countMax) continue
      if (count % 2 === first) {
        await this.#origin.restart()
        this.#serverRestarts++
      } else {
        await random.pick(this.#running.caches).restart()
        this.#cacheRestarts++
      }
      nextMs = performance.now() + intervalMs * (0.5 + random.float())
    }
  }

  #figures(originReads: number) {
    const { topology, lifetimeMs } = this.#options
    return {
      topology: topology.name,
      lifetimeMs,
      checkedReads: this.#checker.reads,
      violations: this.#checker.violationCount,
      violationsBy: Object.fromEntries(this.#checker.violations) as LoadResult['violationsBy'],
      traces: this.#checker.traces,
      hitShare: 1 - originReads / sumOf(this.#sessions, ({ requests }) => requests),
      writes: this.#history.writes,
      purges: this.#purger.purges,
      ...figuresOf(this.#sessions),
      cacheRestarts: this.#cacheRestarts,
      serverRestarts: this.#serverRestarts,
    }
  }
}
