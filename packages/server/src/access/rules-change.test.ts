/** A server that learns of other rules only when it reads the log: from then on, it judges its answers by them. */

import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createJsonLog } from '../monitoring/log.js'
import { tellingNothing, withMethods } from '../testing/odd-stores.js'
import { jsonRequest, type RunningServer, startServer } from '../testing/running-server.js'
import { applyRules } from './apply-rules.js'
import { bearer, TOKENS } from './under-test/bearer.js'

const ADMIN = 'admin if claim.role == "admin"\n'
const OPEN = `${ADMIN}bucket shop/*\n  read, list`
const CLOSED = `${ADMIN}bucket shop/*\n  read, list if claim.role == "staff"`

const PATHS = [
  '/db/shop/products/tea',
  '/db/shop/products/tea?at=1',
  '/db/shop/products',
  '/db/shop/products?ids=tea',
  '/db/shop/products?where=%7B%22price%22%3A5%7D',
  '/db/shop/views?sum',
  '/db/shop/views?top=3',
]
const UNKEPT = ['/db', '/db/shop', '/db/shop/products?settings', '/db/shop/products?schemas']

let store: Store
let servers: RunningServer[]
let admin: Record<string, string>
let staff: Record<string, string>

/** Puts the rules into force, and starts a server. */
async function start(over: Store, rules: string): Promise<RunningServer> {
  await applyRules(over, { rules, mayWiden: true, who: 'a test' })
  const server = await startServer({ store: over, access: { rules, tokens: TOKENS } })
  servers.push(server)
  return server
}

beforeEach(async () => {
  servers = []
  store = createMemoryStore({ positionsAfter: 0 })
  admin = await bearer({ sub: 'root', role: 'admin' })
  staff = await bearer({ sub: 'sue', role: 'staff' })
  const first = await start(store, OPEN)
  await first.put('/db/shop/products/tea', { price: 5 }, admin)
  await first.put('/db/shop/views', { kind: 'counter' }, admin)
  await first.put('/db/shop/views/tea', 3, admin)
})
afterEach(() => Promise.all(servers.map(server => server.stop())))

describe('when another server closes a bucket', () => {
  let behind: RunningServer

  beforeEach(async () => {
    behind = await start(tellingNothing(store), OPEN)
    for (const path of PATHS) {
      expect((await behind.fetch(path)).headers.get('cache-control'), path).toMatch(/^public/)
    }
    await start(store, CLOSED)
  })

  test.each(PATHS)('the next read of %s is refused', async path => {
    const answer = await behind.fetch(path)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
  })

  test.each(PATHS)('the next read of %s by a caller who still may read it is kept by no cache', async path => {
    const answer = await behind.fetch(path, { headers: staff })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
  })

  test.each(UNKEPT)('%s no longer shows any of it', async path => {
    const answer = await behind.fetch(path)
    expect(await answer.text()).not.toMatch(/shop"|products|views|kind|"schemas"/)
    expect((await behind.fetch(path, { headers: staff })).status).toBe(200)
  })
})

test.each([
  ['an old rules file, after kill -9', OPEN, {}],
  ['an old rules file, as a worker', OPEN, { putsRules: false }],
  ['no rules, and token keys', undefined, {}],
])(
  'a server that starts again with %s changes nothing: the rules of the store stay in force',
  async (_, rules, more) => {
    await start(store, CLOSED)
    const lines: string[] = []
    const log = createJsonLog({ level: 'error', write: line => lines.push(line) })
    const again = await startServer({ store, log, access: { rules, tokens: TOKENS }, ...more })
    servers.push(again)
    expect(lines.filter(line => line.includes('freshet rules diff'))).toHaveLength(
      rules === OPEN && !('putsRules' in more) ? 1 : 0,
    )
    expect((await again.fetch('/db/shop/products/tea')).status).toBe(401)
    expect((await again.fetch('/db/shop/products/tea', { headers: staff })).status).toBe(200)
    const { rules: inForce } = (await (await again.fetch('/access', { headers: admin })).json()) as { rules: string }
    expect(inForce).toBe(CLOSED)
  },
)

test.each(PATHS)('when another server opens a bucket, the next read of %s is answered for everybody', async path => {
  await start(store, CLOSED)
  const behind = await start(tellingNothing(store), CLOSED)
  expect((await behind.fetch(path)).status).toBe(401)
  await start(store, OPEN)
  const answer = await behind.fetch(path)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('cache-control')).toMatch(/^public/)
})

