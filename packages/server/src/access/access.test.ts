/** Access control over HTTP: every route, the answers for each kind of caller, and what caches may keep. */

import { createMemoryStore } from '@freshet/engines/memory'
import type { CoherenceHead } from '@freshet/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createJsonLog } from '../monitoring/log.js'
import { allRoutes } from '../testing/all-routes.js'
import { jsonRequest, problemOf, type RunningServer, sendRaw, startServer } from '../testing/running-server.js'
import { applyRules } from './apply-rules.js'
import { bearer, TOKENS } from './under-test/bearer.js'
import { SHOP_RULES } from './under-test/shop-rules.js'
import { startRuledServer } from './under-test/start-ruled-server.js'

const RULES = `${SHOP_RULES}  list
  write if authenticated
bucket shop/hidden
  read if not (object.secret == true)
bucket shop/inbox
  create
bucket shop/views
  read, list
  update if authenticated
`

let running: RunningServer
let ann: Record<string, string>
let bob: Record<string, string>
let admin: Record<string, string>
let editor: Record<string, string>

beforeEach(async () => {
  running = await startRuledServer(RULES)
  ann = await bearer({ sub: 'ann' })
  bob = await bearer({ sub: 'bob' })
  admin = await bearer({ sub: 'root', role: 'admin' })
  editor = await bearer({ sub: 'ed', role: 'editor' })
  await running.put('/db/shop/products/tea', { price: 5 }, editor)
  await running.put('/db/shop/orders/1', { owner: 'ann', total: 7 }, ann)
  await running.put('/db/shop/orders/2', { owner: 'bob', total: 9 }, bob)
})
afterEach(() => running.stop())

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  running.fetch(path, { method, headers })

describe('routes', () => {
  test('each declares who may use it', async () => {
    const undeclared = (await allRoutes(createMemoryStore())).flatMap(({ pattern, methods }) =>
      Object.entries(methods)
        .filter(([, { access }]) => access === undefined)
        .map(([method]) => `${method} ${pattern}: declare "access" of this operation`),
    )
    expect(undeclared).toEqual([])
  })

  test.each([
    ['PUT', '/db/shop/orders'],
    ['GET', '/tasks'],
    ['GET', '/tasks/0'],
    ['POST', '/tasks/0'],
    ['GET', '/metrics'],
    ['GET', '/idempotency'],
    ['GET', '/access'],
    ['GET', '/audit'],
  ])('%s %s is for admins', async (method, path) => {
    const ask = (headers: Record<string, string>) =>
      running.fetch(path, method === 'GET' ? { headers } : jsonRequest(method, { kind: 'object' }, headers))
    expect((await ask({})).status).toBe(401)
    expect((await ask(ann)).status).toBe(403)
    expect([200, 201, 400, 404]).toContain((await ask(admin)).status)
  })

  test('/metrics is also open to the callers that the rules name, and that opens nothing else to them', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const rules = `${RULES}\nmetrics if claim.role == "metrics"`
    const measured = await startServer({ store, access: { rules, tokens: TOKENS } })
    const headers = await bearer({ sub: 'prometheus', role: 'metrics' })
    const statuses = []
    for (const each of [{}, ann, headers, admin]) {
      statuses.push((await measured.fetch('/metrics', { headers: each })).status)
    }
    expect(statuses).toEqual([401, 403, 200, 200])
    for (const path of ['/tasks', '/audit', '/logs', '/db/shop/orders/1']) {
      expect((await measured.fetch(path, { headers })).status, path).toBe(403)
    }
    const open = await startServer({
      store: createMemoryStore(),
      access: { rules: `${RULES}\nmetrics`, tokens: TOKENS },
    })
    expect((await open.fetch('/metrics')).status).toBe(200)
    await Promise.all([measured.stop(), open.stop()])
  })

  test.each(['/', '/live', '/ready', '/time', '/openapi.json', '/errors/FORBIDDEN', '/coherence', '/coherence/filter'])(
    '%s is open to everybody',
    async path => {
      expect((await get(path)).status).toBe(200)
    },
  )
})

