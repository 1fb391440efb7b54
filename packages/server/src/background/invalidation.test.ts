import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, describe, expect, test } from 'vitest'
import type { FreshetServerOptions } from '../freshet-server.js'
import type { CacheConfig } from '../invalidation/cache-config.js'
import { createJsonLog } from '../monitoring/log.js'
import { type RunningServer, startServer, until } from '../testing/running-server.js'
import { type StandIn, startStandIn } from '../testing/stand-in.js'

const SECRET = 'only-for-purges'
const GREEN = '/db/shop/tea/green'
const WHITE = '/db/shop/tea/white'
const LISTS = '/db/shop/tea'

const toStop: { stop(): Promise<void> }[] = []

afterEach(async () => {
  for (const each of toStop.splice(0).reverse()) await each.stop()
})

async function start(options: Partial<FreshetServerOptions> = {}): Promise<RunningServer> {
  const server = await startServer({ store: createMemoryStore(), ...options })
  toStop.push(server)
  return server
}

/** Accepts purges with the secret, as the shipped configurations do. */
async function startProxy(port?: number): Promise<StandIn> {
  const proxy = await startStandIn(
    ({ headers }) => ({ status: headers['freshet-purge-secret'] === SECRET ? 200 : 403 }),
    port,
  )
  toStop.push(proxy)
  return proxy
}

function configOf(proxy: StandIn, more: Partial<CacheConfig> = {}): CacheConfig {
  return { name: 'edge', kind: 'squid', url: proxy.url, secret: SECRET, ...more }
}

const purged = ({ asked }: StandIn) => asked.map(({ method, url }) => `${method} ${url}`)
const times = (proxy: StandIn, url: string) => proxy.asked.filter(each => each.url === url).length

async function metric(server: RunningServer, name: string, cache = 'edge'): Promise<number> {
  const text = await (await server.fetch('/metrics')).text()
  const line = text.split('\n').find(each => each.startsWith(`freshet_invalidation_${name}{cache="${cache}"}`))
  return Number(line?.split(' ')[1])
}

test('a change is purged at once, and again after the longest response', async () => {
  const proxy = await startProxy()
  const server = await start({ caches: [configOf(proxy)], settings: { responseMsMax: 1000 } })
  await server.put(GREEN, { price: 5 })
  await until(() => proxy.asked.length >= 2)
  expect(purged(proxy).slice(0, 2)).toEqual([`PURGE ${GREEN}`, `PURGE ${LISTS}`])
  await until(async () => (await metric(server, 'purges_total')) === 4)
  expect(proxy.asked).toHaveLength(4)
  expect(await metric(server, 'repeats_total')).toBe(2)
  expect(await metric(server, 'lag_positions')).toBe(0)
  expect(await metric(server, 'queue_paths')).toBe(0)
})

test('a change is purged for each site, since caches keep copies by host', async () => {
  const proxy = await startProxy()
  const sites = ['https://shop.example', 'http://localhost:8080']
  const server = await start({ caches: [configOf(proxy, { sites })] })
  await server.put(GREEN, {})
  await until(() => proxy.asked.length === 4)
  expect(new Set(proxy.asked.map(({ headers, url }) => `${headers.host}${url}`))).toEqual(
    new Set([`shop.example${GREEN}`, `shop.example${LISTS}`, `localhost:8080${GREEN}`, `localhost:8080${LISTS}`]),
  )
})

