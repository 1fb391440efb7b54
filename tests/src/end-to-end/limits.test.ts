/**
 * Every limit of a server, exceeded over HTTP: the refusal names the option that raises it, as operators spell it, and that
 * option exists. docs/errors.md names it under the same code.
 */
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { flagOf, listOptions, variableOf } from '@freshet/cli/dist/config/options.js'
import { createMemoryStore } from '@freshet/engines/memory'
import type { Problem } from '@freshet/protocol'
import type { ServerSettings } from '@freshet/server/configuration'
import {
  jsonRequest,
  openSocket,
  parseAnswer,
  problemOf,
  type RunningServer,
  sendRaw,
  startServer,
  until,
} from '@freshet/server/testing/running-server'
import { describe, expect, test } from 'vitest'
import { repository } from './doc-blocks.js'

interface Excess {
  readonly setting: string
  readonly code: string
  readonly settings?: Partial<ServerSettings>
  readonly exceed: (running: RunningServer) => Promise<Problem>
  /** What the message must say besides: the limit, the actual size. */
  readonly says?: readonly string[]
}

const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n'
const TOKENS = { secret: 'a secret of at least thirty-two bytes', audience: 'freshet', leewayMs: 0 }
const LONG = { a: 'x'.repeat(2000) }

const write = (id: string, value: object = {}) => ({ path: `/db/shop/products/${id}`, value })
const ask = (path: string) => async (running: RunningServer) => problemOf(await running.fetch(path))
const send =
  (method: string, path: string, value: unknown, headers = {}) =>
  async (running: RunningServer) =>
    problemOf(await running.fetch(path, jsonRequest(method, value, headers)))
/** Once the bucket exists. */
const askOfBucket = (query: string) => async (running: RunningServer) => {
  await running.put('/db/shop/products/1', {})
  return ask(`/db/shop/products${query}`)(running)
}
const raw = (request: string) => async (running: RunningServer) =>
  JSON.parse((await sendRaw(running.port, request)).body) as Problem

/** Answers to the second request, while the first is still being answered. */
async function whileOpen(running: RunningServer, path: string, metric: string): Promise<Problem> {
  const controller = new AbortController()
  const first = fetch(running.url + path, { signal: controller.signal }).catch(() => undefined)
  const isOpen = () => running.server.readMetrics().find(({ name }) => name === metric)?.lines[0]?.[1] === 1
  await until(isOpen)
  const problem = await problemOf(await running.fetch(path))
  controller.abort()
  await first
  return problem
}

