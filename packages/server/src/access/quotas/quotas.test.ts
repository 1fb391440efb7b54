/** Quotas of namespaces: exact while several servers write at once, counted while clients write, and reported. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { describe, expect, test } from 'vitest'
import { answeringLater } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, until } from '../../testing/running-server.js'
import { serversPerTest } from '../../testing/servers-per-test.js'
import { applyRules } from '../apply-rules.js'
import { bearer, TOKENS } from '../under-test/bearer.js'
import { RequestAllowance } from './request-allowance.js'
import { requestsKey } from './usage-record.js'

const OPEN = 'admin if claim.role == "admin"\nbucket */*\n  read, list, write\n'

const startServer = serversPerTest()

async function start(store: Store, quota: string): Promise<RunningServer> {
  const rules = `${quota}\n${OPEN}`
  await applyRules(store, { rules, mayWiden: true, who: 'a test' })
  return startServer({ store, access: { rules, tokens: TOKENS } })
}

const admin = () => bearer({ role: 'admin' })

interface Used {
  readonly namespace: string
  readonly isCounted: boolean
  readonly objects?: { readonly used: number }
  readonly bytes?: { readonly used: number }
}

async function usageOf(running: RunningServer, namespace = 'acme'): Promise<Used | undefined> {
  const answer = await running.fetch('/quotas', { headers: await admin() })
  return ((await answer.json()) as { namespaces: Used[] }).namespaces.find(each => each.namespace === namespace)
}

/** What is stored, counted object by object. */
async function truthOf(store: Store, namespace = 'acme'): Promise<{ objects: number; bytes: number }> {
  const truth = { objects: 0, bytes: 0 }
  for (const { bucket } of await store.buckets()) {
    if (!bucket.startsWith(`${namespace}/`)) continue
    const { entries } = await store.scan(bucket, { limit: 100_000 })
    truth.objects += entries.length
    for (const { body } of entries) truth.bytes += bucket.endsWith('/views') ? 8 : body.length
  }
  return truth
}

const send = (running: RunningServer, path: string, value: unknown, method = 'PUT') =>
  running.fetch(path, method === 'DELETE' ? { method } : jsonRequest(method, value))

describe.each([
  { name: 'at once', wrap: (store: Store) => store },
  { name: 'later', wrap: answeringLater },
])('a quota, in a store that answers $name,', ({ wrap }) => {
  test('of objects is exact, although three servers fill it at once', async () => {
    const store = wrap(createMemoryStore({ positionsAfter: 0 }))
    const servers = [await start(store, 'quota acme objects 20'), await start(store, 'quota acme objects 20')]
    servers.push(await start(store, 'quota acme objects 20'))
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => send(servers[i % 3]!, `/db/acme/notes/${i}`, { i })),
    )
    const refused = answers.filter(({ status }) => status === 403)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(refused).toHaveLength(40)
    expect(await problemOf(refused[0]!)).toMatchObject({ code: 'QUOTA_EXCEEDED', namespace: 'acme', used: 20, max: 20 })
    expect((await usageOf(servers[0]!))?.objects).toEqual({ used: 20, max: 20 })
    // It does not limit another namespace, and stored objects may be replaced and deleted.
    const [one] = (await store.scan('acme/notes', { limit: 1 })).entries
    expect((await send(servers[1]!, '/db/globex/notes/1', {})).status).toBe(201)
    expect((await send(servers[1]!, `/db/acme/notes/${one!.id}`, { new: 1 })).status).toBe(200)
    expect((await send(servers[1]!, `/db/acme/notes/${one!.id}`, undefined, 'DELETE')).status).toBe(200)
    expect((await send(servers[2]!, '/db/acme/notes/more', {})).status).toBe(201)
    expect((await send(servers[2]!, '/db/acme/notes/yet-more', {})).status).toBe(403)
  })

  test('counts writes of every kind', async () => {
    const store = wrap(createMemoryStore({ positionsAfter: 0 }))
    const running = await start(store, 'quota * objects 1000, bytes 5000')
    await send(running, '/db/acme/notes/1', { text: 'a' })
    await send(running, '/db/acme/notes/1', { text: 'longer than before' })
    await send(running, '/db/acme/notes/2', {})
    await running.fetch('/db/acme/notes/2', {
      ...jsonRequest('PATCH', { a: 1 }, { 'content-type': 'application/merge-patch+json' }),
    })
    await running.fetch('/db/acme/notes', jsonRequest('POST', { made: 'by post' }))
    await running.fetch('/db/acme/views', jsonRequest('PUT', { kind: 'counter' }, await admin()))
    for (let i = 0; i < 3; i++) await running.fetch('/db/acme/views/a', jsonRequest('POST', { add: 500 }))
    const additions = [1, 2, 3].map(i => ({ id: `${i % 2}`, add: i }))
    await running.fetch('/db/acme/views', jsonRequest('POST', { additions }))
    const key = { 'idempotency-key': 'twice' }
    const writes = [
      { path: '/db/acme/notes/3', value: { in: 'a commit' } },
      { path: '/db/acme/notes/1', delete: true },
      { path: '/db/acme/views/b', add: 2 },
    ]
    const answers = await Promise.all([1, 2].map(() => running.fetch('/commit', jsonRequest('POST', { writes }, key))))
    expect(answers.map(({ status }) => status)).toContain(200)
    const replayed = await running.fetch('/commit', jsonRequest('POST', { writes }, key))
    expect(await replayed.json()).toEqual({ position: expect.any(Number), values: [2] })
    await send(running, '/db/acme/notes/none', undefined, 'DELETE')
    await send(running, '/db/acme/views/0', undefined, 'DELETE')
    const { objects, bytes } = (await usageOf(running))!
    expect({ objects: objects!.used, bytes: bytes!.used }).toEqual(await truthOf(store))
    expect(await truthOf(store)).toMatchObject({ objects: 6 })
    const large = await send(running, '/db/acme/notes/large', { text: 'x'.repeat(5000) })
    expect(await problemOf(large)).toMatchObject({ code: 'QUOTA_EXCEEDED', what: 'bytes', max: 5000 })
  })
})

