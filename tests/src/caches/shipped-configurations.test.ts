/** The files in deploy/, each in the cache that it is for, in front of a real server. */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@freshet/client'
import { endCaches, type RunningCache } from '@freshet/lab/dist/caches/cache-process.js'
import { startHaproxy } from '@freshet/lab/dist/caches/haproxy.js'
import { startNginx } from '@freshet/lab/dist/caches/nginx.js'
import { startSquid } from '@freshet/lab/dist/caches/squid.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type MemoryServer, startMemoryServer } from '../end-to-end/memory-server.js'
import { reasonToSkip } from '../runner/services.js'
import { type Asked, type ScriptedOrigin, startScriptedOrigin } from './scripted-origin.js'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const TEA = '/db/shop/products/tea'

const KINDS = [
  { kind: 'varnish', start: (origin: string) => startVarnish({ origin }), discards: 'PURGE' },
  { kind: 'squid', start: (origin: string) => startSquid({ origin }), discards: 'PURGE' },
  { kind: 'nginx', start: (origin: string) => startNginx({ origin }), discards: 'HEAD' },
] as const

const SPOOFED = { 'X-Forwarded-For': '192.0.2.1', Forwarded: 'for=192.0.2.1' }
const SENDERS = { forwardedFor: ['192.0.2.1', '127.0.0.1'], forwarded: undefined }

/** The nearest sender is last. */
function sendersOf({ headers }: Asked) {
  const forwardedFor = String(headers['x-forwarded-for']).split(',')
  return { forwardedFor: forwardedFor.map(address => address.trim()), forwarded: headers.forwarded }
}

afterAll(endCaches)

async function text(url: string, init: RequestInit = {}): Promise<string> {
  return (await fetch(url, init)).text()
}

