/** A server without rules, and requests from web pages of other machines. */
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, describe, expect, test } from 'vitest'
import { TOKENS } from '../access/under-test/bearer.js'
import type { FreshetServerOptions } from '../freshet-server.js'
import { type RawAnswer, type RunningServer, sendRaw, startServer } from '../testing/running-server.js'

const RULES = 'bucket shop/*\n  read, list, write'

let running: RunningServer
afterEach(() => running.stop())

async function start(options: Omit<FreshetServerOptions, 'store'> = {}): Promise<RunningServer> {
  running = await startServer({ store: createMemoryStore({ positionsAfter: 0 }), ...options })
  await running.put('/db/shop/products/tea', { price: 5 })
  return running
}

interface Asked {
  readonly method?: string
  readonly path?: string
  readonly host?: string
  readonly origin?: string
}

function ask({ method = 'GET', path = '/db/shop/products/tea', host, origin }: Asked): Promise<RawAnswer> {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host ?? `127.0.0.1:${running.port}`}`]
  if (origin !== undefined) lines.push(`Origin: ${origin}`)
  // A request that pages may send without a preflight.
  if (method === 'POST') return sendRaw(running.port, `${lines.join('\r\n')}\r\nContent-Length: 2\r\n\r\n{}`)
  return sendRaw(running.port, `${lines.join('\r\n')}\r\n\r\n`)
}

const codeOf = ({ status, body }: RawAnswer) => (status === 403 ? (JSON.parse(body) as { code: string }).code : status)

describe('a server without rules refuses', () => {
  test.each([
    ['GET', '/db/shop/products/tea'],
    ['GET', '/db/shop/products'],
    ['GET', '/coherence'],
    ['GET', '/metrics'],
    ['OPTIONS', '/db/shop/products/tea'],
    ['POST', '/db/shop/products'],
  ])('%s %s from pages of other machines', async (method, path) => {
    await start()
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example', 'http://192.0.2.1:7700']) {
      expect(codeOf(await ask({ method, path, origin })), origin).toBe('ORIGIN_REFUSED')
    }
    const list = (await (await running.fetch('/db/shop/products')).json()) as { items: unknown[] }
    expect(list.items.length).toBe(1)
  })

  test.each(['GET', 'POST', 'OPTIONS'])('%s under a name that a page has pointed to this machine', async method => {
    await start()
    for (const host of [
      'evil.example',
      `evil.example:${running.port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
    ]) {
      for (const origin of [undefined, `http://${host}`]) {
        const answer = await ask({
          method,
          path: '/db/shop/products',
          host,
          ...(origin === undefined ? {} : { origin }),
        })
        expect(codeOf(answer), host).toBe('HOST_REFUSED')
        expect(answer.headers.get('cache-control')).toContain('no-store')
      }
    }
    expect(codeOf(await ask({ host: 'evil.example' }))).toBe('HOST_REFUSED')
  })

  test('them with advice', async () => {
    await start()
    const { body } = await ask({ origin: 'https://evil.example' })
    expect(JSON.parse(body).detail).toMatch(/https:\/\/evil\.example.*--rules.*--cors-origins.*--insecure/)
  })
})

describe('a server without rules answers', () => {
  test('pages of this machine, whatever their port', async () => {
    await start()
    const origins = [
      'http://localhost:5173',
      'https://localhost',
      'http://127.0.0.1:3000',
      'http://[::1]:3000',
      'http://app.localhost',
    ]
    for (const origin of origins) {
      const answer = await ask({ origin })
      expect([answer.status, answer.headers.get('access-control-allow-origin')], origin).toEqual([200, '*'])
      expect((await ask({ method: 'OPTIONS', origin })).status).toBe(204)
    }
  })

  test('requests to names and addresses that no page can claim', async () => {
    await start()
    const hosts = ['localhost', 'LOCALHOST:7700', 'app.localhost:80', '[::1]:7700', '192.0.2.1:5173']
    for (const host of hosts) {
      expect((await ask({ host })).status, host).toBe(200)
      // A page from that host, through a proxy.
      expect((await ask({ host, origin: `http://${host}` })).status, host).toBe(200)
    }
  })

  test('requests without Host, which no browser sends', async () => {
    await start()
    expect((await sendRaw(running.port, 'GET /db/shop/products/tea HTTP/1.0\r\n\r\n')).status).toBe(200)
  })
})

test.each([
  ['with rules', { access: { rules: RULES, tokens: TOKENS } }],
  ['with a list of origins', { settings: { corsOrigins: ['https://shop.example'] } }],
  ['open to every origin', { settings: { corsOrigins: '*' } }],
] as const)('a server %s does not check where requests come from', async (_what, options) => {
  await start(options)
  expect((await ask({ host: 'shop.example', origin: 'https://shop.example' })).status).toBe(200)
  expect((await ask({ host: 'shop.example', path: '/db/shop/products', origin: 'https://other.example' })).status).toBe(
    200,
  )
})
