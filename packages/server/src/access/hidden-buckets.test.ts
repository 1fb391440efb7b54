/** What callers learn about what they may not see: they get the same answer, whatever is stored and whatever they send. */
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  jsonRequest,
  openSocket,
  parseAnswer,
  type RunningServer,
  startServer,
  until,
} from '../testing/running-server.js'
import { bearer, TOKENS } from './under-test/bearer.js'
import { startRuledServer } from './under-test/start-ruled-server.js'

const RULES = `
admin if claim.role == "admin"
quota shut requests 100 per day
bucket open/news
  read, list
bucket */mine
  read if object.owner == claim.sub
  list if claim.role == "member"
  create if new.owner == claim.sub
  update, delete if object.owner == claim.sub
bucket */notes
  read, list, write if claim.role == "member"
bucket open/links
  write if claim.role == "member"
bucket */tagged
  read, list, create, update if id startsWith claim.sub
bucket */hits
  read, list, update if id startsWith claim.sub
`
const JSON_TYPE = 'application/json'
/** A bucket of each kind, and one that does not exist. */
const HIDDEN = ['kind-o', 'kind-b', 'kind-c', 'absent']

type Headers = Record<string, string>
let running: RunningServer
let admin: Headers
let member: Headers
let eve: Headers

beforeEach(async () => {
  running = await startRuledServer(RULES)
  admin = await bearer({ sub: 'root', role: 'admin' })
  member = await bearer({ sub: 'ann', role: 'member' })
  eve = await bearer({ sub: 'eve' })
  await running.put('/db/shut/kind-o/1', { owner: 'ann' }, admin)
  await running.put('/db/shut/kind-b', { kind: 'kv' }, admin)
  await running.put('/db/shut/kind-b/1', 'x', admin)
  await running.put('/db/shut/kind-c', { kind: 'counter' }, admin)
  await running.put('/db/shut/kind-c/1', 5, admin)
  await running.put('/db/open/news/1', { a: 1 }, admin)
  await running.put('/db/shut/mine/anns', { owner: 'ann' }, admin)
})
afterEach(() => running.stop())

/** Status, headers and body, without what differs for each request. */
async function answerTo(path: string, init: RequestInit): Promise<string> {
  const answer = await running.fetch(path, init)
  const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
  const body = (await answer.text()).replace(/"requestId":"[^"]*"/, '')
  return JSON.stringify([answer.status, headers.sort(), body])
}

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE']
const ENDS = [
  ...[
    '',
    '/1',
    '/2',
    '?embed',
    '?settings',
    '?schemas',
    '?sum',
    '?top=3',
    '?sort=n',
    '?explain&sort=n',
    '?at=1',
    '/1?at=1',
  ],
  ...[
    '?where={"b":1,"a":2}',
    '?fields=n,e',
    '?ids=1,2',
    '?limit=0',
    '/1?x=1',
    '/%31',
    '?embed=1',
    '?sort=%6e',
    '?at=99999',
  ],
]
const HEADERS: readonly Headers[] = [
  ...[{}, { 'content-type': JSON_TYPE }, { 'content-type': 'text/html' }, { 'content-type': 'x' }],
  ...[{ 'content-type': 'application/merge-patch+json' }, { 'content-encoding': 'gzip' }, { 'idempotency-key': 'k' }],
  ...[
    { 'if-match': '"1"' },
    { 'if-match': '*' },
    { 'if-none-match': '*' },
    { 'if-match': 'x' },
    { range: 'bytes=0-1' },
  ],
  ...[{ accept: 'text/html' }, { 'accept-encoding': 'gzip' }, { origin: 'https://evil.example' }],
]
const BODIES = ['', '{}', '{"add":1}', '{"additions":[{"id":"1","add":1}]}', '{"kind":"kv"}', '5', '{', '{"a":1,"a":2}']

