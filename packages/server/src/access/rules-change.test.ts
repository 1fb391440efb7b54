/** A server that hears of other rules only when it reads the log: what it answers is judged by them from there on. */

import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/stores/memory'
import { SignJWT } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { tellingNothing, withMethods } from '../testing/odd-stores.js'
import { jsonRequest, type RunningServer, startServer } from '../testing/running-server.js'

const SECRET = 'a secret of at least thirty-two bytes'
const TOKENS = { secret: SECRET, audience: 'freshet', leewayMs: 0 }
const ADMIN = 'admin if claim.role == "admin"\n'
const OPEN = `${ADMIN}bucket shop/*\n  read, list`
const CLOSED = `${ADMIN}bucket shop/*\n  read, list if claim.role == "staff"`

const PATHS = [
  '/db/shop/products/tea',
  '/db/shop/products/tea?at=1',
  '/db/shop/products',
  '/db/shop/products?ids=tea',
  '/db/shop/products?where=%7B%22price%22%3A5%7D',
  '/db/shop/views?sum',
  '/db/shop/views?top=3',
]
const UNKEPT = ['/db', '/db/shop', '/db/shop/products?settings', '/db/shop/products?schemas']

let store: Store
let servers: RunningServer[]
let admin: Record<string, string>
let staff: Record<string, string>

async function bearer(claims: Record<string, unknown>): Promise<Record<string, string>> {
  const token = await new SignJWT({ aud: 'freshet', ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET))
  return { authorization: `Bearer ${token}` }
}

async function start(over: Store, rules: string): Promise<RunningServer> {
  const server = await startServer({ store: over, access: { rules, tokens: TOKENS } })
  servers.push(server)
  return server
}

beforeEach(async () => {
  servers = []
  store = createMemoryStore({ positionsAfter: 0 })
  admin = await bearer({ sub: 'root', role: 'admin' })
  staff = await bearer({ sub: 'sue', role: 'staff' })
  const first = await start(store, OPEN)
  await first.put('/db/shop/products/tea', { price: 5 }, admin)
  await first.put('/db/shop/views', { kind: 'counter' }, admin)
  await first.put('/db/shop/views/tea', 3, admin)
})
afterEach(() => Promise.all(servers.map(server => server.stop())))

describe('when another server closes a bucket', () => {
  let behind: RunningServer

  beforeEach(async () => {
    behind = await start(tellingNothing(store), OPEN)
    for (const path of PATHS) {
      expect((await behind.fetch(path)).headers.get('cache-control'), path).toMatch(/^public/)
    }
    await start(store, CLOSED)
  })

  test.each(PATHS)('the next read of %s is refused', async path => {
    const answer = await behind.fetch(path)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
  })

  test.each(PATHS)('the next read of %s by who still may is kept by nobody', async path => {
    const answer = await behind.fetch(path, { headers: staff })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
  })

  test.each(UNKEPT)('%s shows nothing of it any more', async path => {
    const answer = await behind.fetch(path)
    expect(await answer.text()).not.toMatch(/shop"|products|views|kind|"schemas"/)
    expect((await behind.fetch(path, { headers: staff })).status).toBe(200)
  })
})

test('a server that is not to put its rules there takes those of the store', async () => {
  await start(store, CLOSED)
  const options = { store, access: { rules: OPEN, tokens: TOKENS }, putsRules: false }
  const again = await startServer(options)
  servers.push(again)
  expect((await again.fetch('/db/shop/products/tea')).status).toBe(401)
  expect((await again.fetch('/db/shop/products/tea', { headers: staff })).status).toBe(200)
  const { rules } = (await (await again.fetch('/access', { headers: admin })).json()) as { rules: string }
  expect(rules).toBe(CLOSED)
})

test.each(PATHS)('when another server opens a bucket, the next read of %s is answered to everybody', async path => {
  await start(store, CLOSED)
  const behind = await start(tellingNothing(store), CLOSED)
  expect((await behind.fetch(path)).status).toBe(401)
  await start(store, OPEN)
  const answer = await behind.fetch(path)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('cache-control')).toMatch(/^public/)
})