describe('when another server closes a bucket while it is read', () => {
  /** Closes the bucket and changes its contents, after the log was read and before the requested data is. */
  async function startInterrupted(method: 'get' | 'getMany' | 'scan' | 'query'): Promise<RunningServer> {
    let isArmed = false
    const interrupt = async () => {
      if (!isArmed) return
      isArmed = false
      const other = await start(store, CLOSED)
      await other.put('/db/shop/products/tea', { price: 5, secret: true }, admin)
      await other.put('/db/shop/views/tea', 4, admin)
    }
    const inner = tellingNothing(store)
    const read = inner[method].bind(inner) as (...given: unknown[]) => unknown
    const odd = withMethods(inner, {
      [method]: async (...given: unknown[]) => {
        // Only reads of data are interrupted, not those of rules or of bucket settings.
        if (method !== 'get' || given[0] === 'shop/products/tea') await interrupt()
        return read(...given)
      },
    })
    const server = await start(odd, OPEN)
    isArmed = true
    return server
  }

  test.each([
    ['get', '/db/shop/products/tea'],
    ['scan', '/db/shop/products?embed'],
    ['getMany', '/db/shop/products?embed&ids=tea'],
    ['query', '/db/shop/products?where=%7B%22price%22%3A5%7D'],
    ['scan', '/db/shop/views?sum'],
  ] as const)('by %s, its new contents are not revealed: %s', async (method, path) => {
    const interrupted = await startInterrupted(method)
    const answer = await interrupted.fetch(path)
    expect(await answer.text()).not.toMatch(/secret|"sum":4/)
    expect(answer.status).toBe(401)
    expect((await interrupted.fetch(path, { headers: staff })).headers.get('cache-control')).toBe('private, no-store')
  })
})

describe('a server without rules, when another server gives the store some', () => {
  async function startWithout(options: { storedRules?: 'ignore' } = {}): Promise<RunningServer> {
    store = createMemoryStore({ positionsAfter: 0 })
    const server = await startServer({ store, ...options })
    servers.push(server)
    await server.put('/db/shop/products/tea', { price: 5 })
    await server.put('/db/shop/views', { kind: 'counter' })
    await server.put('/db/shop/views/tea', 3)
    return server
  }

  const putStatus = async (server: RunningServer) =>
    (await server.fetch('/db/shop/products/tea', jsonRequest('PUT', { price: 1 }))).status

  test('now lets callers do only what these rules let everybody do', async () => {
    const bare = await startWithout()
    for (const path of PATHS) expect((await bare.fetch(path)).status, path).toBe(200)
    await start(store, CLOSED)
    for (const path of PATHS) {
      const answer = await bare.fetch(path)
      expect(answer.status, path).toBe(401)
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
    }
    expect(await putStatus(bare)).toBe(401)
    expect((await bare.fetch('/metrics')).status).toBe(401)
    const answer = await bare.fetch('/db/shop/products/tea', { headers: staff })
    expect([answer.status, await answer.text()]).toEqual([
      401,
      expect.stringContaining('Restart it with FRESHET_TOKEN_SECRET'),
    ])
  })

  test('still answers reads that are open to everybody, and does everything again once the rules are removed', async () => {
    const bare = await startWithout()
    await start(store, OPEN)
    expect((await bare.fetch('/db/shop/products/tea')).status).toBe(200)
    expect(await putStatus(bare)).toBe(401)
    await applyRules(store, { rules: null, mayWiden: true, who: 'a test' })
    expect(await putStatus(bare)).toBe(200)
  })

  test('obeys these rules also after a restart with putsRules: false', async () => {
    await startWithout()
    await start(store, CLOSED)
    const again = await startServer({ store, putsRules: false })
    servers.push(again)
    expect((await again.fetch('/db/shop/products/tea')).status).toBe(401)
  })

  test('goes on as before if it is a tool that only its user reaches', async () => {
    const tool = await startWithout({ storedRules: 'ignore' })
    await start(store, CLOSED)
    expect(await putStatus(tool)).toBe(200)
  })
})

