/** Promises that hold while Redis is killed, cut off, stopped, emptied or restored. */
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Commit, CommitResult, Position, Store } from '@freshet/core/store'
import { FreshetError, type OwnOperationId } from '@freshet/protocol'
import { afterEach, expect, test } from 'vitest'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { untilReached } from '../under-test/redis-head.js'
import { DURABLE, type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { connectTo } from './client.js'
import { openRedisStore, type RedisStoreOptions } from './open-redis-store.js'

const KILLS = Number(process.env.FRESHET_KILLS ?? 5)
const WRITERS = 8
const WATCH_PAUSE_MS = 5
/** Replicas start to copy at once. */
const REPLICATED = { ...DURABLE, 'repl-diskless-sync-delay': '0' }

const toEnd: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

async function start(settings: Readonly<Record<string, string>>): Promise<RunningRedis> {
  const redis = await startRedis({ settings })
  toEnd.push(() => redis.stop())
  return redis
}

async function open(url: RedisStoreOptions['url'], options: Partial<RedisStoreOptions> = {}): Promise<Store> {
  const store = await openRedisStore({ url, patienceMs: 20_000, ...options })
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

function put(key: string, text: string): Commit['writes'][number] {
  return { key, contentType: 'text/plain', body: Buffer.from(text) }
}

async function textOf(store: Store, key: string): Promise<string | undefined> {
  const value = await store.get(key)
  return value && Buffer.from(value.body).toString()
}

function positionOf(result: CommitResult): Position {
  if (!result.committed) throw new Error(`It was not committed: ${JSON.stringify(result)}`)
  return result.position
}

interface Acknowledged {
  readonly id: string
  readonly position: Position
}

/** Writes until `isOver`. Each round writes two values, and adds 1 to a counter under an operation's id. */
async function writeOn(
  store: Store,
  writer: number,
  isOver: () => boolean,
): Promise<{ done: Acknowledged[]; added: number }> {
  const done: Acknowledged[] = []
  let added = 0
  for (let sequence = 1; !isOver(); sequence++) {
    const id = `${writer}-${sequence}`
    try {
      const result = await store.commit({ writes: [put(`crash/a/${id}`, id), put(`crash/b/${id}`, id)] })
      done.push({ id, position: positionOf(result) })
    } catch (error) {
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'unknown' } })
    }
    const own: OwnOperationId = {
      kind: 'own',
      client: `crash-test-writer-${writer}`,
      sequence,
      settledTo: sequence - 1,
      madeMs: store.nowMs(),
    }
    const operation = { id: own, fingerprint: id }
    positionOf(await store.commit({ writes: [], adds: [{ key: 'crash/n/sum', by: 1, decimals: 0 }], operation }))
    added++
  }
  return { done, added }
}

/** Another reader. It reads the sum, which must never go back: the store shows nothing that is not on disk yet. */
async function watch(store: Store, isOver: () => boolean): Promise<number> {
  let highest = 0
  while (!isOver()) {
    const sum = Number((await textOf(store, 'crash/n/sum')) ?? 0)
    expect(sum).toBeGreaterThanOrEqual(highest)
    highest = sum
    await delay(WATCH_PAUSE_MS)
  }
  return highest
}

test(`a Redis killed ${KILLS} times keeps acknowledged commits, gives no position twice, does each operation once`, async () => {
  const redis = await start(DURABLE)
  const stores = [await open(redis.url), await open(redis.url)]
  const { log } = stores[0]!
  const begin = await stores[0]!.position()
  const heard: Position[] = []
  stores[1]!.onCommit(position => heard.push(position))
  let isOver = false
  const writing = Array.from({ length: WRITERS }, (_, i) => writeOn(stores[i % 2]!, i, () => isOver))
  const watching = watch(await open(redis.url), () => isOver)
  for (let kill = 0; kill < KILLS; kill++) {
    const before = await stores[0]!.position()
    await eventually('commits go on', async () => (await stores[1]!.position()) > before + 50)
    await redis.kill()
    await redis.restart()
  }
  isOver = true
  const written = await Promise.all(writing)
  expect(await watching).toBeGreaterThan(KILLS * 10)
  const store = await open(redis.url)
  const done = written.flatMap(each => each.done)
  expect(done.length).toBeGreaterThan(KILLS * 10)
  expect(new Set(done.map(({ position }) => position)).size).toBe(done.length)
  const [a, b] = await Promise.all(['crash/a', 'crash/b'].map(bucket => store.scan(bucket, { limit: 1_000_000 })))
  expect(a!.entries.map(({ id, version }) => [id, version])).toEqual(b!.entries.map(({ id, version }) => [id, version]))
  const versions = new Map(a!.entries.map(({ id, version }) => [id, version]))
  for (const { id, position } of done) expect(versions.get(id)).toBe(position)
  expect(await textOf(store, 'crash/n/sum')).toBe(`${written.reduce((sum, { added }) => sum + added, 0)}`)
  // Nothing was lost, so no reader has to start over; and every commit is in the log, in order.
  expect(store.log).toBe(log)
  const entries = await store.changes(begin, 1_000_000)
  const positions = entries.map(({ position }) => position)
  expect(positions).toEqual([...positions].sort((x, y) => x - y))
  for (const { position } of done) expect(positions).toContain(position)
  const last = await store.position()
  await eventually('the listener hears of the last commit', () => (heard.at(-1) ?? 0) >= last)
})

