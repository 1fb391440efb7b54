import type { CommitResult, Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonRequest, problemOf, type RunningServer, startServer, until } from '../testing/running-server.js'

let running: RunningServer
let held: { release(): void } | undefined
let made = 0
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }

beforeAll(async () => {
  running = await startServer({ store: holding(createMemoryStore()) })
  await running.put('/db/shop/careful', { kind: 'object', requireIdempotencyKey: true })
  await running.put('/db/shop/files', { kind: 'kv' })
  await running.put('/db/shop/stock', { kind: 'counter', min: 0 })
})
afterAll(() => running.stop())

/** A store whose commits the test can hold back. */
function holding(store: Store): Store {
  const commit = async (...parts: Parameters<Store['commit']>): Promise<CommitResult> => {
    if (held === undefined) return store.commit(...parts)
    const result = await store.commit(...parts)
    await new Promise<void>(resolve => {
      held = { release: resolve }
    })
    return result
  }
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'commit') return commit
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function newKey(): string {
  return `key-${++made}`
}

async function send(method: string, path: string, value: unknown, headers: Record<string, string>) {
  const answer = await running.fetch(
    path,
    value === undefined ? { method, headers } : jsonRequest(method, value, headers),
  )
  const { headers: got } = answer
  return {
    status: answer.status,
    body: await answer.json(),
    etag: got.get('etag'),
    location: got.get('location'),
    position: got.get('freshet-position'),
    replayed: got.get('idempotency-replayed'),
  }
}

describe('an operation with an id', () => {
  test.each([
    ['PUT', '/db/shop/products/a', { n: 1 }, {}],
    ['POST', '/db/shop/products', { n: 2 }, {}],
    ['PATCH', '/db/shop/products/a', { n: 3 }, MERGE_PATCH],
    ['DELETE', '/db/shop/products/a', undefined, {}],
    ['POST', '/commit', { writes: [{ path: '/db/shop/products/b', value: {} }] }, {}],
  ])('is done once, and answered twice in the same way: %s %s', async (method, path, value, more) => {
    const headers = { 'idempotency-key': newKey(), ...more }
    const first = await send(method, path, value, headers)
    expect([200, 201]).toContain(first.status)
    expect(first.replayed).toBe(null)
    // The object has changed in between.
    await running.put('/db/shop/products/a', { n: 9 })
    expect(await send(method, path, value, headers)).toEqual({ ...first, replayed: 'true' })
    expect(await (await running.fetch('/db/shop/products/a')).json()).toEqual({ n: 9 })
  })

  test('whose condition held the first time gets the first answer again', async () => {
    const { version } = await running.put('/db/shop/products/c', { n: 1 })
    const headers = { 'idempotency-key': newKey(), 'if-match': `"${version}"` }
    const first = await send('PUT', '/db/shop/products/c', { n: 2 }, headers)
    expect(await send('PUT', '/db/shop/products/c', { n: 2 }, headers)).toEqual({ ...first, replayed: 'true' })
    const created = { 'idempotency-key': newKey(), 'if-none-match': '*' }
    expect((await send('PUT', '/db/shop/products/d', {}, created)).status).toBe(201)
    expect(await send('PUT', '/db/shop/products/d', {}, created)).toMatchObject({ status: 201, replayed: 'true' })
  })

  test.each([
    ['another body', 'PUT', '/db/shop/products/e', { n: 2 }, {}],
    ['another target', 'PUT', '/db/shop/products/f', { n: 1 }, {}],
    ['another condition', 'PUT', '/db/shop/products/e', { n: 1 }, { 'if-match': '"1"' }],
    ['another method', 'DELETE', '/db/shop/products/e', undefined, {}],
  ])('identifies one request, not %s', async (_, method, path, value, more) => {
    const headers = { 'idempotency-key': newKey() }
    await send('PUT', '/db/shop/products/e', { n: 1 }, headers)
    const answer = await send(method, path, value, { ...headers, ...more })
    expect(answer).toMatchObject({ status: 422, body: { code: 'OPERATION_MISMATCHED' } })
  })

  const remove = (path: string) => running.fetch(path, { method: 'DELETE' })
  const absent = (path: string) => ({ reads: [{ path, version: 0 }], writes: [{ path, value: { n: 2 } }] })

  test.each([
    ['POST', '/db/shop/stock/a', { add: -1 }, {}, () => send('POST', '/db/shop/stock/a', { add: 5 }, {})],
    ['PUT', '/db/shop/taken/b', { n: 2 }, { 'if-none-match': '*' }, () => remove('/db/shop/taken/b')],
    ['PATCH', '/db/shop/taken/c', { n: 2 }, MERGE_PATCH, () => running.put('/db/shop/taken/c', {})],
    ['POST', '/commit', absent('/db/shop/taken/d'), {}, () => remove('/db/shop/taken/d')],
  ])(
    'that was refused is not done by a copy that arrives when it would succeed: %s %s',
    async (method, path, value, more, allow) => {
      await running.put('/db/shop/taken/b', { n: 1 })
      await running.put('/db/shop/taken/d', { n: 1 })
      const headers = { 'idempotency-key': newKey(), ...more }
      const first = await send(method, path, value, headers)
      expect([404, 409, 412]).toContain(first.status)
      await allow()
      const { requestId: _, ...refusal } = first.body as Record<string, unknown>
      const again = await send(method, path, value, headers)
      expect(again).toMatchObject({ status: first.status, body: { ...refusal, replayed: true }, replayed: 'true' })
      const answer = await send(method, path, value, { ...headers, 'idempotency-key': newKey() })
      expect([200, 201]).toContain(answer.status)
    },
  )

  test('that was refused because a version has been overwritten leaves nothing to remember', async () => {
    const path = '/db/shop/products/g'
    const { version } = await running.put(path, { n: 1 })
    await running.put(path, { n: 2 })
    const counts = () => running.fetch('/idempotency').then(answer => answer.json())
    const before = await counts()
    const headers = { 'idempotency-key': newKey() }
    const commit = { reads: [{ path, version }], writes: [{ path, value: { n: 3 } }] }
    expect((await send('POST', '/commit', commit, headers)).status).toBe(409)
    expect(await send('POST', '/commit', commit, headers)).toMatchObject({ status: 409, replayed: null })
    expect(await counts()).toEqual(before)
  })

  test('whose id has a time is refused when that is too long ago', async () => {
    const uuid = (timeMs: number) => {
      const digits = Math.floor(timeMs).toString(16).padStart(12, '0')
      return `${digits.slice(0, 8)}-${digits.slice(8)}-7a1b-8c2d-${String(++made).padStart(12, '0')}`
    }
    const day = 24 * 3600 * 1000
    const put = (key: string) => send('PUT', '/db/shop/products/v7', {}, { 'idempotency-key': key })
    expect((await put(uuid(Date.now() - day + 60_000))).status).toBe(201)
    expect(await put(uuid(Date.now() - day - 60_000))).toMatchObject({
      status: 410,
      body: { code: 'OPERATION_EXPIRED' },
    })
    // Version 4, which happens to start like an old version 7.
    expect((await put('00000000-0000-4a1b-8c2d-000000000001')).status).toBe(200)
  })

  test('that is in progress is not started again', async () => {
    const headers = { 'idempotency-key': newKey() }
    held = { release: () => {} }
    const before = held
    const first = send('PUT', '/db/shop/products/h', {}, headers)
    await until(() => held !== before)
    const answer = await running.fetch('/db/shop/products/h', jsonRequest('PUT', {}, headers))
    expect(await problemOf(answer)).toMatchObject({ status: 409, code: 'OPERATION_IN_PROGRESS' })
    expect(answer.headers.get('retry-after')).toBe('1')
    const { release } = held
    held = undefined
    release()
    expect((await first).status).toBe(201)
    expect(await send('PUT', '/db/shop/products/h', {}, headers)).toMatchObject({ status: 201, replayed: 'true' })
  })

  test('may have it in quotes, as in the draft standard', async () => {
    const key = newKey()
    await send('PUT', '/db/shop/products/i', {}, { 'idempotency-key': `"${key}"` })
    expect(await send('PUT', '/db/shop/products/i', {}, { 'idempotency-key': key })).toMatchObject({ replayed: 'true' })
  })

  test.each(['', '"', 'two words', 'f1.x', `${'x'.repeat(256)}`])('cannot have the id %j', async key => {
    const answer = await send('PUT', '/db/shop/products/j', {}, { 'idempotency-key': key })
    expect(answer).toMatchObject({ status: 400, body: { code: 'IDEMPOTENCY_KEY_INVALID' } })
  })

  test('can be required by a bucket', async () => {
    const path = '/db/shop/careful/a'
    const refusal = { status: 400, body: { code: 'IDEMPOTENCY_KEY_REQUIRED', path } }
    expect(await send('PUT', path, {}, {})).toMatchObject(refusal)
    expect(await send('POST', '/commit', { writes: [{ path, value: {} }] }, {})).toMatchObject(refusal)
    expect((await send('PUT', path, {}, { 'idempotency-key': newKey() })).status).toBe(201)
  })
})

