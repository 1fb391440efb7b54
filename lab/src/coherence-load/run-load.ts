/**
 * Many sessions read through caches, while writers write past them and through them, answers come late, and copies are
 * purged at random; with faults, caches and the server are killed and started again meanwhile. Every read is checked.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type EngineName, startFleetOrigin } from '../caches/fleet-origin.js'
import { type SlowOrigin, startSlowOrigin } from '../caches/slow-origin.js'
import type { RunningTopology, Topology } from '../caches/topology.js'
import type { Random } from '../harness/random.js'
import { CarelessPurger } from './careless-purger.js'
import { fill, writeDirectly } from './direct-writer.js'
import { LoadSession, STALENESS_MS } from './load-session.js'
import { readPlainly } from './plain-reader.js'
import { type Promised, ReadChecker } from './read-checker.js'
import { RecordedHistory } from './recorded-history.js'

export interface LoadOptions {
  readonly topology: Topology
  /** Two servers over it; one over an embedded store if undefined. */
  readonly engine?: EngineName
  readonly random: Random
  /** It goes on until so many reads have been checked. */
  readonly reads: number
  readonly plainReads: number
  readonly lifetimeMs: number
  /** How often the server and a cache, in turn, are killed, and how often at most; never if undefined. */
  readonly faults?: { readonly intervalMs: number; readonly countMax: number }
  readonly onProgress?: (reads: number) => void
}

export interface LoadResult {
  readonly topology: string
  readonly lifetimeMs: number
  readonly checkedReads: number
  readonly violations: number
  readonly violationsBy: Readonly<Partial<Record<Promised, number>>>
  /** The first, for whoever has to find out. */
  readonly traces: readonly string[]
  readonly naiveReads: number
  readonly naiveViolations: number
  /** Of the requests for objects and lists, how many the server did not get to see. */
  readonly hitShare: number
  readonly writes: number
  readonly purges: number
  readonly handedOn: number
  readonly cacheRestarts: number
  readonly serverRestarts: number
  /** Reads and writes that got no answer. */
  readonly failed: number
  readonly seconds: number
}

const READERS = 16
const DIRECT_WRITERS = 2
const WRITE_PAUSE_MS = 40
const PURGE_PAUSE_MS = 10
/** It takes a while until something is stale. */
const PLAIN_MS_MIN = 1500
const LATE = { lateShare: 0.1, lateMs: 300 }
/** Short, so that the window is little longer than the lifetime: changes do leave it during a run. */
const SETTINGS = { responseMsMax: 2000, slackMs: 1500, slotMs: 200, heartbeatMs: 100 }
/** A run that takes longer than this has got stuck. */
const READ_MS_MAX = 50
const REFRESHES = ['on-demand', 'poll', 'push'] as const

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { engine, random, lifetimeMs } = options
  const settings = { settings: { ...SETTINGS, lifetimeMs }, ...LATE }
  const origin =
    engine === undefined
      ? await startSlowOrigin(settings)
      : await startFleetOrigin(engine, settings, random.fork('servers'))
  try {
    const running = await options.topology.start(origin.url)
    try {
      return await new Load(options, origin, running).run()
    } finally {
      await running.stop()
    }
  } finally {
    await origin.stop()
  }
}

class Load {
  readonly #options: LoadOptions
  readonly #origin: SlowOrigin
  readonly #running: RunningTopology
  readonly #history = new RecordedHistory()
  readonly #checker: ReadChecker
  readonly #purger: CarelessPurger
  readonly #sessions: readonly LoadSession[]
  #cacheRestarts = 0
  #serverRestarts = 0

  constructor(options: LoadOptions, origin: SlowOrigin, running: RunningTopology) {
    this.#options = options
    this.#origin = origin
    this.#running = running
    this.#checker = new ReadChecker(this.#history)
    this.#purger = new CarelessPurger(running.caches, options.random.fork('purges'))
    this.#sessions = Array.from({ length: READERS }, (_, i) => this.#createSession(i))
  }

  async run(): Promise<LoadResult> {
    const beganMs = performance.now()
    await fill(this.#writer('fill'))
    const readsBefore = this.#origin.dataReads
    await this.#runSessions()
    const originReads = this.#origin.dataReads - readsBefore
    const seconds = (performance.now() - beganMs) / 1000
    const plain = await this.#runPlainly()
    return { ...this.#figures(originReads), ...plain, seconds }
  }

  async #runSessions(): Promise<void> {
    const { reads, faults, onProgress } = this.#options
    const deadlineMs = performance.now() + reads * READ_MS_MAX
    let hasFailed = false
    const isOver = () => {
      onProgress?.(this.#checker.reads)
      return hasFailed || this.#checker.reads >= reads || performance.now() > deadlineMs
    }
    const parts = [
      ...this.#sessions.map(session => session.run(isOver)),
      ...this.#writers(isOver),
      this.#purger.run(PURGE_PAUSE_MS, isOver),
      ...(faults === undefined ? [] : [this.#causeFaults(faults, isOver)]),
    ]
    // Whoever fails first ends the others.
    await Promise.all(
      parts.map(part =>
        part.catch(error => {
          hasFailed = true
          throw error
        }),
      ),
    )
  }

  /** The same writers, and the same caches as they are now. */
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
      ...this.#writers(isOver),
    ])
    return { naiveReads: checker.reads, naiveViolations: checker.violationCount }
  }

  #writers(isOver: () => boolean): Promise<void>[] {
    return Array.from({ length: DIRECT_WRITERS }, (_, i) => writeDirectly(this.#writer(`writer ${i}`), isOver))
  }

  #writer(name: string) {
    const { random } = this.#options
    return { url: this.#origin.url, history: this.#history, random: random.fork(name), pauseMs: WRITE_PAUSE_MS }
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
    const sum = (of: (session: LoadSession) => number) => this.#sessions.reduce((total, each) => total + of(each), 0)
    return {
      topology: topology.name,
      lifetimeMs,
      checkedReads: this.#checker.reads,
      violations: this.#checker.violationCount,
      violationsBy: Object.fromEntries(this.#checker.violations) as LoadResult['violationsBy'],
      traces: this.#checker.traces,
      hitShare: 1 - originReads / sum(session => session.requests),
      writes: this.#history.writes,
      purges: this.#purger.purges,
      handedOn: sum(session => session.handedOn),
      cacheRestarts: this.#cacheRestarts,
      serverRestarts: this.#serverRestarts,
      failed: sum(session => session.failed),
    }
  }
}
