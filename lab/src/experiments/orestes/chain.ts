/**
 * The chain of section 4.7: each of 25 clients watches the wall of the client before it, and posts on its own wall what is
 * new there. The first client posts something every minute. Each client looks half an interval later than the one before it,
 * so a post that is seen at the first opportunity takes 2.5 s per hop.
 *
 * A hop is counted from acknowledgement to acknowledgement: with push, a client may know of a post before its writer does.
 *
 * All times are the thesis's, and pass `speed` times as fast as real ones. The real duration of a request is therefore
 * multiplied as well: 4 ms here stand for 20 ms at speed 5, about the distance from Hamburg to Ireland.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Fetch, FreshetError, type Transaction, type Version, versionOf } from '@freshet/client'
import { RecordedHistory } from '../../coherence-load/recorded-history.js'
import { BUCKET, type ChainClient, type Strategy, startChainSite, type Wall } from './chain-strategies.js'
import { sumOf } from './figures.js'

export const CLIENTS = 25
/** In the thesis's seconds. */
const TIMES_S = {
  postInterval: 60,
  lookOffset: 2.5,
  lifetime: 120,
  /** By then all clients have looked, and the cache has a copy of every wall. */
  firstPost: 10,
  /** A post that has not reached the end by then is lost. */
  patience: 300,
  /** The server's own 20 ms. */
  eventInterval: 0.02,
  /** Often enough for a client with an allowed staleness of a second. */
  heartbeat: 0.25,
}

export interface ChainOptions {
  readonly strategy: Strategy
  readonly posts: number
  readonly speed: number
  readonly onHop: () => void
}

export interface ChainResult {
  readonly strategy: Strategy
  /** In the thesis's seconds. */
  readonly hopsS: readonly number[]
  readonly totalsS: readonly number[]
  readonly transactions: number
  readonly rollbacks: number
  /** First reads of a transaction that miss a write acknowledged before it began (or, if staleness is allowed, earlier). */
  readonly staleReads: number
  readonly requestsPerMinute: number
  /** The mean duration of a request, in the thesis's milliseconds. */
  readonly requestMs: number
  /** Posts that have not reached the end of the chain. */
  readonly lost: number
}

export async function runChain(options: ChainOptions): Promise<ChainResult> {
  const { strategy, speed } = options
  const scaled = (seconds: number) => Math.max(1, Math.round((seconds * 1000) / speed))
  const site = await startChainSite(strategy, {
    lifetimeMs: scaled(TIMES_S.lifetime),
    heartbeatMs: scaled(TIMES_S.heartbeat),
    eventIntervalMs: scaled(TIMES_S.eventInterval),
  })
  try {
    return await new Chain(options, site.url, scaled(strategy.stalenessS)).run()
  } finally {
    await site.stop()
  }
}

class Chain {
  readonly #options: ChainOptions
  readonly #url: string
  readonly #stalenessMs: number
  readonly #history = new RecordedHistory()
  /** For each client: when the server acknowledged each of its posts. */
  readonly #published: readonly Map<number, number>[] = Array.from({ length: CLIENTS }, () => new Map())
  readonly #requestMs: number[] = []
  readonly #found = { transactions: 0, rollbacks: 0, staleReads: 0 }
  #writes = 0
  #beganMs = 0

  constructor(options: ChainOptions, url: string, stalenessMs: number) {
    this.#options = options
    this.#url = url
    this.#stalenessMs = stalenessMs
  }