describe('what was stored before', () => {
  test('is counted while clients write, and the count is exact', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const before = await start(store, '')
    const paths = ['/db/acme/a', '/db/acme/m', '/db/acme/z']
    for (let i = 0; i < 1200; i += 100) {
      const writes = Array.from({ length: 100 }, (_, j) => ({ path: `${paths[(i + j) % 3]}/${i + j}`, value: { j } }))
      expect((await before.fetch('/commit', jsonRequest('POST', { writes }))).status).toBe(200)
    }
    // The first server takes over the rules of the second while clients write to it.
    let isOver = false
    let written = 0
    const writer = async (seed: number) => {
      for (let i = seed; !isOver || written < 300; i += 7, written++) {
        const path = `${paths[i % 3]}/${(i * 31) % 1500}`
        const isDelete = i % 4 === 0
        const answer = await send(before, path, { i: 'x'.repeat(i % 50) }, isDelete ? 'DELETE' : 'PUT')
        expect([200, 201, 404]).toContain(answer.status)
      }
    }
    const writers = [1, 2, 3, 4].map(writer)
    const counting = await start(store, 'quota acme objects 100000, bytes 10000000')
    await until(async () => (await usageOf(counting))?.isCounted === true)
    isOver = true
    await Promise.all(writers)
    const { objects, bytes } = (await usageOf(counting))!
    expect({ objects: objects!.used, bytes: bytes!.used }).toEqual(await truthOf(store))
    expect(objects!.used).toBeGreaterThan(500)
  })

  test('is counted again when a removed quota returns, and forgotten meanwhile', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const first = await start(store, 'quota acme objects 3')
    await send(first, '/db/acme/notes/1', {})
    await start(store, '')
    await until(async () => (await store.get('_freshet/usage/acme.objects')) === undefined)
    await send(first, '/db/acme/notes/2', {})
    const third = await start(store, 'quota acme objects 2')
    await until(async () => (await usageOf(third))?.isCounted === true)
    expect((await usageOf(third))?.objects).toEqual({ used: 2, max: 2 })
    expect((await send(first, '/db/acme/notes/3', {})).status).toBe(403)
  })
})