describe('a cache that is down', () => {
  test('does not delay the others, and is purged when it is up again; the log has both events, once', async () => {
    const [down, up] = [await startProxy(), await startProxy()]
    const lines: string[] = []
    const log = createJsonLog({ write: line => lines.push(line) })
    const caches = [configOf(down, { name: 'down' }), configOf(up, { name: 'up' })]
    const server = await start({ caches, log })
    down.trouble = 'cut'
    for (let i = 0; i < 20; i++) await server.put(GREEN, { i })
    await until(() => times(up, GREEN) > 0)
    await until(async () => (await metric(server, 'down', 'down')) === 1)
    expect(await metric(server, 'lag_positions', 'down')).toBeGreaterThan(0)
    expect(await metric(server, 'lag_seconds', 'down')).toBeGreaterThan(0)
    const askedBefore = down.asked.length
    down.trouble = undefined
    await until(async () => (await metric(server, 'lag_positions', 'down')) === 0)
    // A path that changed twenty times is purged twice: for the change under way, and for the rest.
    expect(down.asked.slice(askedBefore).filter(({ url }) => url === GREEN).length).toBeLessThanOrEqual(2)
    const about = lines.map(line => JSON.parse(line)).filter(({ cache }) => cache === 'down')
    expect(about.map(({ message }) => message)).toEqual(['cache is down', 'cache is up again'])
  })

  test('because of a wrong secret says so, but not which', async () => {
    const proxy = await startStandIn(({ headers }) => ({ status: 403, body: `no ${headers['freshet-purge-secret']}` }))
    toStop.push(proxy)
    const lines: string[] = []
    const server = await start({ caches: [configOf(proxy)], log: createJsonLog({ write: line => lines.push(line) }) })
    await server.put(GREEN, {})
    await until(() => lines.some(line => line.includes('cache is down')))
    expect(lines.find(line => line.includes('cache is down'))).toContain('was answered with 403: no (secret)')
    expect(lines.join()).not.toContain(SECRET)
    expect(await (await server.fetch('/metrics')).text()).not.toContain(SECRET)
  })
})

describe('after a restart', () => {
  type Condition = (server: RunningServer) => boolean | Promise<boolean>

  /** A server that is stopped after one write, when the condition holds. */
  async function putWhileRunning(options: FreshetServerOptions, path: string, isEnough: Condition = () => true) {
    const server = await startServer(options)
    await server.put(path, {})
    await until(() => isEnough(server))
    await server.stop()
  }

  test('purging continues from the cursor: missed changes are purged, and settled ones are not purged again', async () => {
    const proxy = await startProxy()
    const store = createMemoryStore()
    const options = { store, caches: [configOf(proxy)], settings: { responseMsMax: 1000 } }
    await putWhileRunning(options, GREEN, async server => (await metric(server, 'repeats_total')) === 2)
    await putWhileRunning({ ...options, caches: [] }, WHITE)
    await start(options)
    await until(() => times(proxy, WHITE) >= 1)
    expect(times(proxy, GREEN)).toBe(2)
  })

  test('a path that was purged only once is purged again when that is due', async () => {
    const proxy = await startProxy()
    const store = createMemoryStore()
    const options = { store, caches: [configOf(proxy)], settings: { responseMsMax: 1000 } }
    await putWhileRunning(options, GREEN, () => times(proxy, GREEN) === 1)
    await start(options)
    await until(() => times(proxy, GREEN) === 2)
  })

  test('purging starts with changes that were never purged, not with those that were purged once', async () => {
    const proxy = await startProxy()
    const store = createMemoryStore()
    const options = { store, caches: [configOf(proxy)] }
    await putWhileRunning(options, GREEN, async server => (await metric(server, 'purges_total')) === 2)
    await putWhileRunning({ ...options, caches: [] }, WHITE)
    await start(options)
    await until(() => times(proxy, WHITE) === 1)
    expect(times(proxy, GREEN)).toBe(1)
  })

  test('a cursor of an earlier version is accepted', async () => {
    const proxy = await startProxy()
    const store = createMemoryStore()
    const first = await startServer({ store })
    const { position } = await first.put(GREEN, {})
    await first.put(WHITE, {})
    await first.stop()
    await store.remember('invalidation/edge', new TextEncoder().encode(`${position}`))
    await start({ store, caches: [configOf(proxy)] })
    await until(() => times(proxy, WHITE) === 1)
    expect(times(proxy, GREEN)).toBe(0)
  })

  test('a cursor behind the trimmed log is reported, and purging continues', async () => {
    const proxy = await startProxy()
    const store = createMemoryStore()
    const lines: string[] = []
    const log = createJsonLog({ write: line => lines.push(line) })
    const options = { store, log, caches: [configOf(proxy)] }
    const first = await startServer(options)
    await first.put(GREEN, {})
    await first.put(WHITE, {})
    await first.stop()
    await store.trim(await store.position())
    const second = await start(options)
    await second.put('/db/shop/tea/black', {})
    await until(() => times(proxy, '/db/shop/tea/black') === 1)
    expect(lines.join()).toContain('the copies that were not purged have expired')
  })
})

