/** The short way out must give the same answers as the long one, byte for byte, whatever requests come before and after. */
import { text } from 'node:stream/consumers'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSocket, type RunningServer, sendRaw, startServer } from '../testing/running-server.js'
import { formatHead } from './whole-answers.js'

let running: RunningServer
const BODY = { name: 'Büroklammer ☂' }

beforeAll(async () => {
  running = await startServer({ store: createMemoryStore() })
  await running.put('/db/shop/products/a', BODY)
})
afterAll(() => running.stop())

const HOST = 'Host: shop.localhost\r\n'

test('an answer is the same as one that closes the connection', async () => {
  const path = '/db/shop/products/a'
  const long = await sendRaw(running.port, `GET ${path} HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
  const askedMs = Date.now()
  const short = await fetch(`${running.url}${path}`)
  const names = [...short.headers.keys()].filter(name => !['date', 'connection', 'keep-alive'].includes(name))
  expect(names).toContain('etag')
  for (const name of names) expect([name, short.headers.get(name)]).toEqual([name, long.headers.get(name)])
  expect(await short.json()).toEqual(BODY)
  expect(JSON.parse(Buffer.from(long.body, 'latin1').toString())).toEqual(BODY)
  // In whole seconds, and made once per second.
  const dateMs = Date.parse(short.headers.get('date')!)
  expect(dateMs).toBeGreaterThan(askedMs - 2000)
  expect(dateMs).toBeLessThanOrEqual(Date.now())
  expect(short.headers.get('keep-alive')).toMatch(/^timeout=\d+$/)
})

test('pipelined requests are answered in order, whichever way each answer takes', async () => {
  const etag = (await fetch(`${running.url}/db/shop/products/a`)).headers.get('etag')!
  const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${HOST}${headers}\r\n`
  const plain = get('/db/shop/products/a')
  const unchanged = get('/db/shop/products/a', `If-None-Match: ${etag}\r\n`)
  const missing = get('/db/shop/products/none')
  const last = get('/db/shop/products/a', 'Connection: close\r\n')
  const socket = await openSocket(running.port)
  socket.write(plain + unchanged + missing + unchanged + plain + plain + last)
  const answers = await text(socket)
  const statuses = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  expect(statuses).toEqual(['200', '304', '404', '304', '200', '200', '200'])
  expect(answers.match(/^Date: /gm)).toHaveLength(7)
})

test('a header that would end the head is refused', () => {
  expect(() => formatHead(200, ['ETag', '"1"\r\nSet-Cookie: a'])).toThrow(/Invalid character/)
  expect(() => formatHead(200, ['ET ag', '"1"'])).toThrow(/valid HTTP token/)
  expect(formatHead(304, ['ETag', '"1"'])).toBe('HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n')
})
