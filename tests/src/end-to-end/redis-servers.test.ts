/** Two servers over one Redis, and clients of each. */
import { connect, type Database, type ObjectBucket } from '@freshet/client'
import type { Store } from '@freshet/core/store'
import { openRedisStore } from '@freshet/engines/redis'
import { DURABLE, type RunningRedis, startRedis } from '@freshet/engines/under-test/redis'
import { createFreshetServer } from '@freshet/server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

interface Side {
  readonly store: Store
  readonly db: Database
  readonly url: string
  stop(): Promise<void>
}

type Products = ObjectBucket<{ i: number }>

const SESSIONS = 4
const KILLS = 3

const isLeftOut = reasonToSkip('redis') !== undefined

let redis: RunningRedis
let sides: Side[]

beforeEach(async () => {
  redis = await startRedis({ settings: DURABLE })
  sides = [await start(), await start()]
})
afterEach(async () => {
  for (const side of sides) await side.stop()
  await redis.stop()
})

async function start(): Promise<Side> {
  const store = await openRedisStore({ url: redis.url })
  const server = createFreshetServer({ store })
  const { url } = await server.listen({ port: 0 })
  const db = await connect(url, { staleness: 0, timeoutMs: 60_000, retriesMax: 50 })
  return {
    store,
    db,
    url,
    async stop() {
      db.close()
      await server.close({ graceMs: 100 })
      await store.close()
    },
  }
}

test.skipIf(isLeftOut)('the other server reads what one server wrote, at once', async () => {
  const [near, far] = sides.map(({ db }) => db.bucket<{ i: number }>('shop/products')) as [Products, Products]
  for (let i = 0; i < 100; i++) {
    const [writer, reader] = i % 2 === 0 ? [near, far] : [far, near]
    await writer.put('1', { i })
    expect((await reader.get('1'))?.i).toBe(i)
  }
})

test.skipIf(isLeftOut)('while Redis is killed again and again, every addition counts once and none fails', async () => {
  await sides[0]!.db.counter('shop/counts').configure({})
  let isOver = false
  let added = 0
  const add = async ({ db }: Side) => {
    while (!isOver) {
      await db.counter('shop/counts').add('x', 1)
      added++
    }
  }
  const adding = sides.flatMap(side => Array.from({ length: SESSIONS }, () => add(side)))
  for (let kill = 0; kill < KILLS; kill++) {
    const before = added
    while (added < before + 50) await new Promise(resolve => setImmediate(resolve))
    await redis.kill()
    await redis.restart()
  }
  isOver = true
  await Promise.all(adding)
  const { body } = (await sides[1]!.store.get('shop/counts/x'))!
  expect(Buffer.from(body).toString()).toBe(`${added}`)
})

test.skipIf(isLeftOut)('after Redis was emptied, sessions continue with the current data', async () => {
  const [near, far] = sides.map(({ db }) => db.bucket<{ i: number }>('shop/products')) as [Products, Products]
  await near.put('1', { i: 1 })
  expect((await far.get('1'))?.i).toBe(1)
  const before = sides[0]!.store.log
  await redis.kill()
  await redis.empty()
  await redis.restart()
  await far.put('2', { i: 2 })
  expect((await near.get('2'))?.i).toBe(2)
  expect(await near.get('1')).toBe(undefined)
  expect(sides.map(({ store }) => store.log)).toEqual([sides[1]!.store.log, sides[1]!.store.log])
  expect(sides[0]!.store.log).not.toBe(before)
})