describe('an object that everybody may read', () => {
  test('may be kept by every cache, whichever caller requested it', async () => {
    for (const headers of [{}, ann, { authorization: 'Bearer forged' }]) {
      const answer = await get('/db/shop/products/tea', headers)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toMatch(/^public, max-age=60/)
    }
  })

  test('has a list that every cache may keep, too', async () => {
    const answer = await get('/db/shop/products?embed')
    expect(answer.headers.get('cache-control')).toMatch(/^public/)
  })

  test('cannot be written by everybody', async () => {
    expect((await running.fetch('/db/shop/products/tea', jsonRequest('PUT', {}))).status).toBe(401)
    expect((await running.fetch('/db/shop/products/tea', jsonRequest('PUT', {}, ann))).status).toBe(403)
    expect((await get('/db/shop/products/tea', ann, 'DELETE')).status).toBe(403)
  })
})

describe('an object that not everybody may read', () => {
  test.each(['GET', 'HEAD'])(
    'is returned to %s of a caller who may read it, and no cache may keep the answer',
    async method => {
      const answer = await get('/db/shop/orders/1', ann, method)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
      const at = await get(`/db/shop/orders/1?at=${answer.headers.get('freshet-position')}`, ann, method)
      expect(at.status).toBe(200)
      expect(at.headers.get('cache-control')).toBe('private, no-store')
      const unchanged = await get('/db/shop/orders/1', { ...ann, 'if-none-match': answer.headers.get('etag')! }, method)
      expect(unchanged.status).toBe(304)
      expect(unchanged.headers.get('cache-control')).toBe('private, no-store')
    },
  )

  test('is refused in the same words as an absent object', async () => {
    for (const [headers, status] of [
      [{}, 401],
      [bob, 403],
    ] as const) {
      const [there, nowhere] = await Promise.all([
        get('/db/shop/orders/1', headers),
        get('/db/shop/orders/none', headers),
      ])
      expect([there.status, nowhere.status]).toEqual([status, status])
      expect(there.headers.get('cache-control')).toBe('private, no-store')
      const { requestId: _, ...hiddenProblem } = await problemOf(there)
      const { requestId: __, ...absentProblem } = await problemOf(nowhere)
      expect(hiddenProblem).toEqual(absentProblem)
    }
  })

  test('looks absent if the rules let the caller see that an object is absent', async () => {
    await running.put('/db/shop/hidden/1', { secret: true }, admin)
    const [hidden, nowhere] = await Promise.all([get('/db/shop/hidden/1'), get('/db/shop/hidden/2')])
    expect([hidden.status, nowhere.status]).toEqual([404, 404])
  })

  test.each(['PUT', 'PATCH', 'DELETE', 'POST'])('is not revealed by %s, whatever the conditions', async method => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    for (const condition of [{}, { 'if-match': '"1"' }, { 'if-none-match': '*' }, { 'idempotency-key': 'k-1' }]) {
      const ask = (id: string) =>
        running.fetch(`/db/shop/orders/${id}`, {
          method,
          headers: { ...bob, ...condition, 'content-type': type },
          ...(method === 'DELETE' ? {} : { body: method === 'POST' ? '{"add":1}' : '{"total":0}' }),
        })
      const [there, nowhere] = [await ask('1'), await ask('none')]
      expect(there.status).toBe(condition['idempotency-key'] && nowhere.status === 422 ? 403 : nowhere.status)
      expect(there.status).toBe(403)
    }
    expect(await (await get('/db/shop/orders/1', ann)).json()).toEqual({ owner: 'ann', total: 7 })
  })

  test('cannot be given to another owner', async () => {
    const given = await running.fetch('/db/shop/orders/1', jsonRequest('PUT', { owner: 'bob' }, ann))
    expect(given.status).toBe(403)
  })

  test('is public while it is published', async () => {
    await running.put('/db/shop/posts/1', { owner: 'ann', published: true }, ann)
    expect((await get('/db/shop/posts/1')).headers.get('cache-control')).toMatch(/^public/)
    await running.put('/db/shop/posts/1', { owner: 'ann', published: false }, ann)
    expect((await get('/db/shop/posts/1')).status).toBe(401)
    expect((await get('/db/shop/posts/1', ann)).headers.get('cache-control')).toBe('private, no-store')
  })
})

