/**
 * One reader of queries with several under way at once, in every mode; it writes now and then through the cache, and hands its
 * session on to a new connection. Every result is checked.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect, type Database, type Fetch, FreshetError, type ReadMode, versionOf, within } from '@freshet/client'
import type { Random } from '../harness/random.js'
import { ASKED_QUERIES, BUCKET, digestOf, type Product } from './asked-queries.js'
import type { ProductWriter } from './product-writer.js'
import { type ResultChecker, SessionRecord } from './result-checker.js'

export const STALENESS_MS = 300
const WITHIN_MS = 100
const LANES = 3
const STEPS_PER_TURN = 25
/** Long, so that only what hangs fails, and not what has to wait for a busy processor. */
const READ_MS_MAX = 60_000

const MODES: readonly { readonly mode: ReadMode; readonly ageMs: number }[] = [
  ...Array.from({ length: 30 }, () => ({ mode: 'session', ageMs: STALENESS_MS }) as const),
  { mode: within(WITHIN_MS), ageMs: WITHIN_MS },
  { mode: 'current', ageMs: 0 },
]

export interface QuerySessionOptions {
  readonly url: string
  readonly fetch: Fetch
  readonly refresh: 'on-demand' | 'poll' | 'push'
  readonly memoryBytesMax: number
  readonly writer: ProductWriter
  readonly checker: ResultChecker
  readonly random: Random
}

/** A connection, and what was seen and written through it and those before it. */
interface Incarnation {
  readonly db: Database
  readonly record: SessionRecord
  underWay: number
  isOver: boolean
}

export class QuerySession {
  /** Reads and writes that got no answer, as while a server is down. */
  failed = 0
  handedOn = 0
  fromMemory = 0
  readonly #options: QuerySessionOptions
  #now: Incarnation | undefined

  constructor(options: QuerySessionOptions) {
    this.#options = options
  }

  async run(isOver: () => boolean): Promise<void> {
    this.#now = await this.#incarnate()
    await Promise.all(Array.from({ length: LANES }, () => this.#lane(isOver)))
    this.#now.db.close()
  }

  async #lane(isOver: () => boolean): Promise<void> {
    const { random } = this.#options
    for (let step = 1; !isOver(); step++) {
      const chance = random.float()
      if (chance < 0.0005) await this.#handOn()
      else if (chance < 0.0025) await this.#attempt(now => this.#write(now))
      else await this.#attempt(now => this.#read(now))
      // What comes from memory comes at once: others must have their turn too.
      if (step % STEPS_PER_TURN === 0) await nextTurn()
    }
  }

  async #incarnate(before?: Incarnation): Promise<Incarnation> {
    const { url, fetch, refresh, memoryBytesMax } = this.#options
    // Both at once: what is read under the old name after this is not known to the new one.
    const token = before?.db.session.token
    const record = new SessionRecord(before?.record)
    const db = await connect(url, {
      ...{ fetch, refresh, memoryBytesMax, staleness: STALENESS_MS, timeoutMs: READ_MS_MAX, retriesMax: 12 },
      ...(token === undefined ? {} : { token }),
    })
    return { db, record, underWay: 0, isOver: false }
  }

  async #handOn(): Promise<void> {
    const before = this.#now!
    try {
      this.#now = await this.#incarnate(before)
      this.handedOn++
    } catch (error) {
      this.#expect(error)
      return
    }
    before.isOver = true
    if (before.underWay === 0) before.db.close()
  }

  async #attempt(act: (now: Incarnation) => Promise<void>): Promise<void> {
    const now = this.#now!
    now.underWay++
    try {
      await act(now)
    } catch (error) {
      this.#expect(error)
    } finally {
      now.underWay--
      if (now.isOver && now.underWay === 0) now.db.close()
    }
  }

  /** Only what a server that is down explains. */
  #expect(error: unknown): void {
    if (!(error instanceof FreshetError) || UNEXPECTED.has(error.code)) throw error
    this.failed++
  }

  async #write({ db, record }: Incarnation): Promise<void> {
    record.wrote = Math.max(record.wrote, (await this.#options.writer.write(db)) ?? 0)
  }

  async #read({ db, record }: Incarnation): Promise<void> {
    const { random, checker } = this.#options
    const query = random.below(ASKED_QUERIES.length)
    const { mode, ageMs } = random.pick(MODES)
    const read = checker.begin(query, record, `a query (${JSON.stringify(mode)})`, ageMs, performance.now())
    const { items, served } = await db.bucket<Product>(BUCKET).query({ ...ASKED_QUERIES[query]!.options, read: mode })
    const digest = digestOf(items.map(item => ({ id: item.id, version: versionOf(item), number: item.number })))
    if (served.from === 'memory') this.fromMemory++
    checker.end(read, digest, served.version ?? 0, served, performance.now())
  }
}

const UNEXPECTED = new Set(['CACHE_UNTRUSTWORTHY', 'QUERY_INVALID', 'QUERY_TOO_BROAD'])
