/** Results over shards through a real Varnish in the shipped configuration: mostly from the cache, and never outdated. */
import { connect, type Database } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { endMariadb, startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { endCaches, type RunningCache } from '@freshet/lab/dist/caches/cache-process.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { createFreshetServer, type FreshetServer } from '@freshet/server'
import { joinShards } from '@freshet/shards'
import { createSql, type SqlSession } from '@freshet/shards/client'
import { readShards } from '@freshet/shards/configuration'
import { openGlobalLog, openShard } from '@freshet/shards/engines'
import { type Connection, createConnection } from 'mariadb'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const SHARDS = ['one', 'two', 'three']
const ACCOUNTS_PER_SHARD = 20
const SESSIONS = 4
const WRITES = 12
const READS_PER_WRITE = 30

interface Numbers {
  readonly low: number
  readonly high: number
  readonly n: number
}

describe.skipIf(reasonToSkip('varnish') !== undefined)('through Varnish', () => {
  const store = createMemoryStore()
  const dbs: Database[] = []
  let connection: Connection
  let server: FreshetServer
  let cache: RunningCache
  let close: () => Promise<unknown>
  /** Answers to queries, and how many of them Varnish gave by itself. */
  const counts = { answers: 0, hits: 0 }

  beforeAll(async () => {
    const engine = await startMariadb()
    connection = await createConnection({ host: '127.0.0.1', port: engine.port, user: 'root' })
    const shards = SHARDS.map((name, i) => {
      return { name, url: engine.url.replace(/freshet$/, name), from: i * ACCOUNTS_PER_SHARD }
    })
    for (const [i, name] of SHARDS.entries()) await fill(connection, name, i)
    const { map } = readShards({ shards, sharded: { accounts: 'id' }, global: ['rates'], localWrites: false })
    const opened = { shards: shards.map(openShard), log: openGlobalLog({ url: engine.url }) }
    for (const each of [...opened.shards, opened.log]) await each.init()
    close = () => Promise.all([...opened.shards, opened.log].map(each => each.close()))
    server = createFreshetServer({
      store,
      capabilities: [joinShards({ map: map!, ...opened, hasLocalWrites: false })],
    })
    const { url } = await server.listen({ port: 0 })
    cache = await startVarnish({ origin: url })
  })

  afterAll(async () => {
    for (const db of dbs) db.close()
    await endCaches()
    await server?.close({ graceMs: 0 })
    await close?.()
    await connection?.end()
    await store.close()
    await endMariadb()
  })

  async function session(staleness: number): Promise<SqlSession> {
    const counting: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (/\/sql\?/.test(String(input))) {
        counts.answers++
        // On a hit, Varnish names the request that fetched the copy beside the request that it answers.
        if (/^\d+ \d+$/.test(response.headers.get('x-varnish') ?? '')) counts.hits++
      }
      return response
    }
    const db = await connect(cache.url, { staleness, fetch: counting, memoryBytesMax: 0 })
    dbs.push(db)
    return createSql(db)
  }

  const ask = async ({ sql }: SqlSession, from: number) => {
    const { rows } = await sql<Numbers>`select min(amount) as low, max(amount) as high, count(*) as n from accounts
      where id >= ${from}`
    return rows[0]!
  }

  test('no result misses a write acknowledged before its request, and most come from the cache', async () => {
    const writer = await session(0)
    let acknowledged = 0
    let isOver = false
    const reading = Array.from({ length: SESSIONS }, async (_, i) => {
      const own = await session(0)
      let seen = 0
      for (let read = 0; !isOver; read++) {
        const atLeast = acknowledged
        const from = ((i + read) % 2) * 5
        const { low, high, n } = await ask(own, from)
        expect([low, n]).toEqual([high, SHARDS.length * ACCOUNTS_PER_SHARD - from])
        expect(low).toBeGreaterThanOrEqual(Math.max(atLeast, seen))
        seen = low
      }
    })
    const writing = (async () => {
      for (let i = 1; i <= WRITES; i++) {
        const wanted = counts.answers + READS_PER_WRITE
        await expect.poll(() => counts.answers, { timeout: 30_000, interval: 5 }).toBeGreaterThan(wanted)
        await writer.global`update accounts set amount = amount + ${1}`
        acknowledged = i
      }
    })().finally(() => {
      isOver = true
    })
    await Promise.all([writing, ...reading])
    const share = counts.hits / counts.answers
    console.log(`${counts.answers} answers during ${WRITES} global writes, ${Math.round(100 * share)}% by Varnish`)
    expect(share).toBeGreaterThan(0.5)
  })

  test('a write to another table keeps copies valid, and a write to the same table does not', async () => {
    const own = await session(0)
    await ask(own, 1)
    await ask(own, 1)
    const hitsOf = async (work: () => Promise<unknown>) => {
      const before = counts.hits
      await work()
      return counts.hits - before
    }
    expect(await hitsOf(() => ask(own, 1))).toBe(1)
    await own.global`update rates set rate = rate + 1`
    expect(await hitsOf(() => ask(own, 1))).toBe(1)
    await own.global`update accounts set amount = amount + 1`
    expect(await hitsOf(() => ask(own, 1))).toBe(0)
    expect(await hitsOf(() => ask(own, 1))).toBe(1)
  })

  test('a session that allows old results reads them, but never from before its own writes', async () => {
    const own = await session(60_000)
    const writer = await session(0)
    await ask(own, 2)
    const { low } = await ask(own, 2)
    await writer.global`update accounts set amount = amount + 1`
    expect((await ask(own, 2)).low).toBe(low)
    await own.global`update accounts set amount = amount + 1`
    expect((await ask(own, 2)).low).toBe(low + 2)
  })
})

async function fill(connection: Connection, name: string, shard: number): Promise<void> {
  await connection.query(`CREATE DATABASE ${name}`)
  await connection.query(`CREATE TABLE ${name}.accounts (id INT PRIMARY KEY, amount INT NOT NULL)`)
  await connection.query(`CREATE TABLE ${name}.rates (kind INT PRIMARY KEY, rate INT NOT NULL)`)
  await connection.query(`INSERT INTO ${name}.rates VALUES (1, 0)`)
  const ids = Array.from({ length: ACCOUNTS_PER_SHARD }, (_, i) => `(${shard * ACCOUNTS_PER_SHARD + i}, 0)`)
  await connection.query(`INSERT INTO ${name}.accounts VALUES ${ids.join(', ')}`)
}
