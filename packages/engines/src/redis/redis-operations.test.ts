/** How long Redis remembers operations, and what the store reports of them. */
import type { Store } from '@freshet/core/store'
import type { OperationId } from '@freshet/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMemoryStore } from '../memory/memory-store.js'
import { eventually } from '../under-test/eventually.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { connectTo } from './client.js'
import { openRedisStore } from './open-redis-store.js'

const DAY_MS = 24 * 3600 * 1000

let redis: RunningRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

function own(store: Store, sequence: number, settledTo: number): OperationId {
  return { kind: 'own', client: 'client-number-one', sequence, settledTo, madeMs: store.nowMs() }
}

async function add(store: Store, id: OperationId): Promise<string> {
  const adds = [{ key: 'a/n/x', by: 1, decimals: 0 }]
  const result = await store.commit({ writes: [], adds, operation: { id, fingerprint: 'f' } })
  if (!result.committed) return result.refusedOperation ?? 'refused'
  return result.replayed ? 'replayed' : 'done'
}

/** Redis' reply to a command. */
async function asked(...args: string[]): Promise<unknown> {
  const client = await connectTo(redis.url)
  try {
    return await client.sendCommand(args)
  } finally {
    client.destroy()
  }
}

test('a client’s operations are kept until it settles them, however many it settles at once', async () => {
  const store = await openRedisStore({ url: redis.url, name: 'settling' })
  const size = async () => Number(await asked('HLEN', '{freshet:settling}:c:client-number-one')) - 2
  for (let sequence = 1; sequence <= 300; sequence++) expect(await add(store, own(store, sequence, 0))).toBe('done')
  expect(await size()).toBe(300)
  expect(await add(store, own(store, 301, 5))).toBe('done')
  expect(await size()).toBe(296)
  expect(await add(store, own(store, 302, 295))).toBe('done')
  expect(await size()).toBe(7)
  expect(await add(store, own(store, 300, 0))).toBe('replayed')
  expect(await add(store, own(store, 295, 0))).toBe('settled')
  // A late operation reports less than is known.
  expect(await add(store, own(store, 303, 1))).toBe('done')
  expect(await add(store, own(store, 294, 0))).toBe('settled')
  expect(await store.operationCounts()).toMatchObject({ clients: 1, foreign: 0 })
  await store.close()
})

test('any operations, in any order, have the same results as in memory', async () => {
  const random = mulberry(7)
  const [store, model] = [await openRedisStore({ url: redis.url, name: 'walk' }), createMemoryStore()]
  const outcomeOf = async (way: Store, id: OperationId, aheadMs: number, fingerprint: string, by: number) => {
    const dated = id.kind === 'own' ? { ...id, madeMs: Math.floor(way.nowMs()) + aheadMs } : id
    const adds = by === 0 ? [] : [{ key: 'a/n/x', by, decimals: 0, min: 0, max: 30 }]
    const operation = { id: dated, fingerprint, note: fingerprint }
    const { position: _, ...outcome } = { position: 0, ...(await way.commit({ writes: [], adds, operation })) }
    return outcome
  }
  const kinds = new Set<string>()
  for (let step = 0; step < 4000; step++) {
    const sequence = 1 + Math.floor(step / 40) + random(20)
    const client = random(2) === 0 ? 'client-number-one' : 'client-number-two'
    const settledTo = Math.max(0, sequence - 1 - random(random(10) === 0 ? 300 : 30))
    const own: OperationId = { kind: 'own', client, sequence, settledTo, madeMs: 0 }
    const id: OperationId = random(4) === 0 ? { kind: 'foreign', id: `order-${sequence}` } : own
    const aheadMs = [0, 0, 0, 0, 0, 0, 3_600_000, -2 * DAY_MS][random(8)]!
    const args = [id, aheadMs, `f${random(5) === 0 ? 1 : 0}`, random(21) - 10] as const
    const outcome = await outcomeOf(model, ...args)
    expect(await outcomeOf(store, ...args), `step ${step}`).toEqual(outcome)
    if (outcome.committed) kinds.add(outcome.replayed ? 'replayed' : 'done')
    else kinds.add(outcome.refusedOperation ?? 'out of bounds')
  }
  const all = ['done', 'replayed', 'settled', 'expired', 'early', 'mismatched', 'out of bounds']
  expect([...kinds].sort()).toEqual(all.sort())
  await store.close()
})

/** Random whole numbers below `end`, the same in each run. */
function mulberry(seed: number): (end: number) => number {
  let state = seed
  return end => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end
  }
}

test('a client with too many unsettled operations is refused, until it settles some', async () => {
  const store = await openRedisStore({ url: redis.url, name: 'overflowing' })
  const all = Array.from({ length: 4096 }, (_, i) => add(store, own(store, i + 1, 0)))
  expect(new Set(await Promise.all(all))).toEqual(new Set(['done']))
  expect(await add(store, own(store, 4097, 0))).toBe('overflowing')
  expect(await add(store, own(store, 4097, 1))).toBe('done')
  await store.close()
})

test('foreign ids are forgotten when their time is over, and only those', async () => {
  // Long enough for everything that the test does while the new id must be remembered.
  const retentionMs = 3000
  const store = await openRedisStore({ url: redis.url, name: 'foreign', retentionMs })
  const id = (name: string): OperationId => ({ kind: 'foreign', id: name })
  for (let i = 0; i < 1500; i++) await add(store, id(`old-${i}`))
  const lastMs = store.nowMs()
  await eventually('the time of the first is over', () => store.nowMs() > lastMs + retentionMs)
  expect(await add(store, id('new'))).toBe('done')
  expect(await add(store, id('old-7'))).toBe('replayed')
  await store.forgetOperations()
  expect(await store.operationCounts()).toMatchObject({ clients: 0, foreign: 1 })
  expect(await add(store, id('new'))).toBe('replayed')
  expect(await add(store, id('old-7'))).toBe('done')
  expect(Number(await asked('XLEN', '{freshet:foreign}:foreign-log'))).toBe(2)
  await store.close()
})

test('a client is forgotten a day and a little after it was last here, by the clock of the store', async () => {
  const first = await openRedisStore({ url: redis.url, name: 'clients' })
  expect(await add(first, own(first, 1, 0))).toBe('done')
  await first.forgetOperations()
  expect(await first.operationCounts()).toMatchObject({ clients: 1 })
  await first.close()
  // As if the store had been open on this machine all the time.
  const [boot, offset] = ((await asked('HGETALL', '{freshet:clients}:clocks')) as Buffer[]).map(String)
  const laterMs = async (ms: number) => asked('HSET', '{freshet:clients}:clocks', boot!, `${Number(offset) + ms}`)
  await laterMs(DAY_MS + 60_000)
  const second = await openRedisStore({ url: redis.url, name: 'clients' })
  await second.forgetOperations()
  expect(await second.operationCounts()).toMatchObject({ clients: 1 })
  expect(await add(second, { ...own(second, 2, 0), madeMs: second.nowMs() - DAY_MS - 1 } as OperationId)).toBe(
    'expired',
  )
  await second.close()
  await laterMs(DAY_MS + 200_000)
  const third = await openRedisStore({ url: redis.url, name: 'clients' })
  await third.forgetOperations()
  expect(await third.operationCounts()).toMatchObject({ clients: 0 })
  expect(await asked('EXISTS', '{freshet:clients}:c:client-number-one')).toBe(0)
  await third.close()
})