test('a commit whose answer is lost is made once: with an id it is answered, without one its outcome is unknown', async () => {
  const redis = await start(DURABLE)
  const line = await CuttingLine.open(redis.port)
  toEnd.push(() => line.close())
  const far = await open(`redis://127.0.0.1:${line.port}`)
  const near = await open(redis.url)
  const id = { kind: 'foreign', id: 'order-1' } as const
  await near.commit({ writes: [put('a/b/c', 'before')] })
  line.holdAnswers()
  const adds = [{ key: 'a/n/x', by: 1, decimals: 0 }]
  const named = far.commit({ writes: [], adds, operation: { id, fingerprint: 'f', note: 'a note' } })
  const nameless = far.commit({ writes: [put('a/b/c', 'once')] })
  const failing = expect(nameless).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'unknown' } })
  await eventually('both are done', async () => (await textOf(near, 'a/b/c')) === 'once')
  const position = await near.position()
  line.cut()
  line.mend()
  await failing
  expect(await named).toEqual({ committed: true, position: position - 1, units: [1], replayed: { note: 'a note' } })
  expect(await textOf(far, 'a/n/x')).toBe('1')
  expect((await far.get('a/b/c'))?.version).toBe(position)
  // The store goes on, in both directions.
  const heard = new Promise<Position>(resolve => far.onCommit(resolve))
  const next = positionOf(await near.commit({ writes: [put('a/b/c', 'again')] }))
  expect(await heard).toBeGreaterThanOrEqual(next)
})

test('an operation that was never answered has an unknown outcome, not a refusal, and counts once when repeated', async () => {
  const redis = await start(DURABLE)
  const line = await CuttingLine.open(redis.port)
  toEnd.push(() => line.close())
  const far = await open(`redis://127.0.0.1:${line.port}`, { patienceMs: 200 })
  const near = await open(redis.url)
  const id = { kind: 'foreign', id: 'order-1' } as const
  const order = { writes: [], adds: [{ key: 'a/n/x', by: 1, decimals: 0 }], operation: { id, fingerprint: 'f' } }
  await near.commit({ writes: [put('a/b/c', 'before')] })
  const unavailable = (outcome: string) => ({ code: 'STORE_UNAVAILABLE', details: { outcome } })
  line.holdAnswers()
  const unanswered = expect(far.commit(order)).rejects.toMatchObject(unavailable('unknown'))
  const reading = expect(far.get('a/n/x')).rejects.toMatchObject(unavailable('not-done'))
  await eventually('it is done', async () => (await textOf(near, 'a/n/x')) === '1')
  line.cut()
  await unanswered
  await reading
  // A commit that cannot have been sent is refused, as before.
  await expect(far.commit(order)).rejects.toMatchObject(unavailable('not-done'))
  line.mend()
  await eventually('it is repeated', () => far.commit(order).then(({ committed }) => committed, isUnavailable))
  expect(await textOf(near, 'a/n/x')).toBe('1')
})