describe('lists', () => {
  const ids = async (answer: Response) =>
    ((await answer.json()) as { items: { id: string }[] }).items.map(({ id }) => id)

  test('show what their reader may read, and no cache may keep them', async () => {
    const answer = await get('/db/shop/orders?embed', bob)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
    expect(await answer.text()).not.toContain('ann')
    expect(await ids(await get('/db/shop/orders', ann))).toEqual(['1'])
    expect(await ids(await get('/db/shop/orders', admin))).toEqual(['1', '2'])
    expect((await get('/db/shop/orders')).status).toBe(401)
  })

  test('of ids show objects that the caller may not read as absent', async () => {
    const answer = (await (await get('/db/shop/orders?embed&ids=1,2,3', ann)).json()) as { items: unknown[] }
    expect(answer.items).toEqual([
      { id: '1', version: expect.any(Number), value: { owner: 'ann', total: 7 } },
      { id: '2', version: 0 },
      { id: '3', version: 0 },
    ])
  })

  test('go page by page without naming hidden objects between', async () => {
    for (let i = 0; i < 30; i++) {
      const owner = i % 10 === 9 ? 'ann' : 'bob'
      await running.put(`/db/shop/orders/p${`${i}`.padStart(2, '0')}`, { owner }, owner === 'ann' ? ann : bob)
    }
    const seen: string[] = []
    for (let target = '/db/shop/orders?limit=1'; ; ) {
      const page = (await (await get(target, ann)).json()) as { items: { id: string }[]; next?: string }
      seen.push(...page.items.map(({ id }) => id))
      if (page.next === undefined) break
      target = `/db/shop/orders?after=${encodeURIComponent(page.next)}&limit=1`
    }
    expect(seen).toEqual(['1', 'p09', 'p19', 'p29'])
  })

  test('of queries show what the caller may read, page by page', async () => {
    for (let i = 0; i < 12; i++) {
      const owner = i % 4 === 3 ? 'ann' : 'bob'
      await running.put(`/db/shop/orders/q${i}`, { owner, total: i }, owner === 'ann' ? ann : bob)
    }
    const seen: number[] = []
    for (let after = ''; ; ) {
      const answer = await get(`/db/shop/orders?${after}limit=1&sort=-total`, ann)
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
      const page = (await answer.json()) as { items: { value: { owner: string; total: number } }[]; next?: string }
      expect(page.items.every(({ value }) => value.owner === 'ann')).toBe(true)
      seen.push(...page.items.map(({ value }) => value.total))
      if (page.next === undefined) break
      after = `after=${encodeURIComponent(page.next)}&`
    }
    expect(seen).toEqual([11, 7, 7, 3])
    expect((await get('/db/shop/orders?explain&sort=total', ann)).status).toBe(403)
    expect((await get('/db/shop/orders?sort=total')).status).toBe(401)
  })

  test('of buckets show those that the caller may list', async () => {
    const names = async (headers: Record<string, string>) =>
      ((await (await get('/db/shop', headers)).json()) as { buckets: { bucket: string }[] }).buckets.map(b => b.bucket)
    expect(await names({})).toEqual(['products'])
    expect(await names(ann)).toEqual(['orders', 'products'])
    expect(await (await get('/db')).json()).toEqual({ namespaces: ['shop'] })
    expect((await get('/db/shop/orders?settings')).status).toBe(401)
    expect((await get('/db/shop/none', admin)).status).toBe(404)
    expect((await get('/db/shop/none')).status).toBe(401)
  })

  test('of counters add up what the caller may read', async () => {
    await running.put('/db/shop/views', { kind: 'counter' }, admin)
    const add = (headers: Record<string, string>) =>
      running.fetch('/db/shop/views/a', jsonRequest('POST', { add: 2 }, headers))
    expect((await add({})).status).toBe(401)
    expect((await add(ann)).status).toBe(200)
    const sum = await get('/db/shop/views?sum')
    expect(await sum.json()).toEqual({ sum: 2, count: 1 })
    const many = await running.fetch('/db/shop/views', jsonRequest('POST', { additions: [{ id: 'a', add: 5 }] }))
    expect(await many.text()).toContain('UNAUTHENTICATED')
    expect(await (await get('/db/shop/views/a')).json()).toBe(2)
  })
})

