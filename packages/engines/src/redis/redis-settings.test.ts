/** What a store reports about the settings of Redis, and which settings it refuses. */
import { afterEach, expect, test } from 'vitest'
import { eventually } from '../under-test/eventually.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { connectTo } from './client.js'
import { openRedisStore } from './open-redis-store.js'

let redis: RunningRedis
afterEach(() => redis.stop())

async function command(...args: string[]): Promise<unknown> {
  const client = await connectTo(redis.url)
  try {
    return await client.sendCommand(args)
  } finally {
    client.destroy()
  }
}

test('durability follows from the settings, and a warning says what could be lost', async () => {
  redis = await startRedis({ settings: { appendonly: 'yes', appendfsync: 'always' } })
  for (const [setting, value, durability, warning] of [
    ['appendfsync', 'always', 'disk', undefined],
    ['appendfsync', 'everysec', 'relaxed', /appendfsync everysec/],
    ['appendfsync', 'no', 'relaxed', /appendfsync no/],
    ['appendfsync', 'always', 'disk', undefined],
    ['no-appendfsync-on-rewrite', 'yes', 'relaxed', /no-appendfsync-on-rewrite yes/],
    ['appendonly', 'no', 'none', /everything is lost/],
    ['save', '60 1000', 'none', /since its last snapshot \(save 60 1000\) is lost/],
  ] as const) {
    await command('CONFIG', 'SET', setting, value)
    const warnings: string[] = []
    const store = await openRedisStore({ url: redis.url, onWarning: each => warnings.push(each) })
    expect(store.supports).toMatchObject({ durability })
    expect(warnings.length).toBe(warning === undefined ? 0 : 1)
    if (warning) expect(warnings[0]).toMatch(warning)
    await store.close()
  }
})

test('a Redis that does not return its settings counts as not durable', async () => {
  redis = await startRedis({ settings: { appendonly: 'yes', appendfsync: 'always' } })
  await command('ACL', 'SETUSER', 'default', '-config')
  const warnings: string[] = []
  const store = await openRedisStore({ url: redis.url, onWarning: each => warnings.push(each) })
  expect(store.supports.durability).toBe('none')
  expect(warnings[0]).toMatch(/does not return its settings/)
  await store.close()
})

test('a Redis that would evict data is refused', async () => {
  redis = await startRedis({ settings: { 'maxmemory-policy': 'allkeys-lru' } })
  await expect(openRedisStore({ url: redis.url })).rejects.toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringContaining('set it to noeviction'),
  })
})

test('a wrong password is reported, but not shown, and the right one opens the store', async () => {
  redis = await startRedis({ settings: { requirepass: 'right' } })
  for (const user of ['', ':wrong@']) {
    const failure: Error = await openRedisStore({ url: `redis://${user}127.0.0.1:${redis.port}` }).then(
      () => expect.fail('it was opened'),
      error => error,
    )
    expect(failure).toMatchObject({ code: 'STORE_UNUSABLE' })
    expect(failure.message).toMatch(/refuses access/)
    expect(failure.message).not.toMatch(/:wrong/)
  }
  const store = await openRedisStore({ url: `redis://:right@127.0.0.1:${redis.port}` })
  expect(await store.position()).toBeGreaterThan(0)
  await store.close()
})

test('where nothing listens, the error names the address', async () => {
  redis = await startRedis()
  await redis.kill()
  await expect(openRedisStore({ url: redis.url })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining(`127.0.0.1:${redis.port}`),
    details: { outcome: 'not-done' },
  })
})

test('a Redis without free memory refuses whole commits, answers reads, and accepts commits again with memory', async () => {
  redis = await startRedis()
  const store = await openRedisStore({ url: redis.url })
  const writes = ['a/b/1', 'a/b/2'].map(key => ({ key, contentType: 'text/plain', body: Buffer.from('1') }))
  await store.commit({ writes })
  const before = await store.position()
  await command('CONFIG', 'SET', 'maxmemory', '1mb')
  await expect(store.commit({ writes })).rejects.toMatchObject({ code: 'STORE_FULL' })
  expect(await store.position()).toBe(before)
  expect((await store.get('a/b/1'))?.version).toBe(before)
  await command('CONFIG', 'SET', 'maxmemory', '0')
  expect(await store.commit({ writes })).toMatchObject({ committed: true })
  await store.close()
})

test('a Redis that stays without memory answers reads, also of servers that open it then, and can be trimmed', async () => {
  redis = await startRedis()
  const store = await openRedisStore({ url: redis.url, patienceMs: 1000 })
  const write = { key: 'a/b/1', contentType: 'text/plain', body: Buffer.from('1') }
  await store.commit({ writes: [write] })
  await command('CONFIG', 'SET', 'maxmemory', '1mb')
  const fullMs = store.nowMs()
  await eventually('its clock was asked for several times', () => store.nowMs() > fullMs + 1500)
  const position = await store.position()
  expect((await store.get('a/b/1'))?.version).toBe(position)
  const late = await openRedisStore({ url: redis.url, patienceMs: 1000 })
  expect((await late.get('a/b/1'))?.version).toBe(position)
  await late.trim(position)
  expect(await store.trimmedTo()).toBe(position)
  await expect(late.commit({ writes: [write] })).rejects.toMatchObject({ code: 'STORE_FULL' })
  await late.close()
  await store.close()
})

test('data of another program under a key of the store is not a value, and the commit that reads it fails', async () => {
  redis = await startRedis()
  const store = await openRedisStore({ url: redis.url, name: 'mine' })
  await command('SET', '{freshet:mine}:v:a/b/c', 'x')
  await expect(store.get('a/b/c')).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  await command('LPUSH', '{freshet:mine}:v:a/b/list', 'x')
  const adds = [{ key: 'a/b/list', by: 1, decimals: 0 }]
  const others = store.commit({ writes: [{ key: 'a/b/d', contentType: 'text/plain', body: Buffer.from('1') }] })
  await expect(store.commit({ writes: [], adds })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  // Commits that were sent with it are made.
  expect(await others).toMatchObject({ committed: true })
  expect((await store.get('a/b/d'))?.version).toBe(await store.position())
  await store.close()
})

test('a store of a newer format is refused', async () => {
  redis = await startRedis()
  const store = await openRedisStore({ url: redis.url })
  await store.close()
  await command('HSET', '{freshet:main}:meta', 'format', '3')
  await expect(openRedisStore({ url: redis.url })).rejects.toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringContaining('newer Freshet'),
  })
})

test('stores of different names are separate, and an invalid name is refused', async () => {
  redis = await startRedis()
  const stores = await Promise.all(['a', 'b'].map(name => openRedisStore({ url: redis.url, name })))
  await stores[0]!.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('1') }] })
  expect(await stores[1]!.get('a/b/c')).toBe(undefined)
  expect(await stores[1]!.buckets()).toEqual([])
  expect(stores[0]!.log).not.toBe(stores[1]!.log)
  await Promise.all(stores.map(store => store.close()))
  await expect(openRedisStore({ url: redis.url, name: 'a}b' })).rejects.toThrow(TypeError)
})
