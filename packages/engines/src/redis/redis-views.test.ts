/** How many requests views send to Redis, and that all reads of a view are of one state. */
import type { PutWrite, Store } from '@freshet/core/store'
import type { Subject } from '@freshet/store/engine'
import { keyRange, queryPage } from '@freshet/store/reads'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../under-test/eventually.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { type Client, connectTo } from './client.js'
import { KnownIndexes } from './declared-indexes.js'
import { layoutOf } from './layout.js'
import { openRedisStore } from './open-redis-store.js'
import type { RedisReader } from './read-state.js'
import { RedisViews } from './redis-views.js'

const BUCKET = 'shop/products'
const COUNT = 600
const ALL = keyRange({ key: `${BUCKET}/`, isIncluded: true }, { key: `${BUCKET}0`, isIncluded: false }, 500)

let redis: RunningRedis
let client: Client
let store: Store
let views: RedisViews
let asked = 0
let stores = 0

beforeAll(async () => {
  redis = await startRedis()
  client = await connectTo(redis.url)
})
beforeEach(async () => {
  const name = `views-${stores++}`
  store = await openRedisStore({ url: redis.url, name, onWarning: () => {} })
  const indexes = [{ name: 'by-group', fields: ['group'] }]
  await store.commit({ writes: [{ ...object(0, 0), key: BUCKET, indexes }] })
  await store.commit({ writes: Array.from({ length: COUNT }, (_, i) => object(i, i % 2)) })
  await eventually('the index is ready', async () => (await store.indexes(BUCKET)).every(({ isReady }) => isReady))
  views = new RedisViews({ reader: countingReader(name), known: new KnownIndexes(), learns: true })
  return () => store.close()
})
afterAll(async () => {
  client.destroy()
  await redis.stop()
})

function countingReader(name: string): RedisReader {
  const layout = layoutOf(name)
  return {
    place: redis.url,
    layout,
    command(args) {
      asked++
      return client.sendCommand(args)
    },
    run(script, args) {
      asked++
      return script.run(client, layout.head, args)
    },
    reached: () => {},
    gone: () => new Error('It is gone.'),
  }
}

function object(id: number, group: number): PutWrite {
  const body = Buffer.from(JSON.stringify({ group }))
  return { key: `${BUCKET}/${id}`, contentType: 'application/json', body }
}

async function timesAsked(work: () => Promise<unknown>): Promise<number> {
  const before = asked
  await work()
  return asked - before
}

test('a page, keys, indexes and a query whose index is known each ask Redis once', async () => {
  const page: Subject = { bucket: BUCKET, expected: 500, isOneRead: true }
  expect(await timesAsked(() => views.inOneState(page, async view => view.page(BUCKET, ALL)))).toBe(1)
  const keys = [`${BUCKET}/1`, BUCKET, 'not/there/1']
  expect(await timesAsked(() => views.inOneState({ keys, isOneRead: true }, async view => view.values(keys)))).toBe(1)
  const indexes: Subject = { bucket: BUCKET, expected: 0, isOneRead: true }
  expect(await timesAsked(() => views.inOneState(indexes, async view => view.indexes(BUCKET)))).toBe(1)
  const query = { where: { group: 1 }, limit: 400 }
  const subject: Subject = { bucket: BUCKET, query, expected: 10_001, isOneRead: false }
  const read = () =>
    views.inOneState(subject, async view => {
      // Reads from replicas ask for the indexes as well.
      const [found, again] = await Promise.all([queryPage(view, BUCKET, query, 10_000), view.indexes(BUCKET)])
      expect(found.entries.length).toBe(COUNT / 2)
      expect(found.plan.index).toBe('by-group')
      expect(again.value.version).toBe(found.position)
    })
  expect(await timesAsked(read)).toBe(1)
})

test('several pages that are read ahead ask Redis once, and follow each other in both directions', async () => {
  for (const isDescending of [false, true]) {
    const subject: Subject = { bucket: BUCKET, expected: COUNT + 1, isOneRead: false }
    const ids: string[] = []
    const read = () =>
      views.inOneState(subject, async view => {
        let range = { ...ALL, isDescending, limit: 250 }
        for (;;) {
          const { values } = await view.page(BUCKET, range)
          ids.push(...values.map(({ key }) => key))
          if (values.length < range.limit) return
          const bound = { key: values.at(-1)!.key, isIncluded: false }
          range = isDescending ? { ...range, high: bound } : { ...range, low: bound }
        }
      })
    expect(await timesAsked(read)).toBe(1)
    const expected = Array.from({ length: COUNT }, (_, i) => `${BUCKET}/${i}`).sort()
    expect(ids).toEqual(isDescending ? expected.reverse() : expected)
  }
})

test('a view whose state has moved begins again, so that all it reads is of one state', async () => {
  const key = `${BUCKET}/1`
  let attempts = 0
  const [page, values] = await views.inOneState({ bucket: BUCKET, expected: 10, isOneRead: false }, async view => {
    const first = await view.page(BUCKET, ALL)
    if (attempts++ === 0) await store.commit({ writes: [object(1, 5)] })
    return [first, await view.values([key])] as const
  })
  expect(attempts).toBe(2)
  expect(values.position).toBe(page.position)
  expect(page.values.find(value => value.key === key)?.version).toBe(values.value.get(key)?.version)
  expect(values.value.get(key)?.version).toBe(await store.position())
})