  async run(): Promise<ChainResult> {
    const { strategy, posts, speed } = this.#options
    const connecting = Array.from({ length: CLIENTS }, () => {
      return strategy.connect(this.#url, this.#timedFetch, this.#stalenessMs)
    })
    const clients = await Promise.all(connecting)
    for (const [i, client] of clients.entries()) await this.#publish(await client.db.begin(), i, [])
    this.#requestMs.length = 0
    this.#beganMs = performance.now()
    await Promise.all(clients.map((client, i) => (i === 0 ? this.#post(client) : this.#watch(client, i))))
    const minutes = ((performance.now() - this.#beganMs) * speed) / 60_000
    for (const { db } of clients) db.close()
    const numbers = Array.from({ length: posts }, (_, i) => i)
    return {
      strategy,
      ...this.#found,
      hopsS: numbers.flatMap(post => this.#hopsS(post)),
      totalsS: numbers.flatMap(post => this.#betweenS(post, 0, CLIENTS - 1)),
      requestsPerMinute: this.#requestMs.length / minutes / CLIENTS,
      requestMs: (sumOf(this.#requestMs) / this.#requestMs.length) * speed,
      lost: posts - this.#published.at(-1)!.size,
    }
  }

  async #post(client: ChainClient): Promise<void> {
    const posts: number[] = []
    for (let post = 0; post < this.#options.posts; post++) {
      await this.#until(TIMES_S.firstPost + post * TIMES_S.postInterval)
      posts.push(post)
      await this.#publish(await client.db.begin(), 0, posts)
    }
  }

  async #watch(client: ChainClient, i: number): Promise<void> {
    let known: readonly number[] = []
    const firstS = (i * TIMES_S.lookOffset) % this.#options.strategy.pollIntervalS
    for (let lookS = firstS; !this.#isOver(); lookS = this.#nextLookS(lookS)) {
      await this.#until(lookS)
      known = await this.#transact(client, i, known)
    }
  }

  /** A client that is late skips the looks that it has missed. */
  #nextLookS(lookS: number): number {
    const { pollIntervalS } = this.#options.strategy
    const missed = Math.max(0, Math.floor((this.#nowS() - lookS) / pollIntervalS))
    return lookS + (missed + 1) * pollIntervalS
  }

  /** Returns what this client has posted by then. */
  async #transact(client: ChainClient, i: number, known: readonly number[]): Promise<readonly number[]> {
    const beganMs = performance.now()
    for (let attempt = 0; ; attempt++) {
      this.#found.transactions++
      await client.begin()
      const tx = await client.db.begin({ read: client.read })
      const seen = await tx.bucket<Wall>(BUCKET).get(idOf(i - 1))
      const version = seen === undefined ? 0 : versionOf(seen)
      if (attempt === 0 && version < this.#dueAt(idOf(i - 1), beganMs)) this.#found.staleReads++
      const posts = [...known, ...(seen?.posts ?? []).filter(post => !known.includes(post))]
      const isNew = posts.length > known.length
      if (!isNew && !this.#options.strategy.validatesAll) return known
      if (await this.#commit(tx, i, isNew ? posts : undefined)) return posts
      this.#found.rollbacks++
    }
  }

  #dueAt(id: string, beganMs: number): Version {
    return this.#history.dueAt(id, this.#options.strategy.stalenessS === 0 ? beganMs : beganMs - this.#stalenessMs)
  }

  /** False if a read no longer holds. Also reads the client's own wall: with a single object, nothing would be validated. */
  async #commit(tx: Transaction, i: number, posts: readonly number[] | undefined): Promise<boolean> {
    await tx.bucket<Wall>(BUCKET).get(idOf(i))
    try {
      if (posts === undefined) await tx.commit()
      else await this.#publish(tx, i, posts)
      return true
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'COMMIT_CONFLICT') return false
      throw error
    }
  }

  async #publish(tx: Transaction, i: number, posts: readonly number[]): Promise<void> {
    const value: Wall = { number: ++this.#writes, posts }
    tx.bucket<Wall>(BUCKET).put(idOf(i), value)
    const { position } = await tx.commit()
    const nowMs = performance.now()
    this.#history.acknowledgePut(idOf(i), position, value.number, nowMs)
    const published = this.#published[i]!
    for (const post of posts) {
      if (published.has(post)) continue
      published.set(post, nowMs)
      this.#options.onHop()
    }
  }

  #hopsS(post: number): number[] {
    return Array.from({ length: CLIENTS - 1 }, (_, i) => this.#betweenS(post, i, i + 1)).flat()
  }

  /** Empty if the post has not got there. */
  #betweenS(post: number, from: number, to: number): number[] {
    const [beganMs, endedMs] = [this.#published[from]!.get(post), this.#published[to]!.get(post)]
    if (beganMs === undefined || endedMs === undefined) return []
    return [((endedMs - beganMs) * this.#options.speed) / 1000]
  }

  #isOver(): boolean {
    const { posts } = this.#options
    return this.#published.at(-1)!.size === posts || this.#nowS() > posts * TIMES_S.postInterval + TIMES_S.patience
  }

  async #until(timeS: number): Promise<void> {
    const waitMs = ((timeS - this.#nowS()) * 1000) / this.#options.speed
    if (waitMs > 0) await delay(waitMs)
  }

  #nowS(): number {
    return ((performance.now() - this.#beganMs) * this.#options.speed) / 1000
  }

  readonly #timedFetch: Fetch = async (url, init) => {
    const beganMs = performance.now()
    const response = await fetch(url, init)
    // A stream of events is not a request that a client waits for.
    if (!url.includes('/coherence/events')) this.#requestMs.push(performance.now() - beganMs)
    return response
  }
}

function idOf(i: number): string {
  return `person${i}`
}
