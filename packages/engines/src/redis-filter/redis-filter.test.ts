import { createBloom } from '@freshet/bloom'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectTo } from '../redis/client.js'
import { eventually } from '../under-test/eventually.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { openRedisFilter, type RedisFilter } from './redis-filter.js'

const SIZE = { entriesMax: 2000, falsePositiveRateMax: 0.01 }

let redis: RunningRedis
const filters: RedisFilter[] = []

beforeAll(async () => {
  redis = await startRedis()
})
afterAll(async () => {
  await Promise.all(filters.map(filter => filter.close()))
  await redis.stop()
})

async function open(name: string, more: { seed?: bigint } = {}): Promise<RedisFilter> {
  const filter = await openRedisFilter({ url: redis.url, name, ...SIZE, ...more })
  filters.push(filter)
  return filter
}

/** How many times Redis ran a command, by its own count. */
async function callsOf(command: string, during: () => Promise<unknown>): Promise<number> {
  const client = await connectTo(redis.url)
  await client.sendCommand(['CONFIG', 'RESETSTAT'])
  await during()
  const stats = String(await client.sendCommand(['INFO', 'commandstats']))
  client.destroy()
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
}

const keys = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)

test('a filter in Redis answers like a filter in memory, and has the same bits', async () => {
  const filter = await open('same', { seed: 0x1234_5678_9abc_def0n })
  const model = createBloom({ ...SIZE, seed: 0x1234_5678_9abc_def0n })
  for (const key of keys('one by one', 500)) {
    expect(await filter.add(key)).toBe(!model.has(key))
    model.add(key)
  }
  const many = keys('many', 1500)
  const expected = many.map(key => {
    const isNew = !model.has(key)
    model.add(key)
    return isNew
  })
  expect(await filter.addAll(many)).toEqual(expected)
  const asked = [...many, ...keys('others', 3000)]
  expect(await filter.hasAll(asked)).toEqual(asked.map(key => model.has(key)))
  expect(await filter.has('many-7')).toBe(true)
  const snapshot = await filter.snapshot()
  expect(snapshot.words).toEqual(model.words)
  expect(snapshot.union(model).words).toEqual(model.words)
  expect(Math.abs(snapshot.count - 2000)).toBeLessThan(100)
  await filter.clear()
  expect(await filter.hasAll(many)).toEqual(many.map(() => false))
})

test('of several clients that add a key to a shared filter at once, at most one learns that it is new', async () => {
  const ways = [await open('shared'), await open('shared'), await open('shared')]
  expect(new Set(ways.map(({ seed }) => seed)).size).toBe(1)
  const added = keys('key', 1000)
  const answers = await Promise.all(added.flatMap(key => ways.map(way => way.add(key))))
  const news = added.map((_, i) => answers.slice(3 * i, 3 * i + 3).filter(Boolean).length)
  expect(Math.max(...news)).toBe(1)
  // The other keys counted as known to all: false positives.
  expect(news.filter(count => count === 0).length).toBeLessThan(20)
  expect((await ways[0]!.hasAll(added)).every(Boolean)).toBe(true)
})

test('a list is one command, and so are all requests of one turn', async () => {
  const filter = await open('commands')
  expect(await callsOf('bitfield', () => filter.addAll(keys('short', 3)))).toBe(1)
  expect(await callsOf('bitop', () => Promise.all(keys('turn', 64).map(key => filter.add(key))))).toBe(1)
  expect(await callsOf('bitop', () => filter.addAll(keys('list', 300)))).toBe(1)
  expect(await callsOf('get', () => filter.hasAll(keys('list', 300)))).toBe(1)
  expect(await callsOf('bitfield', () => filter.add('alone'))).toBe(1)
})

test('another size under the same name is refused, and so is a size of nothing', async () => {
  await open('sizes')
  const other = openRedisFilter({ url: redis.url, name: 'sizes', entriesMax: 5000, falsePositiveRateMax: 0.01 })
  await expect(other).rejects.toMatchObject({ code: 'FILTER_MISMATCH' })
  const none = openRedisFilter({ url: redis.url, name: 'none', entriesMax: 0, falsePositiveRateMax: 0.01 })
  await expect(none).rejects.toMatchObject({ code: 'FILTER_OPTIONS_INVALID' })
})

test('calls fail while Redis is away, and succeed again when it is back', async () => {
  const own = await startRedis()
  const filter = await openRedisFilter({ url: own.url, name: 'away', ...SIZE })
  await own.kill()
  await expect(filter.add('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await own.restart()
  await eventually('it can be added to', () =>
    filter.add('a').then(
      () => true,
      () => false,
    ),
  )
  expect(await filter.has('a')).toBe(true)
  await filter.close()
  await own.stop()
})