describe('PUT /access', () => {
  let server: RunningServer
  let version: number
  const apply = (body: unknown, headers = admin) => server.fetch('/access', jsonRequest('PUT', body, headers))
  const inForce = async () => (await (await server.fetch('/access', { headers: admin })).json()) as object

  beforeEach(async () => {
    server = servers[0]!
    ;({ version } = (await inForce()) as { version: number })
  })

  test('replaces the rules of the version that it names, for every server, and records who did it', async () => {
    const behind = await start(tellingNothing(store), OPEN)
    const answer = await apply({ rules: CLOSED, ifVersion: version })
    expect(answer.status).toBe(200)
    const applied = (await answer.json()) as { version: number }
    expect(applied).toEqual({ version: expect.any(Number), hasChanged: true, wider: [] })
    expect(await inForce()).toEqual({ rules: CLOSED, version: applied.version })
    expect((await behind.fetch('/db/shop/products/tea')).status).toBe(401)
    const { entries } = (await (await server.fetch('/audit', { headers: admin })).json()) as { entries: object[] }
    expect(entries.at(-1)).toMatchObject({ what: 'rules', who: ' root', version: applied.version, before: OPEN })
    // Retried as if the answer had been lost.
    const again = (await (await apply({ rules: CLOSED, ifVersion: version })).json()) as object
    expect(again).toEqual({ version: applied.version, hasChanged: false, wider: [] })
  })

  test('changes nothing if the rules in force have another version', async () => {
    const answer = await apply({ rules: CLOSED, ifVersion: version - 1 })
    expect([answer.status, await answer.json()]).toMatchObject([412, { code: 'VERSION_CONFLICT', version }])
    expect(await inForce()).toEqual({ rules: OPEN, version })
  })

  test('that loses against a concurrent one reports the conflict', async () => {
    const other = `${CLOSED} and claim.sub == "sue"`
    const answers = await Promise.all([CLOSED, other].map(rules => apply({ rules, ifVersion: version })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
  })

  test('opens nothing unless the caller says that this is intended', async () => {
    await start(store, CLOSED)
    const { version: closed } = (await inForce()) as { version: number }
    const refused = await apply({ rules: OPEN, ifVersion: closed })
    expect([refused.status, await refused.json()]).toMatchObject([
      409,
      { code: 'RULES_WIDEN', wider: [{ what: 'shop/*', rights: ['read', 'list'] }] },
    ])
    expect((await apply({ rules: OPEN, ifVersion: closed, widen: true })).status).toBe(200)
    expect((await server.fetch('/db/shop/products/tea')).status).toBe(200)
  })

  test('keeps admins from locking themselves out', async () => {
    const answer = await apply({ rules: OPEN.replace(ADMIN, ''), ifVersion: version })
    expect([answer.status, await answer.json()]).toMatchObject([409, { code: 'RULES_LOCK_OUT' }])
  })

  test('accepts no rules from a former admin, although this server has not yet learnt of the change', async () => {
    const behind = await start(tellingNothing(store), OPEN)
    const now = OPEN.replace('"admin"', '"boss"')
    await applyRules(store, { rules: now, mayWiden: true, who: 'a test' })
    const { version: newest } = (await store.get('_freshet/access/rules'))!
    const body = { rules: OPEN, ifVersion: newest, widen: true }
    const answer = await behind.fetch('/access', jsonRequest('PUT', body, admin))
    expect(answer.status).toBe(403)
  })

  test.each([
    ['rules with a mistake', { rules: 'bucket shop', ifVersion: 1 }, 400, 'RULES_INVALID'],
    ['no version', { rules: CLOSED }, 400, 'BODY_INVALID'],
    ['what it does not know', { rules: CLOSED, ifVersion: 1, force: true }, 400, 'BODY_INVALID'],
  ])('refuses %s', async (_, body, status, code) => {
    const answer = await apply(body)
    expect([answer.status, await answer.json()]).toMatchObject([status, { code }])
  })

  test('is for admins, and does not set the rules of a server without rules', async () => {
    expect((await apply({ rules: OPEN, ifVersion: version }, staff)).status).toBe(403)
    const bare = await startServer({ store: createMemoryStore() })
    servers.push(bare)
    const answer = await bare.fetch('/access', jsonRequest('PUT', { rules: OPEN, ifVersion: 0 }))
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'FORBIDDEN' }])
  })
})