test('an operation that was not answered, then refused when sent again, may have been done: its outcome is unknown', async () => {
  const redis = await start(DURABLE)
  const line = await CuttingLine.open(redis.port)
  toEnd.push(() => line.close())
  const far = await open(`redis://127.0.0.1:${line.port}`, { patienceMs: 1000 })
  const near = await open(redis.url, { patienceMs: 1000 })
  const operation = { id: { kind: 'foreign', id: 'order-1' } as const, fingerprint: 'f' }
  await near.commit({ writes: [put('a/b/c', 'before')] })
  line.holdAnswers()
  const committing = far.commit({ writes: [put('a/b/c', 'once')], operation })
  const refused = expect(committing).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    details: { outcome: 'unknown' },
  })
  await eventually('it is done', async () => (await textOf(near, 'a/b/c')) === 'once')
  await command(redis, 'CONFIG', 'SET', 'maxmemory', '1')
  line.cut()
  line.mend()
  await refused
  // A commit that was not sent before reports the reason for the refusal.
  await expect(near.commit({ writes: [put('a/b/c', 'twice')] })).rejects.toMatchObject({ code: 'STORE_FULL' })
})

test('a Redis that does not answer is given up, and used again when it answers', async () => {
  // In memory, so that a busy disk does not keep it from answering.
  const redis = await start({})
  const store = await open(redis.url, { answerMsMax: 1500, patienceMs: 1500, onWarning: () => {} })
  await store.commit({ writes: [put('a/b/c', '1')] })
  process.kill(redis.pid, 'SIGSTOP')
  const unavailable = { code: 'STORE_UNAVAILABLE' }
  await expect(store.commit({ writes: [put('a/b/c', '2')] })).rejects.toMatchObject(unavailable)
  await expect(store.get('a/b/c')).rejects.toMatchObject({ ...unavailable, details: { outcome: 'not-done' } })
  process.kill(redis.pid, 'SIGCONT')
  await eventually('it is read again', () => textOf(store, 'a/b/c').then(found => found !== undefined, isUnavailable))
  const again = () => store.commit({ writes: [put('a/b/c', '3')] }).then(({ committed }) => committed, isUnavailable)
  await eventually('it is written again', again)
  expect(await textOf(store, 'a/b/c')).toBe('3')
})

function isUnavailable(error: unknown): boolean {
  if (error instanceof FreshetError && error.code === 'STORE_UNAVAILABLE') return false
  throw error
}

test('keys that may have become visible much later than their stamp are in the log a second time', async () => {
  const redis = await start(DURABLE)
  const store = await open(redis.url, { answerMsMax: 20_000 })
  process.kill(redis.pid, 'SIGSTOP')
  const committing = store.commit({ writes: [put('a/b/c', '1')] })
  const stoppedMs = store.nowMs()
  await eventually('more than a second passes', () => store.nowMs() > stoppedMs + 1500)
  process.kill(redis.pid, 'SIGCONT')
  const position = positionOf(await committing)
  await eventually('there is a second entry', async () => (await store.changes(position)).length > 0)
  const [first, second] = await store.changes(position - 1)
  expect(second!.keys).toEqual(first!.keys)
  expect(second!.timeMs).toBeGreaterThan(stoppedMs + 1500)
})

