/** Thousands of random hostile requests: the server survives all of them, and caches may keep none of its errors. */

import { createMemoryStore } from '@freshet/engines/memory'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSocket, parseAnswer, type RunningServer, sendRaw, startServer } from '../testing/running-server.js'

let running: RunningServer

beforeAll(async () => {
  running = await startServer({
    store: createMemoryStore({ positionsAfter: 0 }),
    settings: { bodyBytesMax: 2000, positionWaitMsMax: 1, requestMsMax: 200, eventClientsMax: 20, bucketsMax: 20 },
  })
  await running.put('/db/shop/products/1', { a: 1 })
})
afterAll(() => running.stop())

const piece = fc.constantFrom(
  ...[
    '/',
    '//',
    '/db',
    '/db/shop',
    '/db/shop/products',
    '/db/shop/products/1',
    '/coherence',
    '/coherence/segments/0-1',
  ],
  ...[
    '/commit',
    '/..',
    '/%2e%2e',
    '/%00',
    '%',
    '%ff',
    '\\',
    '?',
    '&',
    '=',
    '#',
    '+',
    ',',
    ';',
    ':',
    '@',
    '~',
    'é',
    '\x7f',
    '\t',
  ],
  ...[
    'at=1',
    'at=99999',
    'after=0',
    'limit=5',
    'embed',
    'ids=1,2',
    'prefix=%41',
    'nonce=x',
    'settings',
    '__proto__',
    'constructor',
  ],
  ...['http://shop.localhost', '*', 'a'.repeat(300), '/demo', '/errors/URL_INVALID', '/openapi.json', '/metrics'],
)
const target = fc.oneof(
  fc.array(piece, { minLength: 1, maxLength: 5 }).map(parts => parts.join('')),
  fc.string({ maxLength: 40 }).map(text => `/${text}`),
)
const method = fc.constantFrom(
  'GET',
  'GET',
  'GET',
  'HEAD',
  'PUT',
  'POST',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'PURGE',
  'TRACE',
  'FOO',
  'get',
)
const header = fc.constantFrom(
  ...[
    'Content-Type: application/json',
    'Content-Type: text/html',
    'Content-Type: ;',
    'Content-Type: application/merge-patch+json',
  ],
  ...[
    'Content-Length: 0',
    'Content-Length: 5',
    'Content-Length: 99999999',
    'Content-Length: -1',
    'Content-Length: 1e3',
  ],
  ...[
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip',
    'Content-Encoding: br',
    'Expect: 100-continue',
    'Expect: x',
  ],
  ...[
    'If-Match: "1"',
    'If-Match: *',
    'If-Match: 1',
    'If-None-Match: *',
    'If-None-Match: "1"',
    'If-None-Match: ,,,',
    'If-Match: "',
  ],
  ...[
    'Accept: text/html',
    'Accept: ;;,',
    'Accept-Encoding: br;q=x, gzip',
    'Range: bytes=0-1',
    'Upgrade: websocket',
    'Connection: upgrade',
  ],
  ...[
    'Last-Event-ID: 1',
    'Last-Event-ID: -1',
    'X-Request-Id: \x01',
    'Origin: null',
    'Host: other',
    'Cookie: a=b',
    'Authorization: Bearer x',
  ],
)
const body = fc.oneof(
  fc.constantFrom(
    '',
    '{}',
    '{"a":1}',
    '[',
    '{"writes":[]}',
    '{"kind":"kv"}',
    '5\r\n{"a":\r\n0\r\n\r\n',
    '\ud800',
    '{"__proto__":1}',
  ),
  fc.string({ maxLength: 50 }),
  fc.json({ maxDepth: 3 }),
)
const request = fc
  .tuple(method, target, fc.array(header, { maxLength: 5 }), body)
  .map(
    ([verb, url, headers, text]) =>
      `${verb} ${url} HTTP/1.1\r\nHost: shop.localhost\r\n${headers.join('\r\n')}${headers.length > 0 ? '\r\n' : ''}\r\n${text}`,
  )

/** Everything that the server sends within some time, or until it closes the connection. */
async function converse(text: string, msMax: number): Promise<string> {
  const socket = await openSocket(running.port)
  let received = ''
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, msMax)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk
      if (parseAnswer(received, false)) end()
    })
    socket.on('end', end).on('error', end).on('close', end)
    socket.write(Buffer.from(text))
  })
  socket.destroy()
  return received
}

const PLAIN = 'GET /live HTTP/1.1\r\nHost: shop.localhost\r\n\r\n'
const CACHEABLE = /public|max-age|immutable/

test('no hostile request crashes the server, and no error may be cached', async () => {
  let answered = 0
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 16, maxLength: 16 }), async requests => {
      // On a busy machine everything takes longer.
      const startMs = performance.now()
      await Promise.all(requests.map(() => sendRaw(running.port, PLAIN, 60_000)))
      const msMax = 40 + 4 * (performance.now() - startMs)
      const answers = await Promise.all(requests.map(text => converse(text, msMax)))
      for (const received of answers) {
        const answer = parseAnswer(received, true)
        if (answer === undefined) continue
        answered++
        const cacheControl = answer.headers.get('cache-control') ?? ''
        if (answer.status >= 300 && answer.status !== 304) expect(cacheControl).toMatch(/^(?:private, )?no-store$/)
        if (CACHEABLE.test(cacheControl)) expect([200, 304]).toContain(answer.status)
        if (answer.status >= 400) expect(answer.headers.get('content-type')).toBe('application/problem+json')
        expect(answer.status).not.toBe(500)
      }
    }),
    { numRuns: 250 },
  )
  // On an idle machine, nearly all of 4000.
  expect(answered).toBeGreaterThan(400)
  // One of the requests may have deleted a bucket.
  expect((await running.fetch('/db')).status).toBe(200)
}, 120_000)
