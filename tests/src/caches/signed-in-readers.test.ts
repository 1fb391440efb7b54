/** Readers with a token share public copies with all others, through each shipped cache, and nothing else. */
import { createServer, type Server, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type Database, type ReadEvent } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { startNginx } from '@freshet/lab/dist/caches/nginx.js'
import { startSquid } from '@freshet/lab/dist/caches/squid.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { applyRules, createFreshetServer, type FreshetServer, signToken } from '@freshet/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const SECRET = 'a secret of at least thirty-two bytes'
const TOKENS = { secret: SECRET, audience: 'freshet', leewayMs: 0 }
const WRITE = '  write if claim.sub == "ann"\n'
const OPEN = `bucket shop/products\n  read, list\n${WRITE}bucket shop/orders\n  read, list if claim.sub == "ann"\n${WRITE}`
const CLOSED = OPEN.replace('  read, list\n', '  read, list if claim.sub == "ann"\n')
/** No segment closes during a test: the same objects are requested under the same URLs. */
const SETTINGS = { lifetimeMs: 600_000, slotMs: 600_000 }
const READS = 100
const OBJECTS = 5

/** A proxy that counts the requests for data. */
async function startCounter(origin: string): Promise<{ readonly server: Server; readonly url: string; count: number }> {
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/db/') && request.method === 'GET') counter.count++
    const { method, headers } = request
    const forwarded = send(origin + request.url, { method, headers }, reply => {
      response.writeHead(reply.statusCode ?? 502, reply.rawHeaders)
      reply.pipe(response)
    })
    forwarded.once('error', () => response.destroy())
    request.pipe(forwarded)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const counter = { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, count: 0 }
  return counter
}

const store = () => createMemoryStore()
const tokenOf = (sub: string) => signToken({ claims: { sub }, audience: 'freshet', expiresMs: 600_000, secret: SECRET })

let kept: ReturnType<typeof store>
let server: FreshetServer
let counter: Awaited<ReturnType<typeof startCounter>>
const open: Database[] = []

beforeEach(async () => {
  kept = store()
  server = createFreshetServer({
    store: kept,
    settings: SETTINGS,
    access: { rules: OPEN, tokens: TOKENS },
  })
  counter = await startCounter((await server.listen({ port: 0 })).url)
})

afterEach(async () => {
  for (const db of open.splice(0)) db.close()
  await endCaches()
  counter.server.closeAllConnections()
  counter.server.close()
  await server.close({ graceMs: 100 })
  await kept.close()
})

async function connected(url: string, sub?: string, onRead?: (event: ReadEvent) => void): Promise<Database> {
  const authorization = sub === undefined ? undefined : await tokenOf(sub)
  const db = await connect(url, {
    memoryBytesMax: 0,
    staleness: 600_000,
    ...(authorization === undefined ? {} : { authorization }),
    ...(onRead === undefined ? {} : { onRead }),
  })
  open.push(db)
  return db
}

/** How many reads of a fresh session reach the server. */
async function reaching(url: string, bucket: string, sub?: string): Promise<number> {
  const db = await connected(url, sub)
  const before = counter.count
  for (let i = 0; i < READS; i++) {
    if (i % 10 === 0) await db.bucket(bucket).page({ limit: 3 })
    else expect(await db.bucket(bucket).get(`${i % OBJECTS}`)).toEqual({ price: i % OBJECTS })
  }
  return counter.count - before
}

const CACHES = [
  { kind: 'varnish', start: (origin: string) => startVarnish({ origin }) },
  { kind: 'squid', start: (origin: string) => startSquid({ origin }) },
  { kind: 'nginx', start: (origin: string) => startNginx({ origin }) },
] as const

describe.each(CACHES)('through the shipped $kind', ({ kind, start }) => {
  const skips = reasonToSkip(kind) !== undefined

  async function filled(): Promise<string> {
    const { url } = await start(counter.url)
    const ann = await connected(url, 'ann')
    for (let i = 0; i < OBJECTS; i++) {
      await ann.bucket('shop/products').put(`${i}`, { price: i })
      await ann.bucket('shop/orders').put(`${i}`, { price: i })
    }
    return url
  }

  test.skipIf(skips)('a signed-in reader of public data uses the cache as much as an anonymous reader', async () => {
    const url = await filled()
    const first = await reaching(url, 'shop/products', 'ann')
    expect(first).toBeLessThanOrEqual(OBJECTS + 1)
    const [anonymous, signedIn, stranger] = [
      await reaching(url, 'shop/products'),
      await reaching(url, 'shop/products', 'ann'),
      await reaching(url, 'shop/products', 'bob'),
    ]
    expect([signedIn, stranger]).toEqual([anonymous, anonymous])
    // Data that is not public is never shared.
    expect(await reaching(url, 'shop/orders', 'ann')).toBe(READS)
  })

  test.skipIf(skips)('a reader with permission keeps reading current data after the bucket was closed', async () => {
    const url = await filled()
    const [ann, anonymous] = [await connected(url, 'ann'), await connected(url)]
    for (const db of [ann, anonymous]) expect(await db.bucket('shop/products').get('1')).toEqual({ price: 1 })
    await applyRules(kept, { rules: CLOSED, who: 'a test' })
    const other = await connected(url, 'ann')
    await other.bucket('shop/products').put('1', { price: 7 })
    for (const read of ['current', 'session'] as const) {
      expect(await ann.bucket('shop/products').get('1', { read })).toEqual({ price: 7 })
      const refused = anonymous.bucket('shop/products').get('1', { read })
      await expect(refused).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    }
  })

  test.skipIf(skips)('a read that the cache only passed on is not reported as from the shared cache', async () => {
    const url = await filled()
    const events: ReadEvent[] = []
    const ann = await connected(url, 'ann', event => events.push(event))
    await ann.bucket('shop/orders').get('1')
    await ann.bucket('shop/orders').get('1')
    expect(events.map(({ from }) => from)).toEqual(['server', 'server'])
  })
})
