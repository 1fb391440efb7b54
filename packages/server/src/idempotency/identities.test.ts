/** Idempotency keys where there are rules: whose they are, what they reveal, and what is remembered. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { applyRules } from '../access/apply-rules.js'
import { jsonRequest, type RunningServer, startServer } from '../testing/running-server.js'

const SECRET = 'a secret of at least thirty-two bytes'
const TOKENS = { secret: SECRET, audience: 'freshet', leewayMs: 0 }
const RULES = `
admin if claim.role == "admin"
wall claim.tenant
bucket */orders
  read, list, create, delete if claim.role != "none"
  update if object.owner == claim.sub
bucket */mine
  read, delete if object.owner == claim.sub
  create if new.owner == claim.sub
  update if object.owner == claim.sub
bucket */receipts
  create if authenticated
bucket */stock
  update if authenticated
bucket */inbox
  create
`
const KEY = 'order-124'
const ORDER = '/db/acme/orders/124'

let store: Store
let running: RunningServer
let ann: Record<string, string>
let bob: Record<string, string>
let mallory: Record<string, string>

type Claims = Record<string, unknown>

async function bearer(claims: Claims): Promise<Record<string, string>> {
  const token = await new SignJWT({ aud: 'freshet', jti: crypto.randomUUID(), ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET))
  return { authorization: `Bearer ${token}` }
}

const member = (sub: string, more: Claims = {}) =>
  bearer({ iss: 'https://id.example', sub, tenant: 'acme', role: 'member', ...more })

beforeEach(async () => {
  store = createMemoryStore({ positionsAfter: 0 })
  running = await startServer({ store, access: { rules: RULES, tokens: TOKENS } })
  ann = await member('ann')
  bob = await member('bob')
  mallory = await member('mallory', { tenant: 'evil' })
  const admin = await bearer({ role: 'admin' })
  await running.put('/db/acme/stock', { kind: 'counter', min: 0 }, admin)
})
afterEach(() => running.stop())

async function send(method: string, path: string, value: unknown, headers: Record<string, string>, key = KEY) {
  const all = { 'idempotency-key': key, ...headers }
  const answer = await running.fetch(
    path,
    value === undefined ? { method, headers: all } : jsonRequest(method, value, all),
  )
  const { requestId: _, ...body } = (await answer.json()) as Record<string, unknown>
  const { headers: got } = answer
  return {
    ...{ status: answer.status, body },
    ...{ location: got.get('location'), replayed: got.get('idempotency-replayed') },
  }
}

async function remembered(): Promise<number> {
  const { foreign, clients } = await store.operationCounts()
  return foreign + clients
}

function changeRules(rules: string): Promise<unknown> {
  return applyRules(store, { rules, mayWiden: true, who: 'test' })
}

describe('a key', () => {
  const ways: readonly (readonly [string, string, unknown])[] = [
    ['PUT', ORDER, { owner: 'ann' }],
    ['POST', '/db/acme/orders', { n: 1 }],
    ['POST', '/db/acme/stock/a', { add: 1 }],
    ['POST', '/commit', { writes: [{ path: ORDER, value: { owner: 'ann' } }] }],
  ]

  test.each(ways)(
    'reveals nothing to a tenant that may not do what another tenant did: %s %s',
    async (method, path, value) => {
      expect((await send(method, path, value, ann)).status).toBeLessThan(300)
      const refusal = await send(method, path, value, mallory)
      expect(refusal).toMatchObject({ status: 403, location: null, replayed: null })
      expect(refusal).toEqual(await send(method, path, value, mallory, 'another'))
      expect((await send(method, path, value, {})).status).toBe(401)
    },
  )

  test.each(ways)('belongs to one caller: %s %s', async (method, path, value) => {
    const first = await send(method, path, value, ann)
    const second = await send(method, path, value, await member('ann', { iss: 'https://other.example' }))
    expect([first.status, second.status].every(status => status < 300)).toBe(true)
    expect([first.replayed, second.replayed]).toEqual([null, null])
    expect(await send(method, path, value, ann)).toEqual({ ...first, replayed: 'true' })
  })

  test('belongs to a client id within an identity, too', async () => {
    const own = (sequence: number, settled: number) =>
      `f1.a-client-of-our-own.${sequence}.${settled}.${Math.floor(store.nowMs())}`
    const path = '/db/acme/orders'
    expect((await send('POST', path, { n: 1 }, ann, own(1, 0))).status).toBe(201)
    // Another caller can neither settle what this one waits for, nor take its place.
    expect((await send('POST', path, { n: 2 }, bob, own(9, 8))).status).toBe(201)
    expect(await send('POST', path, { n: 1 }, ann, own(1, 0))).toMatchObject({ status: 201, replayed: 'true' })
    expect((await send('POST', path, { n: 3 }, ann, own(2, 1))).status).toBe(201)
  })

  test('of additions sent together belongs to one caller', async () => {
    const value = { additions: [{ id: 'a', add: 1, key: KEY }] }
    const add = async (headers: Record<string, string>) =>
      (await send('POST', '/db/acme/stock', value, headers)).body.results
    expect(await add(ann)).toMatchObject([{ value: 1 }])
    expect(await add(bob)).toMatchObject([{ value: 2 }])
    expect(await add(ann)).toMatchObject([{ value: 1, replayed: true }])
    expect(await send('POST', '/db/acme/stock', value, mallory)).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN' },
    })
  })

  test("cannot be spelled so that it becomes another caller's", async () => {
    const first = await bearer({ iss: 'a', sub: 'b c', tenant: 'acme', role: 'member' })
    const second = await bearer({ iss: 'a b', sub: 'c', tenant: 'acme', role: 'member' })
    expect(await send('POST', '/db/acme/orders', {}, first)).toMatchObject({ status: 201, replayed: null })
    expect(await send('POST', '/db/acme/orders', {}, second)).toMatchObject({ status: 201, replayed: null })
    const [long, longer] = ['x'.repeat(254), 'x'.repeat(255)]
    expect((await send('POST', '/db/acme/orders', {}, ann, long)).status).toBe(201)
    expect(await send('POST', '/db/acme/orders', {}, ann, long)).toMatchObject({ replayed: 'true' })
    expect(await send('POST', '/db/acme/orders', {}, ann, longer)).toMatchObject({ status: 201, replayed: null })
  })

  test('of a token without a subject belongs to the tokens with the same claims', async () => {
    const path = '/db/acme/orders'
    const service = (more: Claims) => bearer({ tenant: 'acme', role: 'service', ...more })
    const first = await send('POST', path, { n: 1 }, await service({ device: { id: 1, at: 'x' } }))
    const renewed = await service({ auth_time: 7, device: { at: 'x', id: 1 } })
    expect(await send('POST', path, { n: 1 }, renewed)).toEqual({ ...first, replayed: 'true' })
    const other = await send('POST', path, { n: 1 }, await service({ device: { id: 2, at: 'x' } }))
    expect(other).toMatchObject({ status: 201, replayed: null })
  })

  test('of callers without a token is shared by all of them', async () => {
    const first = await send('POST', '/db/acme/inbox', { n: 1 }, {})
    expect(await send('POST', '/db/acme/inbox', { n: 1 }, {})).toEqual({ ...first, replayed: 'true' })
    expect(await send('POST', '/db/acme/inbox', { n: 1 }, ann)).toMatchObject({ status: 201, replayed: null })
  })
})

describe('a retry is answered as before', () => {
  test('after a delete', async () => {
    await running.put('/db/acme/mine/1', { owner: 'ann' }, ann)
    const first = await send('DELETE', '/db/acme/mine/1', undefined, ann)
    expect(first.status).toBe(200)
    expect(await send('DELETE', '/db/acme/mine/1', undefined, ann)).toEqual({ ...first, replayed: 'true' })
    // With another key, the request is refused.
    expect((await send('DELETE', '/db/acme/mine/1', undefined, ann, 'another')).status).toBe(403)
  })

  test.each([
    ['PUT', '/db/acme/mine/1', { owner: 'bob' }],
    ['POST', '/commit', { writes: [{ path: '/db/acme/mine/1', value: { owner: 'bob' } }] }],
  ])('after a transfer: %s %s', async (method, path, value) => {
    await running.put('/db/acme/mine/1', { owner: 'ann' }, ann)
    const first = await send(method, path, value, ann)
    expect(first.status).toBe(200)
    expect(await send(method, path, value, ann)).toEqual({ ...first, replayed: 'true' })
    expect((await send(method, path, value, ann, 'another')).status).toBe(403)
  })

  test('after a creation by a caller who may create, but not update', async () => {
    const first = await send('PUT', '/db/acme/receipts/1', { n: 1 }, ann)
    expect(first.status).toBe(201)
    expect(await send('PUT', '/db/acme/receipts/1', { n: 1 }, ann)).toEqual({ ...first, replayed: 'true' })
  })

  test('with a renewed token', async () => {
    const first = await send('PUT', ORDER, { n: 1 }, ann)
    const renewed = await member('ann', { auth_time: 5, device: 'another' })
    expect(await send('PUT', ORDER, { n: 1 }, renewed)).toEqual({ ...first, replayed: 'true' })
  })
})

describe('a retry is refused', () => {
  test.each<[string, Claims]>([
    ['a role', { role: 'none' }],
    ['its tenant', { tenant: 'globex' }],
  ])('of a caller who has since lost %s', async (_, lost) => {
    await running.put(ORDER, { n: 1 }, ann)
    expect((await send('DELETE', ORDER, undefined, ann, 'deleted')).status).toBe(200)
    const refusal = await send('DELETE', ORDER, undefined, await member('ann', lost), 'deleted')
    expect(refusal).toMatchObject({ status: 403, replayed: null })
  })

  test('after a change of rules that closes the bucket', async () => {
    await send('PUT', ORDER, { n: 1 }, ann)
    await changeRules(RULES.replaceAll('*/orders', '*/closed'))
    expect(await send('PUT', ORDER, { n: 1 }, ann)).toMatchObject({ status: 403, replayed: null })
    await changeRules(RULES)
    expect(await send('PUT', ORDER, { n: 1 }, ann)).toMatchObject({ status: 201, replayed: 'true' })
  })

  test('in the same words whether the key is old, in use or new', async () => {
    const old = '018f0000-0000-7000-8000-000000000000'
    const refusals = await Promise.all(
      [old, KEY, KEY, KEY, 'another'].map(key => send('PUT', ORDER, { n: 1 }, mallory, key)),
    )
    for (const refusal of refusals) expect(refusal).toEqual(refusals[0])
    expect(refusals[0]!.status).toBe(403)
  })
})

describe('nothing is remembered', () => {
  test.each([
    ['PUT', ORDER, { n: 1 }],
    ['PUT', '/db/acme/mine/1', { owner: 'ann' }],
    ['PUT', '/db/acme/stock/a', 'no number'],
    ['PATCH', '/db/acme/orders/none', { n: 1 }],
    ['DELETE', '/db/acme/orders/none', undefined],
    ['POST', '/db/acme/orders', { n: 1 }],
    ['POST', '/db/acme/stock/a', { add: 1 }],
    ['POST', '/db/acme/stock', { additions: [{ id: 'a', add: 1, key: KEY }] }],
    ['POST', '/commit', { writes: [{ path: ORDER, value: {} }] }],
    ['POST', '/commit', { reads: [{ path: ORDER, version: 7 }], writes: [{ path: ORDER, value: {} }] }],
  ])('of callers who may not do it: %s %s', async (method, path, value) => {
    const before = await remembered()
    const position = await store.position()
    const type = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
    for (const headers of [{}, mallory, await member('mallory', { role: 'none', tenant: 'evil' })]) {
      for (const key of [KEY, `f1.a-client-of-our-own.1.0.${Math.floor(store.nowMs())}`]) {
        const { status } = await send(method, path, value, { ...headers, ...type }, key)
        expect([200, 400, 401, 403, 415]).toContain(status)
      }
    }
    expect(await remembered()).toBe(before)
    expect(await store.position()).toBe(position)
  })

  test.each([
    ['PUT', ORDER, '{"n":', 'application/json'],
    ['PUT', ORDER, 'text', 'text/plain'],
    ['PUT', '/db/acme/stock/a', '"text"', 'application/json'],
    ['POST', '/db/acme/orders', '[]', 'application/json'],
    ['POST', '/commit', '{"writes":[{"path":"/db/acme/orders/1","value":7}]}', 'application/json'],
  ])('of malformed requests: %s %s %s', async (method, path, body, type) => {
    const before = await remembered()
    const headers = { 'idempotency-key': KEY, 'content-type': type, ...(await bearer({ role: 'admin' })) }
    const answer = await running.fetch(path, { method, headers, body })
    expect([400, 415]).toContain(answer.status)
    await answer.body?.cancel()
    expect(await remembered()).toBe(before)
  })

  test('so the key still works for the valid request', async () => {
    for (const headers of [{}, mallory, ann]) {
      const body = { method: 'PUT', body: '{"n":', headers: { 'idempotency-key': KEY, ...headers } }
      await (await running.fetch(ORDER, body)).body?.cancel()
    }
    expect((await send('PUT', ORDER, { n: 1 }, ann)).status).toBe(201)
  })
})