describe('when another server closes a bucket while it is read', () => {
  /** Closes it, and changes what is in it, before what is asked for is read, and after the log was. */
  async function startInterrupted(method: 'get' | 'getMany' | 'scan' | 'query'): Promise<RunningServer> {
    let isArmed = false
    const interrupt = async () => {
      if (!isArmed) return
      isArmed = false
      const other = await start(store, CLOSED)
      await other.put('/db/shop/products/tea', { price: 5, secret: true }, admin)
      await other.put('/db/shop/views/tea', 4, admin)
    }
    const inner = tellingNothing(store)
    const read = inner[method].bind(inner) as (...given: unknown[]) => unknown
    const odd = withMethods(inner, {
      [method]: async (...given: unknown[]) => {
        // Not of rules, nor of what buckets are like.
        if (method !== 'get' || given[0] === 'shop/products/tea') await interrupt()
        return read(...given)
      },
    })
    const server = await start(odd, OPEN)
    isArmed = true
    return server
  }

  test.each([
    ['get', '/db/shop/products/tea'],
    ['scan', '/db/shop/products?embed'],
    ['getMany', '/db/shop/products?embed&ids=tea'],
    ['query', '/db/shop/products?where=%7B%22price%22%3A5%7D'],
    ['scan', '/db/shop/views?sum'],
  ] as const)('by %s, what is in it since is not told: %s', async (method, path) => {
    const interrupted = await startInterrupted(method)
    const answer = await interrupted.fetch(path)
    expect(await answer.text()).not.toMatch(/secret|"sum":4/)
    expect(answer.status).toBe(401)
    expect((await interrupted.fetch(path, { headers: staff })).headers.get('cache-control')).toBe('private, no-store')
  })
})

describe('a server that was given no rules, when another gives the store some', () => {
  async function startWithout(options: { storedRules?: 'ignore' } = {}): Promise<RunningServer> {
    store = createMemoryStore({ positionsAfter: 0 })
    const server = await startServer({ store, ...options })
    servers.push(server)
    await server.put('/db/shop/products/tea', { price: 5 })
    await server.put('/db/shop/views', { kind: 'counter' })
    await server.put('/db/shop/views/tea', 3)
    return server
  }

  const putStatus = async (server: RunningServer) =>
    (await server.fetch('/db/shop/products/tea', jsonRequest('PUT', { price: 1 }))).status

  test('lets nobody do any more what they do not let everybody do', async () => {
    const bare = await startWithout()
    for (const path of PATHS) expect((await bare.fetch(path)).status, path).toBe(200)
    await start(store, CLOSED)
    for (const path of PATHS) {
      const answer = await bare.fetch(path)
      expect(answer.status, path).toBe(401)
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
    }
    expect(await putStatus(bare)).toBe(401)
    expect((await bare.fetch('/metrics')).status).toBe(401)
    const answer = await bare.fetch('/db/shop/products/tea', { headers: staff })
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('Start it with --rules')])
  })

  test('goes on to answer what they let everybody read, and lets all do everything again when they are gone', async () => {
    const bare = await startWithout()
    await start(store, OPEN)
    expect((await bare.fetch('/db/shop/products/tea')).status).toBe(200)
    expect(await putStatus(bare)).toBe(401)
    servers.push(await startServer({ store, storedRules: 'remove' }))
    expect(await putStatus(bare)).toBe(200)
  })

  test('also if it starts again by itself, and is not to look at rules', async () => {
    await startWithout()
    await start(store, CLOSED)
    const again = await startServer({ store, putsRules: false })
    servers.push(again)
    expect((await again.fetch('/db/shop/products/tea')).status).toBe(401)
  })

  test('goes on as before, if it is a tool that nobody else reaches', async () => {
    const tool = await startWithout({ storedRules: 'ignore' })
    await start(store, CLOSED)
    expect(await putStatus(tool)).toBe(200)
  })
})