describe('an operation of our own clients', () => {
  const client = 'a-client-of-our-own'
  const own = (sequence: number, settled: number, madeMs = Math.floor(running.store.nowMs())) => ({
    'idempotency-key': `f1.${client}.${sequence}.${settled}.${madeMs}`,
  })

  test('is settled by later ones, and not done afterwards', async () => {
    expect((await send('PUT', '/db/shop/products/k', { n: 1 }, own(5, 4))).status).toBe(201)
    const late = await send('PUT', '/db/shop/products/k', { n: 0 }, own(3, 2))
    expect(late).toMatchObject({ status: 409, body: { code: 'OPERATION_SETTLED' } })
    expect(await send('PUT', '/db/shop/products/k', { n: 1 }, own(5, 4))).toMatchObject({ replayed: 'true' })
  })

  test('with an id of tomorrow is refused', async () => {
    const answer = await send(
      'PUT',
      '/db/shop/products/k',
      {},
      own(9, 5, Math.floor(running.store.nowMs()) + 86_400_000),
    )
    expect(answer).toMatchObject({ status: 400, body: { code: 'IDEMPOTENCY_KEY_INVALID', reason: 'early' } })
  })
})

test('the server reports what it remembers, and counts replays', async () => {
  const before = (await (await running.fetch('/idempotency')).json()) as { replays: number; foreign: number }
  const headers = { 'idempotency-key': newKey() }
  for (let i = 0; i < 3; i++) await send('PUT', '/db/shop/products/l', {}, headers)
  expect(await (await running.fetch('/idempotency')).json()).toMatchObject({
    retentionMs: 86_400_000,
    foreign: before.foreign + 1,
    replays: before.replays + 2,
  })
  expect(await (await running.fetch('/metrics')).text()).toContain(`freshet_replays_total ${before.replays + 2}`)
})
