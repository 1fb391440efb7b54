/** How often a client may send requests, and what the headers say about it. */
import { createMemoryStore } from '@freshet/engines/memory'
import { beforeAll, describe, expect, test } from 'vitest'
import { type RunningServer, startServer } from '../testing/running-server.js'
import { bearer, TOKENS } from './under-test/bearer.js'

const RULES = `
bucket shop/products
  read, list
  write if claim.role == "editor"
bucket shop/orders
  read if object.owner == claim.sub
  list if authenticated
  create if new.owner == claim.sub
`

let ann: Record<string, string>
let bob: Record<string, string>
let editor: Record<string, string>

beforeAll(async () => {
  ann = await bearer({ sub: 'ann' })
  bob = await bearer({ sub: 'bob' })
  editor = await bearer({ sub: 'ed', role: 'editor' })
})

describe('limits', () => {
  // So slow that no request becomes free again while the test runs, however long that takes.
  const limits = { perAddressPerS: 0.001, perSubjectPerS: 0, burstS: 5000 }

  test('by address are reported in the headers of the draft', async () => {
    const limited = await startServer({ store: createMemoryStore({ positionsAfter: 0 }), limits })
    const answers = await Promise.all(Array.from({ length: 20 }, () => limited.fetch('/db/shop/products/tea')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBe(15)
    const [{ headers }] = refused as [Response]
    expect(headers.get('ratelimit')).toMatch(/^"address";r=0;t=\d+$/)
    expect(headers.get('ratelimit-policy')).toBe('"address";q=5;w=5000')
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(headers.get('cache-control')).toBe('private, no-store')
    await limited.stop()
  })

  test('are reported with every answer that no cache may keep', async () => {
    const limited = await startServer({
      store: createMemoryStore({ positionsAfter: 0 }),
      access: { rules: RULES, tokens: TOKENS },
      limits: { ...limits, perSubjectPerS: 0.002, burstS: 10_000 },
    })
    const limitsOf = async (path: string, headers: Record<string, string> = {}) => {
      const answer = await limited.fetch(path, { headers })
      return [answer.headers.get('ratelimit'), answer.headers.get('ratelimit-policy')]
    }
    await limited.put('/db/shop/orders/1', { owner: 'ann' }, ann)
    await limited.put('/db/shop/products/tea', { price: 5 }, editor)
    const policies = '"address";q=10;w=10000, "subject";q=20;w=10000'
    const both = (r: number, s: number) =>
      expect.stringMatching(new RegExp(`^"address";r=${r};t=\\d+, "subject";r=${s};t=\\d+$`))
    expect(await limitsOf('/live')).toEqual([expect.stringMatching(/^"address";r=7;t=\d+$/), '"address";q=10;w=10000'])
    expect(await limitsOf('/db/shop/orders/1', ann)).toEqual([both(6, 18), policies])
    expect(await limitsOf('/db/shop/orders', ann)).toEqual([both(5, 17), policies])
    expect(await limitsOf('/db/shop/orders/none', ann)).toEqual([both(4, 16), policies])
    expect(await limitsOf('/db/shop/products/tea', ann)).toEqual([null, null])
    expect(await limitsOf('/db/shop/products')).toEqual([null, null])
    await limited.stop()
  })

  test('count requests without a route, too', async () => {
    const limited = await startServer({
      store: createMemoryStore({ positionsAfter: 0 }),
      limits: { ...limits, burstS: 3000 },
    })
    const statuses = []
    for (const path of ['/nowhere', '/db/shop/products/tea?x=1', '/%64b', '/live'])
      statuses.push((await limited.fetch(path)).status)
    expect(statuses).toEqual([404, 400, 308, 429])
    await limited.stop()
  })

  test('believe only trusted proxies about where a request comes from', async () => {
    const ask = (server: RunningServer, from: string) => server.fetch('/live', { headers: { 'x-forwarded-for': from } })
    for (const [trustedProxies, expected] of [
      [['127.0.0.1'], 200],
      [[], 429],
    ] as const) {
      const limited = await startServer({
        store: createMemoryStore({ positionsAfter: 0 }),
        limits: { ...limits, burstS: 1000 },
        trustedProxies,
      })
      expect((await ask(limited, 'spoofed, 10.0.0.1')).status).toBe(200)
      expect((await ask(limited, '10.0.0.2')).status).toBe(expected)
      expect((await ask(limited, '10.0.0.9, 10.0.0.1')).status).toBe(429)
      // The sender wrote these headers, since no trusted proxy sets them.
      const headers = { 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.7' }
      expect((await limited.fetch('/live', { headers })).status).toBe(429)
      await limited.stop()
    }
  })

  test('by subject apply to all tokens of one subject', async () => {
    const limited = await startServer({
      store: createMemoryStore({ positionsAfter: 0 }),
      access: { rules: RULES, tokens: TOKENS },
      limits: { perAddressPerS: 0, perSubjectPerS: 0.001, burstS: 1000 },
    })
    const tokens = [await bearer({ sub: 'ann', a: 1 }), await bearer({ sub: 'ann', a: 2 }), bob]
    const statuses = []
    for (const headers of tokens) statuses.push((await limited.fetch('/db/shop/orders/1', { headers })).status)
    expect(statuses).toEqual([403, 429, 403])
    await limited.stop()
  })
})
