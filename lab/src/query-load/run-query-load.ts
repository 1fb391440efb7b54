/**
 * Many sessions query through caches and from their own memory, while writers insert, update and delete, an index is dropped and
 * declared again, answers come late, and the server and the caches are killed. Every result is checked. Beside them, plain
 * readers query without sessions, and are judged by the same staleness.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type Database, type Fetch, FreshetError } from '@freshet/client'
import { figuresOf, type SessionFigures } from '../coherence-load/handed-session.js'
import { STALENESS_MS } from '../coherence-load/read-modes.js'
import { READ_MS_MAX, runTogether } from '../coherence-load/run-together.js'
import type { Random } from '../harness/random.js'
import { sumOf } from '../harness/sum-of.js'
import { ASKED_QUERIES, BUCKET, INDEXES, MARKERS, PRODUCT_IDS } from './asked-queries.js'
import { queryPlainly } from './plain-queries.js'
import { ProductWriter } from './product-writer.js'
import { QuerySession } from './query-session.js'
import { ResultChecker } from './result-checker.js'

export interface QueryLoad {
  /** `url`: for readers, through the caches; `originUrl`: the server itself. */
  readonly url: string
  readonly fetch: Fetch
  readonly originUrl: string
  readonly random: Random
  /** The run goes on until this many results have been checked. */
  readonly reads: number
  readonly sessions: number
  /** Or until this many of them were stale. */
  readonly staleMax?: number
  /** After how many reads the next process is killed; no kills if undefined. */
  readonly faults?: { readonly readsBetween: number; readonly restart: () => Promise<void> }
  readonly onProgress?: (reads: number) => void
}

export interface QueryLoadResult extends SessionFigures {
  readonly reads: number
  readonly stale: number
  /** The first stale results, with what was read when. */
  readonly traces: readonly string[]
  readonly naiveReads: number
  readonly naiveStale: number
  readonly fromMemory: number
  readonly writes: number
  readonly declarations: number
  readonly restarts: number
  readonly seconds: number
}

/** A writer waits for this many results between writes, so that a slow machine has the same load. */
const WRITERS = { count: 2, readsPerWrite: 200, pauseMs: 10 }
const PLAIN_READERS = { count: 2, pauseMs: 15 }
/** How often an index is dropped or declared: from then on all results may depend on other tags. */
const DECLARATIONS = { readsBetween: 3000, pauseMs: 50 }
const CONNECT = { retriesMax: 12, timeoutMs: 60_000 }
const MEMORY_BYTES = 16 * 1024 * 1024
const REFRESHES = ['on-demand', 'poll', 'on-demand', 'poll', 'push', 'poll'] as const
/** Writers do not wait before this many reads: the bucket was filled without any reads. */
const BEGUN_READS = (PRODUCT_IDS.length + 1) * WRITERS.readsPerWrite

export async function runQueryLoad(load: QueryLoad): Promise<QueryLoadResult> {
  const direct = await connect(load.originUrl, { ...CONNECT, memoryBytesMax: 0 })
  try {
    return await new Load(load, direct).run()
  } finally {
    direct.close()
  }
}

class Load {
  readonly #load: QueryLoad
  readonly #direct: Database
  readonly #checker = new ResultChecker(ASKED_QUERIES)
  /** For the same writes, but other reads. */
  readonly #plain: ResultChecker = this.#checker.beside()
  readonly #sessions: readonly QuerySession[]
  #declarations = 0
  #restarts = 0

  constructor(load: QueryLoad, direct: Database) {
    this.#load = load
    this.#direct = direct
    this.#sessions = Array.from({ length: load.sessions }, (_, i) => this.#createSession(i))
  }

