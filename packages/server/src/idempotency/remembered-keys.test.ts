import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bearer, TOKENS } from '../access/under-test/bearer.js'
import { jsonRequest, problemOf, type RunningServer, startServer } from '../testing/running-server.js'

const RULES = 'admin if claim.role == "admin"\nbucket */*\n  read, list, write\n'
const RETENTION_MS = 24_000
const KEYS_MAX = 5

describe.each([
  ['with rules', { access: { rules: RULES, tokens: TOKENS } }],
  ['without rules', {}],
])('%s', (_, access) => {
  let nowMs = 0
  let made = 0
  let servers: RunningServer[] = []

  beforeEach(async () => {
    nowMs = 1000 * RETENTION_MS
    const store = createMemoryStore({ nowMs: () => nowMs, retentionMs: RETENTION_MS })
    const options = { store, settings: { keysPerNamespaceMax: KEYS_MAX }, ...access }
    servers = [await startServer(options), await startServer(options)]
    await servers[0]!.put('/db/acme/stock', { kind: 'counter', min: 0 }, await admin())
  })
  afterEach(async () => {
    for (const server of servers) await server.stop()
  })

  const admin = () => bearer({ sub: 'root', role: 'admin' })
  const newKey = () => ({ 'idempotency-key': `key-${++made}` })

  function put(namespace = 'acme', headers: Record<string, string> = newKey(), server = 0): Promise<Response> {
    return servers[server]!.fetch(`/db/${namespace}/notes/${made}`, jsonRequest('PUT', { made }, headers))
  }

  async function fill(namespace = 'acme'): Promise<void> {
    for (let i = 0; i < KEYS_MAX; i++) expect((await put(namespace, newKey(), i % 2)).ok).toBe(true)
  }

  test('the maximum number of keys of a namespace is remembered, over all servers, and the next is refused', async () => {
    await fill()
    for (const server of [0, 1]) {
      const answer = await put('acme', newKey(), server)
      expect(await problemOf(answer)).toMatchObject({
        ...{ status: 400, code: 'LIMIT_EXCEEDED' },
        ...{ namespace: 'acme', keysPerNamespaceMax: KEYS_MAX, outcome: 'not-done' },
      })
      expect((await servers[server]!.fetch(`/db/acme/notes/${made}`)).status).toBe(404)
    }
    expect((await servers[0]!.store.operationCounts()).foreign).toBe(KEYS_MAX)
  })

  test('namespaces do not use up the keys of others, and writes without a key still succeed', async () => {
    const first = newKey()
    const path = `/db/acme/notes/${made}`
    const send = () => servers[0]!.fetch(path, jsonRequest('PUT', { n: 1 }, first))
    expect((await send()).status).toBe(201)
    for (let i = 1; i < KEYS_MAX; i++) await put()
    expect((await put()).status).toBe(400)
    expect((await send()).headers.get('idempotency-replayed')).toBe('true')
    expect((await put('acme', {})).ok).toBe(true)
    expect((await put('acme', { 'idempotency-key': `f1.a-client-of-our-own.1.0.${nowMs}` })).ok).toBe(true)
    await fill('globex')
  })

  test.each([
    ['additions', '/db/acme/stock/a', { add: 1 }],
    ['additions together', '/db/acme/stock', undefined],
    ['commits', '/commit', { writes: [{ path: '/db/acme/notes/1', value: {} }] }],
    ['refusals', '/db/acme/stock/a', { add: -1 }],
  ])('%s count', async (_, path, value) => {
    const send = async () => {
      const headers = newKey()
      const body = value ?? { additions: [{ id: 'a', add: 1, key: `many-${made}` }] }
      return (await servers[0]!.fetch(path, jsonRequest('POST', body, headers))).text()
    }
    for (let i = 0; i < KEYS_MAX; i++) await send()
    expect((await put()).status).toBe(400)
    const { foreign } = await servers[0]!.store.operationCounts()
    expect(foreign).toBe(KEYS_MAX)
    await send()
    expect((await servers[0]!.store.operationCounts()).foreign).toBe(foreign)
  })

  test('a forgotten key makes room, and its counter is deleted', async () => {
    await fill()
    nowMs += RETENTION_MS / 2
    expect((await put()).status).toBe(400)
    nowMs += RETENTION_MS
    await servers[0]!.store.forgetOperations()
    await fill()
    expect((await put()).status).toBe(400)
    nowMs += 10 * RETENTION_MS
    expect((await put()).ok).toBe(true)
    const { entries } = await servers[0]!.store.scan('_freshet/keys')
    expect(entries.map(({ body }) => new TextDecoder().decode(body))).toEqual(['1'])
  })
})
