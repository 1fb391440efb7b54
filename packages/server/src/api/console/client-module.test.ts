/** `/client.js`: everybody may load it, caches may keep it, and it depends on no caller. */
import { createMemoryStore } from '@freshet/engines/memory'
import { describe, expect, test } from 'vitest'
import { TOKENS } from '../../access/under-test/bearer.js'
import { SHOP_RULES } from '../../access/under-test/shop-rules.js'
import type { FreshetServerOptions } from '../../freshet-server.js'
import { problemOf, type RunningServer } from '../../testing/running-server.js'
import { serversPerTest } from '../../testing/servers-per-test.js'

const startServer = serversPerTest()
const clientModule = { contentType: 'text/javascript; charset=utf-8', body: 'export const connect = 1\n'.repeat(200) }
const start = (options: Partial<FreshetServerOptions> = {}): Promise<RunningServer> =>
  startServer({ store: createMemoryStore(), clientModule, ...options })

describe('the client as one module', () => {
  test('is a script that caches may keep, and that they check by its ETag', async () => {
    const running = await start()
    const answer = await running.fetch('/client.js')
    expect([answer.status, await answer.text()]).toEqual([200, clientModule.body])
    const { headers } = answer
    expect(headers.get('content-type')).toBe(clientModule.contentType)
    expect(headers.get('cache-control')).toMatch(/^public, max-age=\d+/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    const etag = headers.get('etag')!
    for (const tags of [etag, `"other", ${etag}`, '*']) {
      const unchanged = await running.fetch('/client.js', { headers: { 'if-none-match': tags } })
      expect([tags, unchanged.status, await unchanged.text()]).toEqual([tags, 304, ''])
      expect(unchanged.headers.get('etag')).toBe(etag)
    }
    expect((await running.fetch('/client.js', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
    expect((await running.fetch('/client.js', { method: 'HEAD' })).headers.get('etag')).toBe(etag)
  })

  test('has another ETag as soon as it is another module', async () => {
    const other = { ...clientModule, body: 'export const connect = 2\n' }
    const etags = await Promise.all(
      [clientModule, other].map(async each =>
        (await (await start({ clientModule: each })).fetch('/client.js')).headers.get('etag'),
      ),
    )
    expect(new Set(etags).size).toBe(2)
  })

  test('is compressed for clients that accept it, and caches keep the forms apart', async () => {
    const running = await start()
    const small = await running.fetch('/client.js', { headers: { 'accept-encoding': 'br' } })
    expect(small.headers.get('content-encoding')).toBe('br')
    expect(Number(small.headers.get('content-length'))).toBeLessThan(200)
    expect(small.headers.get('vary')).toBe('Accept-Encoding')
    expect(await small.text()).toBe(clientModule.body)
  })

  test('may be imported by pages of every origin, also if the data may not', async () => {
    const running = await start({ settings: { corsOrigins: ['https://a.example'] } })
    for (const origin of ['https://a.example', 'https://b.example', 'null']) {
      const answer = await running.fetch('/client.js', { headers: { origin } })
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
      // A copy is good for every origin.
      expect(answer.headers.get('vary')).toBe('Accept-Encoding')
    }
  })

  test('needs no token where everything else does, and is the same for every caller', async () => {
    const running = await start({ access: { rules: SHOP_RULES, tokens: TOKENS } })
    expect((await running.fetch('/db/shop/orders/1')).status).toBe(401)
    const plain = await running.fetch('/client.js')
    const withToken = await running.fetch('/client.js', { headers: { authorization: 'Bearer forged' } })
    expect([plain.status, withToken.status]).toEqual([200, 200])
    expect(withToken.headers.get('etag')).toBe(plain.headers.get('etag'))
    expect(plain.headers.get('cache-control')).toContain('public')
  })

  test('is refused to pages of other machines by a server without rules, like everything else', async () => {
    const running = await start()
    const refused = await running.fetch('/client.js', { headers: { origin: 'https://a.example' } })
    expect(await problemOf(refused)).toMatchObject({ status: 403, code: 'ORIGIN_REFUSED' })
    expect((await running.fetch('/client.js', { headers: { origin: 'http://localhost:5173' } })).status).toBe(200)
  })

  test('does not exist on a server that was started without it', async () => {
    const running = await startServer({ store: createMemoryStore() })
    expect(await problemOf(await running.fetch('/client.js'))).toMatchObject({ status: 404, code: 'ROUTE_UNKNOWN' })
  })
})
