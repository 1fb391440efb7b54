/**
 * Many sessions ask queries through caches, from their own memory and through them, while writers insert, update and delete,
 * an index comes and goes, answers come late, and the server and the caches are killed. Every result is checked; beside them
 * some ask plainly, and are held to the same staleness.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type Database, type Fetch, FreshetError } from '@freshet/client'
import type { Random } from '../harness/random.js'
import { ASKED_QUERIES, BUCKET, INDEXES, MARKERS, PRODUCT_IDS } from './asked-queries.js'
import { queryPlainly } from './plain-queries.js'
import { ProductWriter } from './product-writer.js'
import { QuerySession, STALENESS_MS } from './query-session.js'
import { ResultChecker } from './result-checker.js'

export interface QueryLoad {
  /** As readers connect, through the caches; and the server itself. */
  readonly url: string
  readonly fetch: Fetch
  readonly originUrl: string
  readonly random: Random
  /** It goes on until so many results have been checked. */
  readonly reads: number
  readonly sessions: number
  /** Or until so many of them were stale. */
  readonly staleMax?: number
  /** After how many reads something is killed, if at all. */
  readonly faults?: { readonly readsBetween: number; readonly restart: () => Promise<void> }
  readonly onProgress?: (reads: number) => void
}

export interface QueryLoadResult {
  readonly reads: number
  readonly stale: number
  /** The first of them, for whoever has to find out. */
  readonly traces: readonly string[]
  readonly naiveReads: number
  readonly naiveStale: number
  readonly fromMemory: number
  readonly writes: number
  readonly declarations: number
  readonly handedOn: number
  readonly restarts: number
  /** Reads that got no answer. */
  readonly failed: number
  readonly seconds: number
}

const WRITERS = 2
/** Whoever writes waits until so many results were read since the write before: the same load on a slow machine. */
const READS_PER_WRITE = 200
const WRITE_PAUSE_MS = 10
const PLAIN_READERS = 2
const PLAIN_PAUSE_MS = 15
/** So often an index is dropped or declared: what all results hang on may be another thing from then on. */
const READS_PER_DECLARATION = 3000
const DECLARE_PAUSE_MS = 50
const CONNECT = { retriesMax: 12, timeoutMs: 60_000 }
const MEMORY_BYTES = 16 * 1024 * 1024
/** A run that takes longer for each read than this has got stuck. */
const READ_MS_MAX = 50
const REFRESHES = ['on-demand', 'poll', 'on-demand', 'poll', 'push', 'poll'] as const
/** Before that many were read, nobody waits: the bucket was filled without any. */
const BEGUN_READS = (PRODUCT_IDS.length + 1) * READS_PER_WRITE

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
  /** The same writes, other reads. */
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
    const sum = (of: (session: QuerySession) => number) => this.#sessions.reduce((total, each) => total + of(each), 0)
    return {
      reads: this.#checker.reads,
      stale: this.#checker.stale,
      traces: this.#checker.traces,
      naiveReads: this.#plain.reads,
      naiveStale: this.#plain.stale,
      fromMemory: sum(session => session.fromMemory),
      writes: this.#checker.writes.count,
      declarations: this.#declarations,
      handedOn: sum(session => session.handedOn),
      restarts: this.#restarts,
      failed: sum(session => session.failed),
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
    const deadlineMs = performance.now() + reads * READ_MS_MAX
    let hasFailed = false
    const isOver = () => {
      onProgress?.(this.#checker.reads)
      const isEnough = this.#checker.reads >= reads || this.#checker.stale >= staleMax
      return hasFailed || isEnough || performance.now() > deadlineMs
    }
    const parts = [
      ...this.#sessions.map(session => session.run(isOver)),
      ...Array.from({ length: WRITERS }, (_, i) => this.#write(`writer-${i}`, isOver)),
      ...Array.from({ length: PLAIN_READERS }, (_, i) => queryPlainly(this.#plainReader(i), isOver)),
      this.#declare(isOver),
      ...(faults === undefined ? [] : [this.#causeFaults(faults, isOver)]),
    ]
    // Whoever fails first ends the others.
    const ended = await Promise.allSettled(
      parts.map(part =>
        part.catch(error => {
          hasFailed = true
          throw error
        }),
      ),
    )
    for (const each of ended) if (each.status === 'rejected') throw each.reason
  }

  #createSession(i: number): QuerySession {
    const { url, fetch, random } = this.#load
    return new QuerySession({
      ...{ url, fetch, checker: this.#checker, random: random.fork(`reader ${i}`) },
      refresh: REFRESHES[i % REFRESHES.length]!,
      // A quarter of them have no memory: they ask the caches each time.
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
    const options = { url, fetch, stalenessMs: STALENESS_MS, pauseMs: PLAIN_PAUSE_MS, checker: this.#plain }
    return { ...options, random: random.fork(`plain ${i}`) }
  }

  async #write(name: string, isOver: () => boolean): Promise<void> {
    const writer = this.#writer(name)
    const random = this.#load.random.fork(`${name} pauses`)
    while (!isOver()) {
      if (this.#checker.reads >= this.#checker.writes.count * READS_PER_WRITE - BEGUN_READS)
        await writer.write(this.#direct)
      await delay(random.float() * 2 * WRITE_PAUSE_MS)
    }
  }

  /** An index is dropped and declared again: what results hang on changes with it. */
  async #declare(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await delay(DECLARE_PAUSE_MS)
      if (this.#checker.reads < (this.#declarations + 1) * READS_PER_DECLARATION) continue
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
