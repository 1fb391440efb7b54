/**
 * One reader with several queries under way at once, in every mode. It writes now and then through the cache, and hands its
 * session to a new connection. Every result is checked.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Fetch, versionOf } from '@freshet/client'
import { HandedSession, type Incarnation } from '../coherence-load/handed-session.js'
import { readModes, STALENESS_MS } from '../coherence-load/read-modes.js'
import type { Random } from '../harness/random.js'
import { ASKED_QUERIES, BUCKET, digestOf, type Product } from './asked-queries.js'
import type { ProductWriter } from './product-writer.js'
import { type ResultChecker, SessionRecord } from './result-checker.js'

const STEPS_PER_TURN = 25
const MODES = readModes(30)

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

export class QuerySession extends HandedSession<SessionRecord> {
  fromMemory = 0
  readonly #options: QuerySessionOptions

  constructor(options: QuerySessionOptions) {
    const { url, fetch, refresh, memoryBytesMax } = options
    super({
      url,
      connection: { fetch, refresh, memoryBytesMax, staleness: STALENESS_MS },
      recordAfter: before => new SessionRecord(before),
      unexpected: new Set(['CACHE_UNTRUSTWORTHY', 'QUERY_INVALID', 'QUERY_TOO_BROAD']),
    })
    this.#options = options
  }

  protected override async lane(isOver: () => boolean): Promise<void> {
    const { random } = this.#options
    for (let step = 1; !isOver(); step++) {
      const chance = random.float()
      if (chance < 0.0005) await this.handOn()
      else if (chance < 0.0025) await this.attempt(now => this.#write(now))
      else await this.attempt(now => this.#read(now))
      // Results from memory come at once: let other code have its turn too.
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
