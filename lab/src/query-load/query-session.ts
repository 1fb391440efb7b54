/**
 * One reader of queries with several under way at once, in every mode; it writes now and then through the cache, and hands its
 * session on to a new connection. Every result is checked.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Fetch, type ReadMode, versionOf, within } from '@freshet/client'
import { HandedSession, type Incarnation } from '../coherence-load/handed-session.js'
import type { Random } from '../harness/random.js'
import { ASKED_QUERIES, BUCKET, digestOf, type Product } from './asked-queries.js'
import type { ProductWriter } from './product-writer.js'
import { type ResultChecker, SessionRecord } from './result-checker.js'

export const STALENESS_MS = 300
const WITHIN_MS = 100
const LANES = 3
const STEPS_PER_TURN = 25

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

type Now = Incarnation<SessionRecord>

export class QuerySession {
  fromMemory = 0
  readonly #options: QuerySessionOptions
  readonly #session: HandedSession<SessionRecord>

  constructor(options: QuerySessionOptions) {
    this.#options = options
    const { url, fetch, refresh, memoryBytesMax } = options
    this.#session = new HandedSession({
      url,
      connection: { fetch, refresh, memoryBytesMax, staleness: STALENESS_MS },
      recordAfter: before => new SessionRecord(before),
      unexpected: new Set(['CACHE_UNTRUSTWORTHY', 'QUERY_INVALID', 'QUERY_TOO_BROAD']),
    })
  }

  /** Reads and writes that got no answer, as while a server is down. */
  get failed(): number {
    return this.#session.failed
  }

  get handedOn(): number {
    return this.#session.handedOn
  }

  async run(isOver: () => boolean): Promise<void> {
    await this.#session.begin()
    await Promise.all(Array.from({ length: LANES }, () => this.#lane(isOver)))
    this.#session.close()
  }

  async #lane(isOver: () => boolean): Promise<void> {
    const { random } = this.#options
    const session = this.#session
    for (let step = 1; !isOver(); step++) {
      const chance = random.float()
      if (chance < 0.0005) await session.handOn()
      else if (chance < 0.0025) await session.attempt(now => this.#write(now))
      else await session.attempt(now => this.#read(now))
      // What comes from memory comes at once: others must have their turn too.
      if (step % STEPS_PER_TURN === 0) await nextTurn()
    }
  }

  async #write({ db, record }: Now): Promise<void> {
    record.wrote = Math.max(record.wrote, (await this.#options.writer.write(db)) ?? 0)
  }

  async #read({ db, record }: Now): Promise<void> {
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