describe('commits', () => {
  const commit = (body: unknown, headers: Record<string, string>) =>
    running.fetch('/commit', jsonRequest('POST', body, headers))

  test('need the right to each write and each read', async () => {
    const own = { path: '/db/shop/orders/3', value: { owner: 'bob' } }
    expect((await commit({ writes: [own] }, bob)).status).toBe(200)
    expect((await commit({ writes: [own] }, ann)).status).toBe(403)
    const others = [
      { writes: [own, { path: '/db/shop/orders/1', value: { owner: 'bob' } }] },
      { writes: [{ path: '/db/shop/orders/1', delete: true }] },
      { writes: [own], reads: [{ path: '/db/shop/orders/1', version: 1 }] },
      { writes: [own], reads: [{ path: '/db/shop/orders/none', version: 1 }] },
      { writes: [], reads: [{ path: '/db/shop/orders/1', version: 1 }] },
      {
        writes: [
          { path: '/db/shop/views/a', add: 1 },
          { path: '/db/shop/products/tea', add: 1 },
        ],
      },
      { writes: [], lists: [{ path: '/db/shop/hidden', version: 1 }] },
    ]
    for (const each of others) expect((await commit(each, bob)).status).toBe(403)
    expect((await commit({ writes: [own] }, {})).status).toBe(401)
    expect(await (await get('/db/shop/orders/1', ann)).json()).toEqual({ owner: 'ann', total: 7 })
  })

  test('without writes get no lease', async () => {
    const reads = [{ path: '/db/shop/products/tea', version: 1 }]
    expect((await commit({ reads, writes: [], lease: true }, {})).status).toBe(401)
  })
})

describe('operations with a key', () => {
  test('are answered again to the caller who sent them, although the object now changes what that caller may do', async () => {
    const send = (headers: Record<string, string>) =>
      running.fetch('/db/shop/inbox/1', jsonRequest('PUT', { a: 1 }, { ...headers, 'idempotency-key': 'once' }))
    expect((await send(ann)).status).toBe(201)
    const again = await send(ann)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect((await send(bob)).status).toBe(403)
  })

  test('of a caller without a token are not remembered when they are refused', async () => {
    const { store } = running
    const before = await store.position()
    const refused = await running.fetch('/db/shop/orders/9', jsonRequest('PUT', {}, { 'idempotency-key': 'x' }))
    expect(refused.status).toBe(401)
    expect(await store.position()).toBe(before)
  })
})

describe('what is revealed', () => {
  test('to a caller whose Authorization is not a token: nothing but how to authenticate', async () => {
    for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer a b', 'bearer x.y.z', '']) {
      const answer = await get('/db/shop/orders/1', { authorization })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
    }
    const twice = Object.values(ann)[0]
    const raw = `GET /db/shop/orders/1 HTTP/1.1\r\nHost: a\r\nAuthorization: ${twice}\r\nAuthorization: ${twice}\r\n\r\n`
    expect((await sendRaw(running.port, raw)).status).toBe(401)
  })

  test('by a head: which buckets the rules open to everybody, but not which buckets exist', async () => {
    const openIn = async () => ((await (await get('/coherence')).json()) as CoherenceHead).open
    const before = await openIn()
    expect(before?.read).toContain('shop/products')
    for (const closed of ['shop/orders', 'shop/posts']) expect(before?.read).not.toContain(closed)
    await running.put('/db/shop/fresh/1', {}, admin)
    expect(await openIn()).toEqual(before)
  })

  test('by the sketch: nothing about objects that no cache may keep', async () => {
    const head = async () => (await (await get('/coherence?after=1')).json()) as { news?: string }
    const before = JSON.stringify((await head()).news).length
    for (let i = 0; i < 20; i++) await running.put(`/db/shop/orders/s${i}`, { owner: 'ann' }, ann)
    expect(JSON.stringify((await head()).news).length).toBeLessThan(before + 20)
    for (let i = 0; i < 20; i++) await running.put(`/db/shop/products/s${i}`, {}, editor)
    expect(JSON.stringify((await head()).news).length).toBeGreaterThan(before + 20 * 4)
  })

  test('to admins: who changed what, and the rules', async () => {
    const lines: string[] = []
    const store = createMemoryStore({ positionsAfter: 0 })
    const log = createJsonLog({ level: 'info', write: line => lines.push(line) })
    const startedMs = Date.now()
    const other = await startServer({ store, log, access: { rules: RULES, tokens: TOKENS } })
    await other.put('/db/shop/products', { kind: 'object', lifetimeMs: 1000 }, admin)
    const audit = (await (await other.fetch('/audit', { headers: admin })).json()) as { entries: unknown[] }
    expect(audit.entries).toMatchObject([
      { what: 'rules', before: null, after: RULES, from: expect.stringMatching(/./) },
      {
        what: 'bucket',
        bucket: 'shop/products',
        who: ' root',
        from: '127.0.0.1',
        before: null,
        after: { lifetimeMs: 1000 },
      },
    ])
    // Times of day, although the store's clock began a moment ago.
    for (const { time, timeMs } of audit.entries as { time: string; timeMs: number }[]) {
      expect(Date.parse(time)).toBe(timeMs)
      expect(timeMs).toBeGreaterThanOrEqual(startedMs)
      expect(timeMs).toBeLessThanOrEqual(Date.now())
    }
    expect(await (await other.fetch('/access', { headers: admin })).json()).toEqual({
      rules: RULES,
      version: expect.any(Number),
    })
    expect(lines.filter(line => line.includes('"audit"'))).toHaveLength(2)
    await other.stop()
  })
})

