/** Permissions through real caches: two tenants, hostile requests, and rules that change while copies are in caches. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { WAYS } from '@freshet/lab/dist/experiments/hostile-requests/hostile-requests.js'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { runHostileLoad } from '@freshet/lab/dist/hostile-load/run-hostile-load.js'
import { startTenantsServer, type TenantsServer } from '@freshet/lab/dist/hostile-load/tenants-server.js'
import { applyRules, createFreshetServer, signToken } from '@freshet/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const REQUESTS = 400
const SECRET = 'a secret of at least thirty-two bytes'
const TOKENS = { secret: SECRET, audience: 'freshet', leewayMs: 0 }
const skips = (['varnish', 'squid', 'nginx'] as const).some(kind => reasonToSkip(kind) !== undefined)

afterEach(endCaches)

describe.each(WAYS)('$name', ({ start }) => {
  let server: TenantsServer

  beforeEach(async () => {
    server = await startTenantsServer()
  })
  afterEach(() => server.stop())

  test.skipIf(skips)("no hostile request reveals another's data, makes the server fail, or is cached", async () => {
    const { url } = await start(server.url)
    const { people } = server
    const port = Number(new URL(url).port)
    const outcome = await runHostileLoad({ port, people, requests: REQUESTS, random: createRandom(7) })
    const { leaks, ownFailures, kept, ownShown, publicShown } = outcome
    expect({ leaks, ownFailures, kept }).toEqual({ leaks: [], ownFailures: [], kept: [] })
    expect(Math.min(ownShown, publicShown)).toBeGreaterThan(0)
  })

  test.skipIf(skips)('each user sees their own data under the same URL, and strangers see nothing', async () => {
    const { url } = await start(server.url)
    for (const path of ['/db/acme/notes/1', '/db/acme/notes/1?at=1', '/db/acme/notes?embed', '/db/acme/notes?sort=i']) {
      for (const { token, tenant, name } of [...server.people, ...server.people]) {
        const answer = await fetch(
          url + path,
          token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
        )
        const shown = (await answer.text()).includes('private-of-acme')
        expect([path, name, shown]).toEqual([path, name, tenant === 'acme'])
        expect([200, 401, 403]).toContain(answer.status)
      }
    }
  })

  test.skipIf(skips)('public data is shown to all, and a purge from outside is refused', async () => {
    const { url } = await start(server.url)
    const news = `${url}/db/acme/news/1`
    expect(await (await fetch(news)).json()).toEqual({ text: 'public of acme' })
    for (const headers of [
      {},
      { 'freshet-purge-secret': 'guess' },
      { authorization: `Bearer ${server.people[0]!.token}` },
    ]) {
      expect([403, 405]).toContain((await fetch(news, { method: 'PURGE', headers })).status)
    }
  })
})

const OPEN = 'bucket shop/products\n  read, list\n  write if claim.sub == "ann"\n'
const CLOSED = OPEN.replace('read, list', 'read, list if claim.sub == "ann"')

test.skipIf(skips)('a closed bucket is closed to sessions at once, whatever caches still hold', async () => {
  const store = createMemoryStore()
  const start = async (rules: string, port = 0) => {
    await applyRules(store, { rules, who: 'a test' })
    const server = createFreshetServer({ store, settings: { lifetimeMs: 600_000 }, access: { rules, tokens: TOKENS } })
    return { server, ...(await server.listen({ port })) }
  }
  const open = await start(OPEN)
  const varnish = await startVarnish({ origin: open.url })
  const authorization = await signToken({
    claims: { sub: 'ann' },
    audience: 'freshet',
    expiresMs: 60_000,
    secret: SECRET,
  })
  const ann = await connect(varnish.url, { authorization })
  await ann.bucket('shop/products').put('tea', { price: 5 })
  const [fresh, kept] = [
    await connect(varnish.url, { memoryBytesMax: 0, staleness: 0 }),
    await connect(varnish.url, { staleness: 0 }),
  ]
  for (const db of [fresh, kept]) expect(await db.bucket('shop/products').get('tea')).toEqual({ price: 5 })
  const plain = `${varnish.url}/db/shop/products/tea`
  await fetch(plain)

  await open.server.close({ graceMs: 100 })
  const closed = await start(CLOSED, open.port)
  // A reader without sketches gets the cache's copy for as long as it lives: that is the promise for such readers.
  expect(await (await fetch(plain)).json()).toEqual({ price: 5 })
  const late = await connect(varnish.url, { staleness: 0 })
  for (const db of [fresh, kept, late]) {
    await expect(db.bucket('shop/products').get('tea')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  }
  expect(await ann.bucket('shop/products').get('tea')).toEqual({ price: 5 })
  for (const db of [ann, fresh, kept, late]) db.close()
  await closed.server.close({ graceMs: 100 })
  await store.close()
})

test('an expired token is replaced, and no connection sees what another connection read', async () => {
  const store = createMemoryStore()
  const rules = 'bucket shop/orders\n  read if object.owner == claim.sub\n  list, create, update if authenticated\n'
  const server = createFreshetServer({ store, access: { rules, tokens: TOKENS } })
  const { url } = await server.listen({ port: 0 })
  const tokenOf = (sub: string, expiresMs: number) =>
    signToken({ claims: { sub }, audience: 'freshet', expiresMs, secret: SECRET })
  const tokens = [await tokenOf('ann', -60_000), await tokenOf('ann', 60_000)]
  const ann = await connect(url, { authorization: () => tokens.shift()! })
  const orders = ann.bucket<{ owner: string }>('shop/orders')
  await orders.put('1', { owner: 'ann' })
  expect(tokens).toEqual([])
  expect(await orders.get('1')).toEqual({ owner: 'ann' })
  expect(await orders.get('1')).toEqual({ owner: 'ann' })
  const bob = await connect(url, { authorization: await tokenOf('bob', 60_000) })
  await expect(bob.bucket('shop/orders').get('1')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  const listed = []
  for await (const each of bob.bucket('shop/orders').list()) listed.push(each.id)
  expect(listed).toEqual([])
  for (const db of [ann, bob]) db.close()
  await server.close({ graceMs: 100 })
  await store.close()
})

test('a token is not sent when a connection is redirected elsewhere', async () => {
  const seen = { here: [] as (string | undefined)[], elsewhere: [] as (string | undefined)[] }
  const store = createMemoryStore()
  const tokens = { secret: 'a secret of at least thirty-two bytes', audience: 'freshet', leewayMs: 0 }
  const rules = 'bucket shop/orders\n  read if authenticated'
  const server = createFreshetServer({ store, access: { rules, tokens } })
  await server.listen({ port: 0 })
  const elsewhere = createServer((request, response) => {
    seen.elsewhere.push(request.headers.authorization)
    server.handle(request, response)
  })
  await new Promise<void>(resolve => elsewhere.listen(0, '127.0.0.1', resolve))
  const here = createServer((request, response) => {
    seen.here.push(request.headers.authorization)
    const { port } = elsewhere.address() as AddressInfo
    response.writeHead(307, { location: `http://127.0.0.1:${port}${request.url}` }).end()
  })
  await new Promise<void>(resolve => here.listen(0, '127.0.0.1', resolve))
  const db = await connect(`http://127.0.0.1:${(here.address() as AddressInfo).port}`, { authorization: 'a' })
  await expect(db.bucket('shop/orders').get('1')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  expect(seen.here).toContain('Bearer a')
  expect(new Set(seen.elsewhere)).toEqual(new Set([undefined]))
  db.close()
  for (const each of [here, elsewhere]) each.close()
  await server.close({ graceMs: 100 })
  await store.close()
})