/** Three bodies that are not sent to their end: the server keeps room for two. */
async function threeBodies({ port }: RunningServer): Promise<Problem> {
  const sockets: Socket[] = []
  try {
    for (let i = 0; i < 3; i++) {
      const socket = await openSocket(port)
      sockets.push(socket.setEncoding('latin1'))
      socket.write(`PUT /db/shop/products/${i} HTTP/1.1\r\n${HEAD}Content-Length: 1000\r\n\r\n{"a":`)
      let received = ''
      socket.on('data', text => {
        received += text
      })
      if (i < 2) continue
      await until(() => parseAnswer(received, false) !== undefined)
      return JSON.parse(parseAnswer(received, false)!.body) as Problem
    }
    throw new Error('There is no third body.')
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

const EXCESSES: Readonly<Record<string, Excess>> = {
  'an object that is too long': {
    ...{ setting: 'bodyBytesMax', code: 'BODY_TOO_LARGE', settings: { bodyBytesMax: 1000 } },
    exceed: send('PUT', '/db/shop/products/1', LONG),
    says: ['2008 bytes', 'the 1000 bytes', 'Divide it into several objects'],
  },
  'an object that is too long and arrives in chunks': {
    ...{ setting: 'bodyBytesMax', code: 'BODY_TOO_LARGE', settings: { bodyBytesMax: 1000 } },
    exceed: raw(
      `PUT /db/shop/products/1 HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n3e9\r\n${'x'.repeat(1001)}\r\n`,
    ),
    says: ['longer than the 1000 bytes'],
  },
  'an object that a patch makes too long': {
    ...{ setting: 'bodyBytesMax', code: 'BODY_TOO_LARGE', settings: { bodyBytesMax: 1000 } },
    exceed: async running => {
      await running.put('/db/shop/products/1', { a: 'x'.repeat(600) })
      const headers = { 'content-type': 'application/merge-patch+json' }
      return send('PATCH', '/db/shop/products/1', { b: 'x'.repeat(600) }, headers)(running)
    },
    says: ['The patched object has 1215 bytes'],
  },
  'a value in a commit that is too long': {
    ...{ setting: 'bodyBytesMax', code: 'BODY_TOO_LARGE', settings: { bodyBytesMax: 1000 } },
    exceed: send('POST', '/commit', { writes: [write('1', LONG)] }),
    says: ['The value of writes[0] has 2008 bytes'],
  },
  'a commit that is too long': {
    ...{ setting: 'commitBodyBytesMax', code: 'BODY_TOO_LARGE', settings: { commitBodyBytesMax: 1000 } },
    exceed: send('POST', '/commit', { writes: [write('1', LONG)] }),
    says: ['Divide it into several requests'],
  },
  'a URL that is too long': {
    ...{ setting: 'urlBytesMax', code: 'URL_TOO_LONG', settings: { urlBytesMax: 100 } },
    exceed: ask(`/db/shop/products?prefix=${'a'.repeat(100)}`),
    says: ['125 bytes', 'the 100 bytes'],
  },
  'headers that are too long': {
    ...{ setting: 'headerBytesMax', code: 'HEADERS_TOO_LARGE' },
    exceed: raw(`GET /db HTTP/1.1\r\nHost: localhost\r\nCookie: ${'a'.repeat(40_000)}\r\n\r\n`),
    says: ['the 24576 bytes', 'cookies'],
  },
  'a request that arrives too slowly': {
    ...{ setting: 'requestMsMax', code: 'REQUEST_INCOMPLETE', settings: { requestMsMax: 100 } },
    exceed: raw(`PUT /db/shop/products/1 HTTP/1.1\r\n${HEAD}Content-Length: 10\r\n\r\n{`),
    says: ['100 ms'],
  },
  'JSON that is too deep': {
    ...{ setting: 'jsonDepthMax', code: 'BODY_INVALID', settings: { jsonDepthMax: 3 } },
    exceed: send('PUT', '/db/shop/products/1', { a: { b: { c: { d: 1 } } } }),
    says: ['4 levels deep, deeper than 3'],
  },
  'JSON with too many members': {
    ...{ setting: 'jsonMembersMax', code: 'BODY_INVALID', settings: { jsonMembersMax: 3 } },
    exceed: send('PUT', '/db/shop/products/1', { a: 1, b: 2, c: 3, d: 4 }),
    says: ['more than 3 members'],
  },
  'a lifetime that is too long': {
    ...{ setting: 'lifetimeMsMax', code: 'BODY_INVALID', settings: { lifetimeMs: 1000, lifetimeMsMax: 1000 } },
    exceed: send('PUT', '/db/shop/products', { kind: 'object', lifetimeMs: 2000 }),
    says: ['lifetimeMs is 2000, and may be at most 1000'],
  },
  'an id that is too long': {
    ...{ setting: 'idBytesMax', code: 'NAME_INVALID', settings: { idBytesMax: 10 } },
    exceed: send('PUT', `/db/shop/products/${'a'.repeat(11)}`, {}),
    says: ['11 bytes', 'the 10 bytes'],
  },
  'a commit with too many writes': {
    ...{ setting: 'commitWritesMax', code: 'LIMIT_EXCEEDED', settings: { commitWritesMax: 1 } },
    exceed: send('POST', '/commit', { writes: [write('1'), write('2')] }),
    says: ['2 writes, more than the 1'],
  },
  'a commit with too many reads': {
    ...{ setting: 'commitReadsMax', code: 'LIMIT_EXCEEDED', settings: { commitReadsMax: 1 } },
    exceed: send('POST', '/commit', {
      reads: ['1', '2'].map(id => ({ path: write(id).path, version: 0 })),
      writes: [],
    }),
    says: ['2 reads, more than the 1'],
  },
  'too many additions': {
    ...{ setting: 'commitWritesMax', code: 'LIMIT_EXCEEDED', settings: { commitWritesMax: 1 } },
    exceed: async running => {
      await running.put('/db/shop/views', { kind: 'counter' })
      const additions = ['1', '2'].map(id => ({ id, add: 1 }))
      return send('POST', '/db/shop/views', { additions })(running)
    },
    says: ['2 additions, more than the 1'],
  },
  'a page of a list that is too long': {
    ...{ setting: 'listLimitMax', code: 'LIMIT_EXCEEDED', settings: { listLimitMax: 5 } },
    exceed: askOfBucket('?limit=6'),
    says: ['6 objects', 'the 5'],
  },
  'too many ids at once': {
    ...{ setting: 'listLimitMax', code: 'LIMIT_EXCEEDED', settings: { listLimitMax: 1 } },
    exceed: askOfBucket('?ids=1,2'),
    says: ['2 objects'],
  },
  'a page of a query that is too long': {
    ...{ setting: 'listLimitMax', code: 'LIMIT_EXCEEDED', settings: { listLimitMax: 5 } },
    exceed: ask('/db/shop/products?limit=6&where=%7B%7D'),
    says: ['6 objects'],
  },
  'too many counters to add up': {
    ...{ setting: 'countersMax', code: 'LIMIT_EXCEEDED', settings: { countersMax: 1 } },
    exceed: async running => {
      await running.put('/db/shop/views', { kind: 'counter' })
      for (const id of ['1', '2']) await running.fetch(`/db/shop/views/${id}`, jsonRequest('POST', { add: 1 }))
      return ask('/db/shop/views?sum')(running)
    },
    says: ['more than 1 counters'],
  },
  'too many buckets': {
    ...{ setting: 'bucketsMax', code: 'LIMIT_EXCEEDED', settings: { bucketsMax: 1 } },
    exceed: async running => {
      await running.put('/db/shop/products/1', {})
      return send('PUT', '/db/shop/orders/1', {})(running)
    },
    says: ['already 1 buckets'],
  },
  'too many Idempotency-Keys': {
    ...{ setting: 'keysPerNamespaceMax', code: 'LIMIT_EXCEEDED', settings: { keysPerNamespaceMax: 1 } },
    exceed: async running => {
      await running.put('/db/shop/products/1', {}, { 'idempotency-key': 'one' })
      return send('PUT', '/db/shop/products/2', {}, { 'idempotency-key': 'two' })(running)
    },
    says: ['1 Idempotency-Keys for the namespace shop'],
  },
  'an operation that is too old': {
    ...{ setting: 'operationRetentionMs', code: 'OPERATION_EXPIRED' },
    exceed: send('PUT', '/db/shop/products/1', {}, { 'idempotency-key': '01800000-0000-7000-8000-000000000000' }),
  },
  'a position that is not reached in time': {
    ...{ setting: 'positionWaitMsMax', code: 'POSITION_NOT_REACHED', settings: { positionWaitMsMax: 10 } },
    exceed: ask('/db/shop/products/1?at=1000'),
  },
  'too many requests that wait for a position': {
    ...{ setting: 'positionWaitersMax', code: 'SERVER_BUSY' },
    settings: { positionWaitersMax: 1, positionWaitMsMax: 60_000 },
    exceed: running => whileOpen(running, '/db/shop/products/1?at=1000', 'freshet_position_waiters'),
    says: ['1 requests'],
  },
  'too many readers of events': {
    ...{ setting: 'eventClientsMax', code: 'SERVER_BUSY', settings: { eventClientsMax: 1 } },
    exceed: running => whileOpen(running, '/coherence/events', 'freshet_event_clients'),
    says: ['1 readers'],
  },
  'more bodies at once than there is room for': {
    ...{ setting: 'receivedBytesMax', code: 'SERVER_BUSY' },
    settings: { receivedBytesMax: 1, bodyBytesMax: 1000, commitBodyBytesMax: 1000 },
    exceed: threeBodies,
  },
}

const OPTIONS = listOptions(1)
const ERRORS = readFileSync(`${repository}docs/errors.md`, 'utf8')

function sectionOf(code: string): string {
  return ERRORS.split(/^## /m).find(section => section.startsWith(`${code}\n`)) ?? ''
}

describe('the refusal of', () => {
  test.each(Object.entries(EXCESSES))('%s names the option to raise', async (_, excess) => {
    const { setting, code, settings = {}, exceed, says = [] } = excess
    const running = await startServer({ store: createMemoryStore({ positionsAfter: 0 }), settings })
    const problem = await exceed(running).finally(() => running.stop())
    expect(problem).toMatchObject({ code })
    expectOption(problem, setting)
    for (const text of says) expect(problem.detail).toContain(text)
  })

  test.each([
    ['address', 'limitPerAddress'],
    ['subject', 'limitPerSubject'],
  ])('too many requests by %s names the option to raise', async (policy, setting) => {
    const [perAddressPerS, perSubjectPerS] = policy === 'address' ? [0.001, 0] : [0, 0.001]
    const running = await startServer({
      store: createMemoryStore({ positionsAfter: 0 }),
      limits: { perAddressPerS, perSubjectPerS, burstS: 1000 },
      access: { rules: 'admin if claim.role == "admin"\nbucket */*\n  read if authenticated\n', tokens: TOKENS },
    })
    const headers = policy === 'address' ? {} : { authorization: `Bearer ${tokenOf('ann')}` }
    await running.fetch('/db/shop/products/1', { headers })
    const problem = await problemOf(await running.fetch('/db/shop/products/1', { headers }))
    await running.stop()
    expect(problem).toMatchObject({ code: 'RATE_LIMITED' })
    expectOption(problem, setting)
  })

  test('a write beyond a quota names the line of the rules to raise', async () => {
    const rules = 'admin if claim.role == "admin"\nbucket */*\n  read, list, write\nquota acme objects 1\n'
    const running = await startServer({ store: createMemoryStore(), access: { rules, tokens: TOKENS } })
    await running.put('/db/acme/notes/1', {})
    const problem = await send('PUT', '/db/acme/notes/2', {})(running)
    await running.stop()
    expect(problem).toMatchObject({ code: 'QUOTA_EXCEEDED', used: 1, max: 1 })
    expect(problem.detail).toContain('the line "quota acme" of the rules (freshet rules apply)')
  })
})

function expectOption(problem: Problem, setting: string): void {
  expect(Object.keys(OPTIONS)).toContain(setting)
  expect(problem.detail).toContain(`--${flagOf(setting)}, or ${variableOf(setting)}`)
  expect(problem).toMatchObject({ setting })
  expect(sectionOf(problem.code)).toContain(`--${flagOf(setting)}`)
}

function tokenOf(sub: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const head = `${part({ alg: 'HS256' })}.${part({ aud: TOKENS.audience, sub, exp: Math.floor(Date.now() / 1000) + 300 })}`
  return `${head}.${createHmac('sha256', TOKENS.secret).update(head).digest('base64url')}`
}
