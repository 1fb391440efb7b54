import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectTo } from '../redis/client.js'
import { eventually } from '../under-test/eventually.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { openWindowedRedisFilter, type WindowedRedisFilter } from './windowed-redis-filter.js'

const SIZE = { entriesMax: 3000, falsePositiveRateMax: 0.01 }
const HOUR_MS = 3_600_000

let redis: RunningRedis
const filters: WindowedRedisFilter[] = []

beforeAll(async () => {
  redis = await startRedis()
})
afterAll(async () => {
  await Promise.all(filters.map(filter => filter.close()))
  await redis.stop()
})

async function open(name: string, windowMs: number, slices?: number): Promise<WindowedRedisFilter> {
  const filter = await openWindowedRedisFilter({ url: redis.url, name, windowMs, ...SIZE, ...(slices && { slices }) })
  filters.push(filter)
  return filter
}

const keys = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}-${i}`)

test('keys that any client added are known, one by one or in lists', async () => {
  const [one, two] = [await open('known', HOUR_MS), await open('known', HOUR_MS)]
  const added = keys('a', 1000)
  const news = await Promise.all(added.slice(0, 100).map(key => one.add(key)))
  const more = await one.addAll(added.slice(100))
  // A few keys count as known: false positives.
  expect([...news, ...more].filter(isNew => !isNew).length).toBeLessThan(40)
  expect((await two.hasAll(added)).every(Boolean)).toBe(true)
  expect((await two.addAll(added)).some(Boolean)).toBe(false)
  expect((await two.hasAll(keys('others', 3000))).filter(Boolean).length).toBeLessThan(100)
  expect(await one.estimatedRate()).toBeLessThan(0.01)
})

test('a key that occurs twice in a list is reported as new once', async () => {
  const filter = await open('twice', HOUR_MS)
  expect(await filter.addAll(['x', 'y', 'x'])).toEqual([true, true, false])
  expect(await filter.addAll([...keys('many', 800), 'many-3'])).toHaveLength(801)
  expect(await filter.add('many-3')).toBe(false)
})

test('keys are known for the window, then forgotten, while slices take turns', async () => {
  const windowMs = 600
  const ways = [await open('forgets', windowMs, 3), await open('forgets', windowMs, 3)]
  const addedAtMs = new Map<string, number>()
  let forgotten = 0
  for (let i = 0; i < 60 || forgotten === 0; i++) {
    expect(i).toBeLessThan(2000)
    const way = ways[i % 2]!
    const key = `key-${i}`
    await way.add(key)
    addedAtMs.set(key, performance.now())
    for (const [known, atMs] of addedAtMs) {
      const isThere = await ways[(i + 1) % 2]!.has(known)
      // The filter is asked before the time is read, so a key that counts as young here was young when it was asked for.
      if (performance.now() - atMs < windowMs) expect(isThere).toBe(true)
      if (isThere) continue
      addedAtMs.delete(known)
      forgotten++
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  expect(forgotten).toBeGreaterThan(0)
})

test('of several clients that add a key at once at most one learns that it is new, also while slices take turns', async () => {
  const ways = await Promise.all([1, 2, 3].map(() => open('at-once', 30, 4)))
  for (let round = 0; round < 100; round++) {
    const batch = keys(`round ${round}`, 20)
    const answers = await Promise.all(batch.flatMap(key => ways.map(way => way.add(key))))
    const news = batch.map((_, i) => answers.slice(3 * i, 3 * i + 3).filter(Boolean).length)
    expect(Math.max(...news)).toBe(1)
    expect(news.filter(count => count === 0).length).toBeLessThan(8)
  }
})

test('a filter goes on after Redis was emptied, and after Redis was away', async () => {
  const own = await startRedis()
  const filter = await openWindowedRedisFilter({ url: own.url, name: 'away', windowMs: HOUR_MS, ...SIZE })
  await filter.add('a')
  const client = await connectTo(own.url)
  await client.sendCommand(['FLUSHALL'])
  client.destroy()
  expect(await filter.add('a')).toBe(true)
  expect(await filter.has('a')).toBe(true)
  await own.kill()
  await expect(filter.add('b')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await own.restart()
  await eventually('it can be added to', () =>
    filter.add('b').then(
      () => true,
      () => false,
    ),
  )
  await filter.close()
  await own.stop()
})

test('another window under the same name is refused, and so is a window of no length', async () => {
  await open('windows', HOUR_MS)
  const asked = (windowMs: number, slices = 4) =>
    openWindowedRedisFilter({ url: redis.url, name: 'windows', windowMs, slices, ...SIZE })
  await expect(asked(2 * HOUR_MS)).rejects.toMatchObject({ code: 'FILTER_MISMATCH' })
  await expect(asked(HOUR_MS, 5)).rejects.toMatchObject({ code: 'FILTER_MISMATCH' })
  await expect(asked(0)).rejects.toMatchObject({ code: 'FILTER_OPTIONS_INVALID' })
  await expect(asked(HOUR_MS, 1)).rejects.toMatchObject({ code: 'FILTER_OPTIONS_INVALID' })
})