test('the start warns of caches that would keep old compressed forms', async () => {
  const proxy = await startProxy()
  const lines: string[] = []
  const log = createJsonLog({ write: line => lines.push(line) })
  await start({ caches: [configOf(proxy)], log, settings: { compressBytesMin: 100_000_000 } })
  await start({ caches: [configOf(proxy, { kind: 'varnish' })], log })
  expect(lines.join()).not.toContain('compressBytesMin')
  await start({ caches: [configOf(proxy)], log })
  expect(lines.join()).toContain('set compressBytesMin above 4194304')
})

test('only the keeper purges caches', async () => {
  const proxy = await startProxy()
  const server = await start({ caches: [configOf(proxy)], settings: { mayKeep: false } })
  await server.put(GREEN, {})
  expect(await (await server.fetch('/metrics')).text()).not.toContain('cache="edge"')
  expect(proxy.asked).toEqual([])
})

test('of two servers, one purges caches; when it stops, the other takes over', async () => {
  const proxy = await startProxy()
  const store = createMemoryStore()
  const options = { store, caches: [configOf(proxy)], settings: { responseMsMax: 60_000 } }
  const first = await startServer(options)
  const second = await start(options)
  await second.put(GREEN, {})
  await until(async () => (await metric(first, 'purges_total')) === 2)
  expect([proxy.asked.length, await metric(second, 'purges_total')]).toEqual([2, Number.NaN])
  await first.stop()
  await second.put(GREEN, { price: 1 })
  await until(async () => (await metric(second, 'purges_total')) > 0)
  expect(times(proxy, GREEN)).toBeGreaterThanOrEqual(2)
})

describe('tags', () => {
  const fastly: CacheConfig = {
    name: 'f',
    kind: 'fastly',
    service: 'a',
    secret: SECRET,
    tags: true,
    url: 'http://127.0.0.1:9',
  }

  test('are on objects and lists if a cache is purged by tags', async () => {
    const server = await start({ caches: [fastly] })
    await server.put('/db/shop/tea/a%20b', {})
    const object = await server.fetch('/db/shop/tea/a%20b')
    expect(object.headers.get('surrogate-key')).toBe('/db/shop/tea/a%20b')
    expect((await server.fetch(`${LISTS}?limit=1`)).headers.get('surrogate-key')).toBe(LISTS)
  })

  test('are absent otherwise', async () => {
    const server = await start({ caches: [{ ...fastly, tags: false, sites: ['https://shop.example'] }] })
    await server.put(GREEN, {})
    expect((await server.fetch(GREEN)).headers.get('surrogate-key')).toBeNull()
    expect((await server.fetch(LISTS)).headers.get('surrogate-key')).toBeNull()
  })
})

test('a wrong configuration of caches is refused when the server is created, without showing secrets', async () => {
  const caches = [{ name: 'edge', kind: 'squid', secret: SECRET }] as unknown as CacheConfig[]
  await expect(start({ caches })).rejects.toThrow(
    /^The configuration of the caches has mistakes. cache "edge": it needs an address/,
  )
})

test('lists are banned in Varnish if its VCL supports that', async () => {
  const proxy = await startProxy()
  const server = await start({ caches: [configOf(proxy, { kind: 'varnish', bans: true })] })
  await server.put(GREEN, {})
  await until(() => proxy.asked.length === 2)
  expect(purged(proxy)).toEqual([`PURGE ${GREEN}`, `PURGE ${LISTS}`])
  expect(proxy.asked.map(({ headers }) => headers['freshet-ban'])).toEqual([undefined, '^/db/shop/tea($|\\?)'])
})

test('the position of its answer reveals an nginx that does not fetch again', async () => {
  const lines: string[] = []
  const proxy = await startStandIn(() => ({ status: 200, headers: { 'freshet-position': '0' } }))
  toStop.push(proxy)
  const log = createJsonLog({ write: line => lines.push(line) })
  const server = await start({ caches: [configOf(proxy, { kind: 'nginx' })], log })
  await server.put(GREEN, {})
  await until(() => lines.some(line => line.includes('was not fetched again. Is the secret right?')))
  expect(proxy.asked[0]!.method).toBe('HEAD')
})