test('when Redis is emptied, the store has a new log whose positions go on, and both servers learn of it', async () => {
  const redis = await start(DURABLE)
  const stores = [await open(redis.url), await open(redis.url)]
  const { log } = stores[0]!
  const before = positionOf(await stores[0]!.commit({ writes: [put('a/b/c', '1')] }))
  const nowMs = stores[0]!.nowMs()
  await command(redis, 'FLUSHALL')
  const after = positionOf(await stores[1]!.commit({ writes: [put('a/b/d', '2')] }))
  expect(after).toBeGreaterThan(before)
  for (const store of stores) {
    expect(await store.get('a/b/c')).toBe(undefined)
    expect(await textOf(store, 'a/b/d')).toBe('2')
    // This is how a reader that follows the log finds out; from then on `log` is the new one.
    await expect(store.changes(before)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
    expect(store.log).not.toBe(log)
    expect(store.nowMs()).toBeGreaterThanOrEqual(nowMs)
    // The keys may be there a second time, if the commit was slow to become visible.
    const [entry] = await store.changes(await store.trimmedTo())
    expect(entry).toMatchObject({ position: after, keys: ['a/b/d'] })
  }
  expect(stores[0]!.log).toBe(stores[1]!.log)
})

test('when Redis is restored from an older copy, the store has a new log, if a server knows of lost commits', async () => {
  const redis = await start(DURABLE)
  const line = await CuttingLine.open(redis.port)
  toEnd.push(() => line.close())
  const [store, ignorant] = [await open(redis.url), await open(`redis://127.0.0.1:${line.port}`)]
  await store.commit({ writes: [put('a/b/c', 'old')] })
  const copy = join(redis.folder, 'copy')
  const data = join(redis.folder, 'appendonlydir')
  await cp(data, copy, { recursive: true })
  // One server does not see the commit that will be lost, and may be the first to reconnect.
  line.holdAnswers()
  const lost = positionOf(await store.commit({ writes: [put('a/b/c', 'new')] }))
  await redis.kill()
  await rm(data, { recursive: true })
  await cp(copy, data, { recursive: true })
  await redis.restart()
  line.cut()
  line.mend()
  expect(await textOf(ignorant, 'a/b/c')).toBe('old')
  expect(await textOf(store, 'a/b/c')).toBe('old')
  await expect(store.changes(lost)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
  expect(positionOf(await store.commit({ writes: [put('a/b/c', 'newer')] }))).toBeGreaterThan(lost)
})

for (const [name, settings] of Object.entries({ relaxed: { ...DURABLE, appendfsync: 'everysec' }, none: {} })) {
  test(`after a restart of a Redis of durability ${name} the store has a new log: writes may have been lost`, async () => {
    const redis = await start(settings)
    const warnings: string[] = []
    const store = await open(redis.url, { onWarning: warning => warnings.push(warning) })
    const { log } = store
    expect(store.supports.durability).toBe(name)
    expect(warnings.length).toBe(1)
    expect(warnings[0]).toMatch(/lost.*appendfsync always/)
    const before = positionOf(await store.commit({ writes: [put('a/b/c', '1')] }))
    await redis.kill()
    await redis.restart()
    expect(positionOf(await store.commit({ writes: [put('a/b/c', '2')] }))).toBeGreaterThan(before)
    await expect(store.changes(before)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
    expect(store.log).not.toBe(log)
    expect(warnings.length).toBe(1)
  })
}

test('when a replica takes over, the store goes on there, with a new log', async () => {
  const first = await start(REPLICATED)
  const second = await start({ ...DURABLE, replicaof: `127.0.0.1 ${first.port}` })
  const store = await open([first.url, second.url])
  const { log } = store
  const before = positionOf(await store.commit({ writes: [put('a/b/c', '1')] }))
  await expect(openRedisStore({ url: second.url, patienceMs: 0 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await untilReached(second, before)
  await first.kill()
  await command(second, 'REPLICAOF', 'NO', 'ONE')
  expect(await textOf(store, 'a/b/c')).toBe('1')
  expect(positionOf(await store.commit({ writes: [put('a/b/c', '2')] }))).toBeGreaterThan(before)
  await expect(store.changes(before)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
  expect(store.log).not.toBe(log)
})

test('a server whose Redis becomes a replica finds the Redis that has taken over', async () => {
  const first = await start(REPLICATED)
  const second = await start({ ...DURABLE, replicaof: `127.0.0.1 ${first.port}` })
  const store = await open([first.url, second.url])
  await untilReached(second, positionOf(await store.commit({ writes: [put('a/b/c', '1')] })))
  await command(second, 'REPLICAOF', 'NO', 'ONE')
  await command(first, 'REPLICAOF', '127.0.0.1', `${second.port}`)
  await store.commit({ writes: [put('a/b/c', '2')] })
  expect(await textOf(await open(second.url), 'a/b/c')).toBe('2')
})

test('calls that have waited in vain for a Redis that is away leak no memory', async () => {
  const redis = await start({})
  const store = await open(redis.url, { patienceMs: 1 })
  await redis.kill()
  const wait = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await Promise.all(Array.from({ length: 1000 }, () => store.scan('a/b').catch(isUnavailable)))
    }
    return usedBytes()
  }
  const before = await wait(5)
  const calls = 20_000
  const bytesEach = ((await wait(calls / 1000)) - before) / calls
  expect(bytesEach).toBeLessThan(100)
})

/** After a garbage collection. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}

test('a store that is closed while Redis is away does not wait forever', async () => {
  const redis = await start({})
  const store = await open(redis.url, { patienceMs: 100 })
  await redis.kill()
  const reading = expect(store.get('a/b/c')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await store.close()
  await reading
  await delay(0)
  expect(() => store.get('a/b/c')).toThrow(expect.objectContaining({ code: 'STORE_CLOSED' }))
})