describe('a change of rules', () => {
  test('reaches every server over the same data, and no older copy is trusted afterwards', async () => {
    const { store } = running
    const before = (await get('/db/shop/products/tea')).headers.get('freshet-position')
    const closed = RULES.replace('  read, list\n', '  read, list if authenticated\n')
    await applyRules(store, { rules: closed, who: 'a test' })
    const second = await startServer({ store, access: { rules: closed, tokens: TOKENS } })
    for (const server of [running, second]) {
      expect((await server.fetch('/db/shop/products/tea')).status).toBe(401)
      const answer = await server.fetch('/db/shop/products/tea', { headers: ann })
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
      const head = (await (await server.fetch(`/coherence?after=${before}`)).json()) as {
        from: number
        position: number
      }
      expect(head.from).toBeGreaterThan(Number(before))
      expect(head.from).toBe(head.position)
    }
    await second.stop()
    const third = await startServer({ store, access: { rules: closed, tokens: TOKENS } })
    const head = (await (await third.fetch(`/coherence?after=${before}`)).json()) as { from: number }
    expect(head.from).toBeGreaterThan(Number(before))
    await third.stop()
  })

  test('to no rules does not happen because a server was started without any', async () => {
    const { store } = running
    await expect(startServer({ store })).rejects.toMatchObject({
      code: 'ACCESS_REQUIRED',
      message: expect.stringContaining('freshet rules remove'),
    })
    const tool = await startServer({ store, storedRules: 'ignore' })
    expect((await tool.fetch('/db/shop/orders/1')).status).toBe(200)
    await tool.stop()
    expect((await get('/db/shop/orders/1', admin)).status).toBe(200)
    expect((await get('/db/shop/orders/1')).status).toBe(401)
  })

  test('to no rules takes effect when it is requested', async () => {
    const { store } = running
    await applyRules(store, { rules: null, mayWiden: true, who: 'a test' })
    const open = await startServer({ store })
    expect((await open.fetch('/db/shop/orders/1')).status).toBe(200)
    // The server that was started with rules learns that the store has none now, and refuses every request.
    expect((await get('/db/shop/products/tea', admin)).status).toBe(403)
    await open.stop()
    await (await startServer({ store })).stop()
  })

  test('that has mistakes keeps a server from starting', () => {
    const start = (rules: string) => startServer({ store: running.store, access: { rules, tokens: TOKENS } })
    return Promise.all([
      expect(start('bucket shop')).rejects.toThrow('1:8'),
      expect(start('deny read a/b/c as anyone\nbucket a/b\n read')).rejects.toThrow('The rules allow this'),
    ])
  })
})