  async run(): Promise<QueryLoadResult> {
    await this.#fill()
    const beganMs = performance.now()
    await this.#runAll()
    this.#checker.judge()
    this.#plain.judge()
    return {
      reads: this.#checker.reads,
      stale: this.#checker.stale,
      traces: this.#checker.traces,
      naiveReads: this.#plain.reads,
      naiveStale: this.#plain.stale,
      fromMemory: sumOf(this.#sessions, ({ fromMemory }) => fromMemory),
      writes: this.#checker.writes.count,
      declarations: this.#declarations,
      ...figuresOf(this.#sessions),
      restarts: this.#restarts,
      seconds: (performance.now() - beganMs) / 1000,
    }
  }

  async #fill(): Promise<void> {
    await this.#direct.bucket(MARKERS).configure({})
    await this.#direct.bucket(BUCKET).configure({ indexes: INDEXES })
    const writer = this.#writer('fill')
    for (const id of PRODUCT_IDS) await writer.write(this.#direct, id)
  }

  async #runAll(): Promise<void> {
    const { reads, staleMax = Number.POSITIVE_INFINITY, faults, onProgress } = this.#load
    const isDone = () => {
      onProgress?.(this.#checker.reads)
      return this.#checker.reads >= reads || this.#checker.stale >= staleMax
    }
    await runTogether({ isDone, msMax: reads * READ_MS_MAX }, isOver => [
      ...this.#sessions.map(session => session.run(isOver)),
      ...Array.from({ length: WRITERS.count }, (_, i) => this.#write(`writer-${i}`, isOver)),
      ...Array.from({ length: PLAIN_READERS.count }, (_, i) => queryPlainly(this.#plainReader(i), isOver)),
      this.#declare(isOver),
      ...(faults === undefined ? [] : [this.#causeFaults(faults, isOver)]),
    ])
  }

  #createSession(i: number): QuerySession {
    const { url, fetch, random } = this.#load
    return new QuerySession({
      ...{ url, fetch, checker: this.#checker, random: random.fork(`reader ${i}`) },
      refresh: REFRESHES[i % REFRESHES.length]!,
      // A quarter of them have no memory: they always query through the caches.
      memoryBytesMax: i % 4 === 0 ? 0 : MEMORY_BYTES,
      writer: this.#writer(`session-${i}`),
    })
  }

  #writer(name: string): ProductWriter {
    const { random } = this.#load
    return new ProductWriter({ name, direct: this.#direct, writes: this.#checker.writes, random: random.fork(name) })
  }

  #plainReader(i: number) {
    const { url, fetch, random } = this.#load
    const options = { url, fetch, stalenessMs: STALENESS_MS, pauseMs: PLAIN_READERS.pauseMs, checker: this.#plain }
    return { ...options, random: random.fork(`plain ${i}`) }
  }

  async #write(name: string, isOver: () => boolean): Promise<void> {
    const writer = this.#writer(name)
    const random = this.#load.random.fork(`${name} pauses`)
    while (!isOver()) {
      if (this.#checker.reads >= this.#checker.writes.count * WRITERS.readsPerWrite - BEGUN_READS)
        await writer.write(this.#direct)
      await delay(random.float() * 2 * WRITERS.pauseMs)
    }
  }

  /** Drops an index and declares it again, which changes what results depend on. */
  async #declare(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await delay(DECLARATIONS.pauseMs)
      if (this.#checker.reads < (this.#declarations + 1) * DECLARATIONS.readsBetween) continue
      try {
        await this.#direct.bucket(BUCKET).configure({ indexes: INDEXES.slice(0, 1 + (this.#declarations % 2)) })
        this.#declarations++
      } catch (error) {
        if (!(error instanceof FreshetError)) throw error
      }
    }
  }

  async #causeFaults(
    { readsBetween, restart }: NonNullable<QueryLoad['faults']>,
    isOver: () => boolean,
  ): Promise<void> {
    const random = this.#load.random.fork('faults')
    for (let next = readsBetween; !isOver(); await delay(20)) {
      if (this.#checker.reads < next) continue
      await restart()
      this.#restarts++
      next = this.#checker.reads + readsBetween * (0.5 + random.float())
    }
  }
}