describe.each(KINDS)('$kind', ({ kind, start, discards }) => {
  const skips = reasonToSkip(kind) !== undefined
  let server: MemoryServer
  let origin: ScriptedOrigin

  beforeEach(async () => {
    if (skips) return
    server = await startMemoryServer({ lifetimeMs: 60_000 })
    origin = await startScriptedOrigin({ 'Cache-Control': 'public, max-age=60' })
    await write(1)
  })

  afterEach(async () => {
    await endCaches()
    await origin?.stop()
    await server?.stop()
  })

  async function write(price: number): Promise<void> {
    await text(server.url + TEA, { method: 'PUT', headers: JSON_TYPE, body: `{"price":${price}}` })
  }

  function discard(cache: RunningCache, secret: string | undefined): Promise<Response> {
    const headers: Record<string, string> = secret === undefined ? {} : { 'Freshet-Purge-Secret': secret }
    return fetch(cache.url + TEA, { method: discards, headers })
  }

  test.skipIf(skips)('is distinguished by the server, which counts its requests separately', async () => {
    const cache = await start(server.url)
    for (let i = 0; i < 5; i++) expect(await text(cache.url + TEA)).toBe('{"price":1}')
    await text(server.url + TEA)
    const counted = async () => {
      const lines = (await text(`${server.url}/metrics`)).split('\n')
      return lines.filter(line => /^freshet_fetches_total.* [1-9]/.test(line)).sort((a, b) => a.length - b.length)
    }
    await expect
      .poll(counted)
      .toEqual([
        'freshet_fetches_total{via="direct",status="200"} 1',
        expect.stringMatching(new RegExp(`^freshet_fetches_total\\{via="[^"]*${kind}[^"]*",status="200"\\} 1$`, 'i')),
      ])
  })

  test.skipIf(skips)('discards a copy for a client that knows the secret, and for no other', async () => {
    const cache = await start(server.url)
    expect(await text(cache.url + TEA)).toBe('{"price":1}')
    await write(2)
    const wrong = [undefined, '', 'change-me', `${cache.secret}x`, cache.secret.toUpperCase(), ` 1 ${cache.secret}`]
    for (const secret of wrong) await discard(cache, secret)
    expect(await text(cache.url + TEA)).toBe('{"price":1}')
    expect((await discard(cache, cache.secret)).status).toBe(200)
    expect(await text(cache.url + TEA)).toBe('{"price":2}')
  })

  test.skipIf(skips)('refused purges do not reach the server', async () => {
    const behind = await start(origin.url)
    const { status } = await fetch(`${behind.url}/a`, { method: 'PURGE' })
    expect([403, 405]).toContain(status)
    expect(origin.asked).toEqual([])
  })

  test.skipIf(skips)('distinguishes URLs by their whole query, including its order', async () => {
    const behind = await start(origin.url)
    const urls = ['/a', '/a?at=1', '/a?at=2', '/a?x=1&y=2', '/a?y=2&x=1', '/a?x=1']
    for (const url of [...urls, ...urls]) await text(behind.url + url)
    expect(origin.asked.map(({ url }) => url)).toEqual(urls)
  })

  test.skipIf(skips)('keeps one copy, whichever host name the request uses', async () => {
    const behind = await start(origin.url)
    await text(`${behind.url}/a`)
    await text(`${behind.url.replace('127.0.0.1', 'localhost')}/a`)
    expect(origin.asked).toHaveLength(1)
  })

  test.skipIf(skips)('forwards Authorization, and caches no answer to a request with it', async () => {
    const behind = await start(origin.url)
    for (const permission of ['Bearer one', 'Bearer two', 'Bearer one']) {
      await text(`${behind.url}/a`, { headers: { Authorization: permission } })
    }
    await text(`${behind.url}/a`)
    expect(origin.asked.map(({ headers }) => headers.authorization)).toEqual([
      ...['Bearer one', 'Bearer two', 'Bearer one'],
      undefined,
    ])
  })

  test.skipIf(skips)('adds the address of the sender last, whatever the request itself says', async () => {
    const behind = await start(origin.url)
    for (const path of ['/a', '/coherence?nonce=1', '/coherence/events'])
      await text(behind.url + path, { headers: SPOOFED })
    await text(`${behind.url}/a`, { method: 'PUT', headers: SPOOFED, body: '{}' })
    expect(origin.asked.map(sendersOf)).toEqual(Array.from({ length: 4 }, () => SENDERS))
  })

  test.skipIf(skips)('serves nothing past its lifetime, even if the server does not forbid it', async () => {
    origin.headers = { 'Cache-Control': 'public, max-age=1' }
    const behind = await start(origin.url)
    expect(await text(`${behind.url}/a`)).toBe('1')
    origin.version = 2
    await delay(2100)
    expect(await text(`${behind.url}/a`)).toBe('2')
  })

  test.skipIf(skips)('keeps a copy that has aged elsewhere only for the rest of its lifetime', async () => {
    origin.headers = { 'Cache-Control': 'public, max-age=60', Age: '59' }
    const behind = await start(origin.url)
    await text(`${behind.url}/a`)
    origin.version = 2
    await delay(2100)
    expect(await text(`${behind.url}/a`)).toBe('2')
  })

  test.skipIf(skips)('lets readers know how old a copy is: by Age, or by the Date of the server', async () => {
    const cache = await start(server.url)
    await text(cache.url + TEA)
    await delay(2100)
    const { headers } = await fetch(cache.url + TEA)
    const apparentS = (Date.now() - Date.parse(headers.get('date')!)) / 1000
    expect(Math.max(Number(headers.get('age') ?? 0), apparentS)).toBeGreaterThanOrEqual(2)
  })

  test.skipIf(skips)('sends no Retry-After while the server restarts, and caches no error', async () => {
    const { url } = await start(origin.url)
    await origin.stop()
    const { status, headers } = await fetch(`${url}/a`)
    expect(status).toBeGreaterThanOrEqual(500)
    expect(headers.get('retry-after')).toBeNull()
    await origin.restart()
    // Varnish leaves a server that refused a connection alone for a quarter of a second.
    await vi.waitUntil(async () => (await text(`${url}/a`)) === '1', { timeout: 30_000, interval: 50 })
  })

  test.skipIf(skips)('passes events on as they come', async () => {
    const { url } = await start(server.url)
    const db = await connect(url, { refresh: 'push', staleness: 60_000 })
    const before = db.session.position
    await write(2)
    await expect.poll(() => db.session.position).toBeGreaterThan(before)
    db.close()
  })
})

test.skipIf(reasonToSkip('haproxy') !== undefined)('HAProxy adds the address of the sender last', async () => {
  const origin = await startScriptedOrigin({})
  const port = Number(new URL(origin.url).port)
  const { url } = await startHaproxy([port, port])
  await text(`${url}/a`, { headers: SPOOFED })
  expect(origin.asked.filter(asked => asked.url === '/a').map(sendersOf)).toEqual([SENDERS])
  await endCaches()
  await origin.stop()
})

test.skipIf(reasonToSkip('varnish') !== undefined)('Varnish discards, by BAN, all matching copies', async () => {
  const origin = await startScriptedOrigin({ 'Cache-Control': 'public, max-age=60' })
  const { url, secret } = await startVarnish({ origin: origin.url })
  const ban = (given: string) =>
    fetch(url, { method: 'BAN', headers: { 'Freshet-Purge-Secret': given, 'Freshet-Ban': '^/db/a/b($|\\?)' } })
  const paths = ['/db/a/b', '/db/a/b?limit=5', '/db/a/b/1']
  for (const path of paths) await text(url + path)
  origin.version = 2
  expect((await ban('wrong')).status).toBe(403)
  expect((await ban(secret)).status).toBe(200)
  expect(await Promise.all(paths.map(path => text(url + path)))).toEqual(['2', '2', '1'])
  expect((await fetch(url + paths[0])).headers.has('freshet-url')).toBe(false)
  await origin.stop()
})
