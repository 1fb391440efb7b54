/** A store whose address names several servers: which of them it finds when the one that it uses is gone. */
import type { Commit, CommitResult, Position, Store } from '@freshet/core/store'
import { afterEach, expect, test } from 'vitest'
import { eventually } from '../under-test/eventually.js'
import { untilReached } from '../under-test/redis-head.js'
import { DURABLE, type RunningRedis, startRedis, startSentinel } from '../under-test/start-redis.js'
import { connectTo } from './client.js'
import { openRedisStore, type RedisStoreOptions } from './open-redis-store.js'

const toEnd: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

/**
 * A primary and a replica: in memory unless `settings` say otherwise, so that a busy disk does not keep a healthy one from
 * answering.
 */
async function startPair(
  settings: Readonly<Record<string, string>> = {},
): Promise<readonly [RunningRedis, RunningRedis]> {
  const primary = await start({ ...settings, 'repl-diskless-sync-delay': '0' })
  const replica = await start({ ...settings, replicaof: `127.0.0.1 ${primary.port}` })
  return [primary, replica]
}

async function start(settings: Readonly<Record<string, string>>): Promise<RunningRedis> {
  const redis = await startRedis({ settings })
  toEnd.push(() => redis.stop())
  return redis
}

async function open(url: string, options: Partial<RedisStoreOptions> = {}): Promise<Store> {
  const store = await openRedisStore({ url, patienceMs: 60_000, onWarning: () => {}, ...options })
  toEnd.push(() => store.close())
  return store
}

async function command(redis: RunningRedis, ...args: string[]): Promise<unknown> {
  const client = await connectTo(redis.url)
  try {
    return await client.sendCommand(args)
  } finally {
    client.destroy()
  }
}

function put(text: string): Commit {
  return { writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from(text) }] }
}

async function textOf(store: Store): Promise<string | undefined> {
  const value = await store.get('a/b/c')
  return value && Buffer.from(value.body).toString()
}

function positionOf(result: CommitResult): Position {
  if (!result.committed) throw new Error(`It was not committed: ${JSON.stringify(result)}`)
  return result.position
}

test('a store at redis://a,b goes on at b when a was killed and b has taken over', async () => {
  const [a, b] = await startPair(DURABLE)
  const store = await open(`redis://127.0.0.1:${a.port},127.0.0.1:${b.port}/0`)
  await untilReached(b, positionOf(await store.commit(put('1'))))
  await a.kill()
  await command(b, 'REPLICAOF', 'NO', 'ONE')
  expect(await textOf(store)).toBe('1')
  positionOf(await store.commit(put('2')))
  // A primary that comes back and does not know of the takeover is not used, as long as the other can be reached.
  await a.restart()
  await command(b, 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  expect(await textOf(store)).toBe('2')
})

test('a Redis that accepts connections and never answers is passed over', async () => {
  const [a, b] = await startPair()
  const store = await open(`redis://127.0.0.1:${a.port},127.0.0.1:${b.port}`, { answerMsMax: 2000 })
  await untilReached(b, positionOf(await store.commit(put('1'))))
  process.kill(a.pid, 'SIGSTOP')
  await command(b, 'REPLICAOF', 'NO', 'ONE')
  expect(await textOf(store)).toBe('1')
  positionOf(await store.commit(put('2')))
})

test('a store finds the primary through its sentinels, also after another has taken over', async () => {
  const [a, b] = await startPair()
  const sentinel = await startSentinel('main', a)
  toEnd.push(() => sentinel.stop())
  const gone = await start({})
  await gone.kill()
  const url = `redis://127.0.0.1:${gone.port},127.0.0.1:${sentinel.port}/0?sentinel=main`
  const store = await open(url)
  await untilReached(b, positionOf(await store.commit(put('1'))))
  const knowsReplica = async () => ((await command(sentinel, 'SENTINEL', 'REPLICAS', 'main')) as unknown[]).length === 1
  await eventually('it knows the replica', knowsReplica)
  await a.kill()
  expect(await textOf(store)).toBe('1')
  positionOf(await store.commit(put('2')))
  expect(String(await command(b, 'INFO', 'replication'))).toMatch(/role:master/)
})

test('a name that sentinels do not know is refused', async () => {
  const redis = await start({})
  const sentinel = await startSentinel('main', redis)
  toEnd.push(() => sentinel.stop())
  const opening = openRedisStore({ url: `redis://127.0.0.1:${sentinel.port}?sentinel=other` })
  await expect(opening).rejects.toMatchObject({ code: 'STORE_UNUSABLE', message: expect.stringContaining('other') })
})
