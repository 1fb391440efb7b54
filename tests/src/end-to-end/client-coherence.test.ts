/**
 * Many sessions behind a cache that misbehaves in every possible way, and writers that never rest: no read is older than its mode
 * promises. Everything is recorded, and the checker of histories judges it.
 */
import { connect, type Database, type ReadMode, versionOf, within } from '@freshet/client'
import {
  formatViolation,
  HistoryChecker,
  type HistoryRecord,
  type HistorySummary,
  parseRecord,
  type Violation,
} from '@freshet/core/history'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'
import { type MisbehavingCache, startMisbehavingCache } from './misbehaving-cache.js'

const RUN_MS = 5000
/** Of each reader, also on a machine that is too slow for them in that time. */
const ROUNDS_MIN = 60
const OBJECTS = 12
const READERS = 10
const STALENESS_MS = 300
const WITHIN_MS = 120
const LIFETIME_MS = 1000
const GRACE_MS = 1500
const SETTINGS = { lifetimeMs: LIFETIME_MS, responseMsMax: 2000, slackMs: 2 * GRACE_MS, slotMs: 200, heartbeatMs: 100 }

const MODES: readonly ReadMode[] = ['session', within(WITHIN_MS), 'current', 'any']

/** Numerical Recipes' generator. A failure prints the seed, although the seed need not repeat a race. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

interface Item {
  readonly number: number
}

/** One session that reads, and now and then writes, until the time is up. Every read must return what was written. */
class Reader {
  refused = 0

  constructor(
    readonly db: Database,
    /** The written values by version; shared by all. */
    readonly numbers: Map<number, number>,
    readonly random: () => number,
  ) {}

  async run(untilMs: number): Promise<void> {
    for (let round = 0; round < ROUNDS_MIN || performance.now() < untilMs; round++) {
      const chance = this.random()
      if (chance < 0.05) await this.#write()
      else if (chance < 0.15) await this.#list()
      else await Promise.all(Array.from({ length: 3 }, () => this.#get()))
    }
  }

  #id(): string {
    return `${Math.floor(this.random() * OBJECTS)}`
  }

  async #write(): Promise<void> {
    const id = this.#id()
    const number = this.random()
    const { version } = await this.db.bucket<Item>('shop/items').put(id, { number })
    this.numbers.set(version, number)
    await this.#get(id)
  }

  async #get(id: string = this.#id()): Promise<void> {
    const read = MODES[Math.floor(this.random() * MODES.length)]!
    this.#compare(await this.#trusted(this.db.bucket<Item>('shop/items').get(id, { read })))
  }

  async #list(): Promise<void> {
    const page = await this.#trusted(this.db.bucket<Item>('shop/items').page())
    for (const item of page?.items ?? []) this.#compare(item)
  }

  /** Undefined if the cache has removed too much from the answer for the client to trust it. */
  async #trusted<Result>(read: Promise<Result>): Promise<Result | undefined> {
    try {
      return await read
    } catch (error) {
      if ((error as { code?: string }).code !== 'CACHE_UNTRUSTWORTHY') throw error
      this.refused++
      return undefined
    }
  }

  #compare(item: Item | undefined): void {
    const number = item && this.numbers.get(versionOf(item))
    if (number !== undefined) expect(item!.number).toBe(number)
  }
}

/** There are no other writers, so the recording is complete. */
function check(records: readonly HistoryRecord[]): HistorySummary & { readonly traces: readonly string[] } {
  const traces: string[] = []
  const onViolation = (violation: Violation) => traces.push(formatViolation(violation))
  const checker = new HistoryChecker({ isComplete: true, onViolation })
  for (const record of records) checker.add(record)
  return { ...checker.finish(), traces }
}