test('a write that was decided before the count passed its key is decided again, and counted', async () => {
  const store = createMemoryStore({ positionsAfter: 0 })
  const before = await start(store, '')
  await send(before, '/db/acme/notes/1', {})
  await before.stop()
  // Only this test counts, just before the write is committed.
  const access = { rules: `quota acme objects 10\n${OPEN}`, tokens: TOKENS }
  await applyRules(store, { rules: access.rules, who: 'a test' })
  const running = await startServer({ store, access, settings: { mayKeep: false } })
  const put = (key: string, value: unknown) => ({
    ...{ key, contentType: 'application/json' },
    body: Buffer.from(JSON.stringify(value)),
  })
  const commit = store.commit.bind(store)
  let isCounted = false
  store.commit = async asked => {
    if (!isCounted && asked.writes.some(({ key }) => key === 'acme/notes/2')) {
      isCounted = true
      const { version: rules } = (await store.get('_freshet/access/rules'))!
      const record = put('_freshet/quotas/acme', { rules, isDone: true })
      await commit({ writes: [record, put('_freshet/usage/acme.objects', 1)] })
    }
    return commit(asked)
  }
  expect((await send(running, '/db/acme/notes/2', {})).status).toBe(201)
  expect((await usageOf(running))?.objects).toEqual({ used: 2, max: 10 })
})

test('the metrics show how much each namespace uses', async () => {
  const running = await start(createMemoryStore({ positionsAfter: 0 }), 'quota acme objects 1, requests 50 per day')
  for (const id of [1, 2]) await send(running, `/db/acme/notes/${id}`, {})
  const metrics = async () => (await running.fetch('/metrics', { headers: await admin() })).text()
  await until(async () => (await metrics()).includes('freshet_quota_used{namespace="acme",what="objects"} 1\n'))
  expect(await metrics()).toContain('freshet_quota_max{namespace="acme",what="requests"} 50\n')
  expect(await metrics()).toContain('freshet_quota_refused_total 1\n')
})

describe('a quota of requests', () => {
  test('holds for all servers together, reads and commits alike, and not for admins', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const quota = 'quota acme requests 100 per day'
    const servers = [await start(store, quota), await start(store, quota)]
    await send(servers[0]!, '/db/acme/notes/1', {})
    const statuses: number[] = []
    for (let i = 0; i < 130; i++) {
      const running = servers[i % 2]!
      const writes = [{ path: `/db/acme/notes/${i}`, value: {} }]
      const answer = await (i % 3 === 0
        ? running.fetch('/commit', jsonRequest('POST', { writes }))
        : running.fetch('/db/acme/notes/1'))
      statuses.push(answer.status)
      if (answer.status === 403) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    const taken = statuses.filter(status => status === 200).length + 1
    // Except for a share of two that one of the servers may have left.
    expect(taken).toBeGreaterThanOrEqual(98)
    expect(taken).toBeLessThanOrEqual(100)
    expect((await servers[0]!.fetch('/db/globex/notes/1')).status).toBe(404)
    expect((await servers[0]!.fetch('/db/acme/notes/1', { headers: await admin() })).status).toBe(200)
  })

  test('starts again with each period', async () => {
    let timeMs = 1_000_000 * 60_000
    const store = createMemoryStore()
    const allowance = new RequestAllowance(store, () => timeMs)
    const quota = { max: 3, per: 'minute' } as const
    const take = () => allowance.take('acme', quota)
    for (let i = 0; i < 3; i++) await take()
    await expect(take()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED', details: { retryAfterS: 60 } })
    timeMs += 59_999
    await expect(take()).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    timeMs += 1
    await take()
    expect(allowance.taken(await store.get(requestsKey('acme')), quota)).toBe(1)
  })
})

test('a commit that was allowed by rules that have changed since is decided again', async () => {
  const store = createMemoryStore({ positionsAfter: 0 })
  const running = await start(store, '')
  await send(running, '/db/acme/notes/1', {})
  // The rules change just before the commit, and the server does not know it yet.
  const commit = store.commit.bind(store)
  let isChanged = false
  store.commit = async asked => {
    if (!isChanged && asked.writes.some(({ key }) => key === 'acme/notes/2')) {
      isChanged = true
      const rules = JSON.stringify({ rules: 'bucket acme/notes\n  read' })
      const key = '_freshet/access/rules'
      await commit({ writes: [{ key, contentType: 'application/json', body: Buffer.from(rules) }] })
    }
    return commit(asked)
  }
  expect((await send(running, '/db/acme/notes/2', {})).status).toBe(401)
  expect(await store.get('acme/notes/2')).toBe(undefined)
})