describe('a caller without any right', () => {
  test.each(['anonymous', 'a stranger with a token'])('gets the same answer for every bucket: %s', async who => {
    const caller = who === 'anonymous' ? {} : eve
    let turn = 0
    // Each header with each method, and each pair with some of the targets.
    const drawn = () => [0, 5, 10].map(i => HEADERS[(turn++ + i) % HEADERS.length]!)
    for (const method of METHODS) {
      const takesBody = method !== 'GET' && method !== 'HEAD'
      for (const end of ENDS) {
        for (const headers of drawn()) {
          const body = takesBody ? BODIES[turn % BODIES.length]! : null
          const init = { method, headers: { ...headers, ...caller }, ...(body ? { body } : {}) }
          const answers = await Promise.all(
            HIDDEN.map(async bucket => (await answerTo(`/db/shut/${bucket}${end}`, init)).replaceAll(bucket, 'BUCKET')),
          )
          expect(new Set(answers).size, `${method} ${end} ${JSON.stringify(headers)} ${answers.join('\n')}`).toBe(1)
          expect(answers[0]).not.toMatch(/^\[(2(?!04)|5)/)
        }
      }
    }
  })

  test('is refused before the body is read, on every route that takes one', async () => {
    const routes = [
      ...['PUT /db/shut/kind-o/1', 'PATCH /db/shut/kind-o/1', 'POST /db/shut/kind-c/1', 'POST /db/shut/kind-o'],
      ...['PUT /db/shut/kind-o', 'POST /access/try', 'POST /tasks/0', 'POST /doctor'],
    ]
    for (const route of routes) {
      const socket = await openSocket(running.port)
      let received = ''
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        received += chunk
      })
      // The body is never sent.
      const type = 'Content-Type: application/merge-patch+json'
      socket.write(
        `${route} HTTP/1.1\r\nHost: localhost\r\n${type}\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n`,
      )
      await until(() => parseAnswer(received, false) !== undefined)
      socket.destroy()
      expect(parseAnswer(received, false)!.status, route).toBe(401)
      expect(received, route).not.toContain('100 Continue')
    }
  })

  test('neither uses up nor learns the quota of a namespace', async () => {
    for (let i = 0; i < 60; i++) {
      expect((await running.fetch('/db/shut/kind-o/1')).status).toBe(401)
      expect((await running.fetch('/db/shut/kind-o/1', { headers: eve })).status).toBe(403)
      expect((await running.fetch('/db/shut', { headers: eve })).status).toBe(200)
      const commit = jsonRequest('POST', { writes: [{ path: '/db/shut/kind-o/1', value: {} }] }, eve)
      expect((await running.fetch('/commit', commit)).status).toBe(403)
    }
    expect((await running.fetch('/db/shut/notes', { headers: member })).status).toBe(404)
  })

  test('may commit nothing where they may not read or write, and only the size of an object where they may read', async () => {
    const closed = await startServer({
      store: createMemoryStore({ positionsAfter: 0 }),
      settings: { bodyBytesMax: 1000, commitBodyBytesMax: 5000 },
      access: {
        rules: 'bucket a/b\n  read if authenticated',
        tokens: TOKENS,
      },
    })
    const commit = (length: number, headers: Headers) =>
      closed.fetch('/commit', {
        method: 'POST',
        headers: { 'content-type': JSON_TYPE, ...headers },
        body: `{"reads":[],"writes":[]${' '.repeat(length)}}`,
      })
    expect((await commit(2000, {})).status).toBe(401)
    expect((await commit(2000, eve)).status).toBe(413)
    expect((await commit(10, eve)).status).toBe(400)
    await closed.stop()
  })
})

describe('a caller with some right', () => {
  test('cannot learn by a condition whether an object that they may not see exists', async () => {
    for (const headers of [{ 'if-match': '"999999"' }, { 'if-match': '*' }]) {
      const put = (id: string) =>
        answerTo(`/db/shut/mine/${id}`, jsonRequest('PUT', { owner: 'eve' }, { ...headers, ...eve }))
      expect(await put('anns')).toBe(await put('none'))
    }
  })

  test('cannot learn by a reference whether an object that they may not read exists', async () => {
    const schema = { properties: { to: { type: 'string', 'x-reference': { bucket: 'shut/mine', check: true } } } }
    await running.put('/db/open/links', { kind: 'object', schema }, admin)
    await running.put('/db/shut/mine/bobs', { owner: 'bob' }, admin)
    const link = async (to: string) =>
      (await answerTo('/db/open/links/l', jsonRequest('PUT', { to }, member))).replaceAll(to, 'ID')
    expect(await link('bobs')).toBe(await link('none'))
    expect(await link('none')).toContain('REFERENCE_MISSING')
    expect(await link('anns')).toMatch(/^\[201/)
  })

  test('is not refused early if the decision depends on the id', async () => {
    const ask = (path: string, method: string, value: unknown, headers: Headers) =>
      running.fetch(path, jsonRequest(method, value, headers)).then(({ status }) => status)
    await running.put('/db/open/hits', { kind: 'counter' }, admin)
    const additions = [{ id: 'eve-1', add: 2 }]
    expect(await ask('/db/open/hits', 'POST', { additions }, eve)).toBe(200)
    expect(await ask('/db/open/tagged/eve-1', 'PUT', { a: 1 }, eve)).toBe(201)
    expect(await ask('/db/open/tagged/ann-1', 'PUT', { a: 1 }, eve)).toBe(403)
    expect(await ask('/commit', 'POST', { writes: [{ path: '/db/open/tagged/eve-2', value: {} }] }, eve)).toBe(200)
    expect(await ask('/commit', 'POST', { writes: [{ path: '/db/open/tagged/ann-2', value: {} }] }, eve)).toBe(403)
  })

  test('is redirected to the canonical spelling of a query', async () => {
    for (const spelling of ['where={"b":1,"a":2}', 'fields=n,e', 'sort=+n', 'where=%7B%22b%22%3A1%2C%22a%22%3A2%7D']) {
      const { status } = await running.fetch(`/db/open/news?${spelling}`)
      expect([308, 400], spelling).toContain(status)
      expect((await running.fetch(`/db/open/notes?${spelling}`, { headers: member })).status, spelling).toBe(status)
    }
    const sent = await running.fetch('/db/open/news?fields=n%2Ce')
    expect([sent.status, sent.headers.get('location')]).toEqual([308, '/db/open/news?fields=e%2Cn'])
  })
})