describe('behind a cache that misbehaves', () => {
  let server: MemoryServer
  let cache: MisbehavingCache
  const seed = Math.floor(Math.random() * 2 ** 32)
  const random = randomFrom(seed)

  beforeAll(async () => {
    server = await startMemoryServer(SETTINGS)
    cache = await startMisbehavingCache({ origin: server.url, graceMs: GRACE_MS, random })
  })

  afterAll(async () => {
    await cache?.stop()
    await server?.stop()
  })

  async function fill(db: Database, numbers: Map<number, number>): Promise<void> {
    for (let i = 0; i < OBJECTS; i++) {
      const { version } = await db.bucket<Item>('shop/items').put(`${i}`, { number: i })
      numbers.set(version, i)
    }
  }

  test(`no session read is older than promised, nor goes back (seed ${seed})`, async () => {
    const numbers = new Map<number, number>()
    const lines: string[] = []
    const record = (line: string) => void lines.push(line)
    const direct = await connect(server.url, { record })
    await fill(direct, numbers)
    const refreshes = ['on-demand', 'poll', 'push'] as const
    const sessions = await Promise.all(
      Array.from({ length: READERS }, (_, i) =>
        connect(cache.url, {
          record,
          staleness: STALENESS_MS,
          refresh: refreshes[i % refreshes.length]!,
          memoryBytesMax: i % 2 === 0 ? 1_000_000 : 0,
        }),
      ),
    )
    const untilMs = performance.now() + RUN_MS
    const readers = [...sessions, direct].map(db => new Reader(db, numbers, random))
    await Promise.all(readers.map(reader => reader.run(untilMs)))
    for (const db of [...sessions, direct]) db.close()
    console.log(`The cache answered ${cache.hits} requests itself, and forwarded ${cache.misses}.`)
    const records = lines.map(parseRecord)
    const { traces, ...summary } = check(records)
    console.log(summary)
    expect(traces).toEqual([])
    expect(summary.promisedReads).toBeGreaterThan(100)
    // The cache removes the position from a fifth of its answers, but seldom from three in a row.
    const refused = readers.reduce((sum, reader) => sum + reader.refused, 0)
    expect(refused).toBeLessThan(summary.promisedReads / 20)
    expect(cache.hits).toBeGreaterThan(0)
    expect(summary.servedFrom.memory?.reads).toBeGreaterThan(0)
    // The cache does misbehave: if reads of mode 'any' had a promise, it would have been broken.
    const { violations } = check(
      records.map(each => (each.op === 'read' ? { ...each, within: each.within ?? 0 } : each)),
    )
    expect(violations.current).toBeGreaterThan(0)
  })

  test("a connection that gets another's token reads its writes, through the same cache", async () => {
    const one = await connect(cache.url, { staleness: 60_000 })
    const two = await connect(cache.url, { staleness: 60_000 })
    const items = two.bucket<Item>('shop/items')
    await items.put('handed', { number: 1 })
    await items.get('handed', { read: 'any' })
    await one.bucket<Item>('shop/items').put('handed', { number: 2 })
    const three = await connect(cache.url, { staleness: 60_000, token: one.session.token })
    expect(await three.bucket<Item>('shop/items').get('handed')).toEqual({ number: 2 })
    expect(three.session.position).toBeGreaterThanOrEqual(one.session.position)
    for (const db of [one, two, three]) db.close()
  })

  test.each([
    ['leaves out query strings', 0.9],
    ['leaves out query strings and removes positions', 0],
  ])('a cache that %s is detected, also by its /coherence', async (_, chance) => {
    const worse = await startMisbehavingCache({
      origin: server.url,
      graceMs: 60_000,
      random: () => chance,
      leavesOutQueries: true,
    })
    const db = await connect(worse.url, { staleness: 60_000, retriesMax: 1 })
    const items = db.bucket<Item>('shop/items')
    await items.get('1', { read: 'any' })
    await items.put('1', { number: 5 })
    const untrustworthy = { code: 'CACHE_UNTRUSTWORTHY' }
    await expect(items.get('1')).rejects.toMatchObject(untrustworthy)
    // The cache has kept the head that `connect` requested; only its nonce shows that.
    await expect(items.get('2', { read: 'current' })).rejects.toMatchObject(untrustworthy)
    db.close()
    await worse.stop()
  })
})
