/** For tests: deletion of buckets and namespaces, over any store. */
import type { Store } from '@freshet/core/store'
import type { BucketAnswer, NamespaceAnswer, Task } from '@freshet/protocol'
import { afterEach, expect, test } from 'vitest'
import { signToken } from '../../../access/sign-token.js'
import { withMethods } from '../../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, startServer, until } from '../../../testing/running-server.js'

const SECRET = 'a secret of at least thirty-two bytes'
const TOKENS = { secret: SECRET, audience: 'freshet', leewayMs: 0 }
const RULES = 'quota shop objects 1000, bytes 100000\nadmin if claim.role == "admin"\nbucket */*\n  read, list, write\n'
const BUCKET = '/db/shop/products'
const BOOKS = `${BUCKET}?where=${encodeURIComponent('{"kind":"book"}')}`
const SCHEMA = { required: ['n'], properties: { n: { type: 'integer' } } }

const servers: RunningServer[] = []
const stores = new Set<Store>()
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
  for (const store of stores) await store.close()
  stores.clear()
})

type StartOptions = Omit<Parameters<typeof startServer>[0], 'store'>

async function start(store: Store, options: StartOptions = {}): Promise<RunningServer> {
  const server = await startServer({ store, ...options })
  servers.push(server)
  stores.add(store)
  return server
}

async function fill(server: RunningServer, count: number, bucket = BUCKET): Promise<void> {
  const writes = Array.from({ length: count }, (_, n) => ({ path: `${bucket}/${n}`, value: { n, kind: 'book' } }))
  expect((await server.fetch('/commit', jsonRequest('POST', { writes }))).status).toBe(200)
}

async function drop(server: RunningServer, headers = {}, bucket = BUCKET): Promise<string> {
  const answer = await server.fetch(bucket, { method: 'DELETE', headers })
  expect(answer.status).toBe(202)
  const { task, position } = (await answer.json()) as BucketAnswer
  expect(answer.headers.get('location')).toBe(`/tasks/${task}`)
  expect(answer.headers.get('freshet-position')).toBe(`${position}`)
  return task!
}

async function taskOf(server: RunningServer, id: string, headers = {}): Promise<Task> {
  return (await (await server.fetch(`/tasks/${id}`, { headers })).json()) as Task
}

async function end(server: RunningServer, id: string, headers = {}): Promise<Task> {
  await until(async () => (await taskOf(server, id, headers)).state !== 'running')
  return taskOf(server, id, headers)
}

async function admin(): Promise<Record<string, string>> {
  const claims = { sub: 'root', role: 'admin' }
  const token = await signToken({ claims, audience: 'freshet', issuer: undefined, expiresMs: 300_000, secret: SECRET })
  return { authorization: `Bearer ${token}` }
}

async function codeOf(answer: Promise<Response>): Promise<string> {
  return (await problemOf(await answer)).code
}

type OpenStore = () => Promise<Store>

export function testBucketDeletion(name: string, open: OpenStore): void {
  test(`${name}: a deleted bucket is gone with its objects, settings, indexes and schemas, and the log names each object`, () =>
    goesWhole(open))
  test(`${name}: nothing is written to a bucket that is being deleted, and the deletion continues after a restart`, () =>
    survivesRestart(open))
  test(`${name}: concurrent writes come before the deletion, are refused, or go to the next bucket of that name`, () =>
    racesWriters(open))
  test(`${name}: only admins delete, the audit has it, and quotas stay correct`, () => isForAdmins(open))
  test(`${name}: a namespace is deleted with all its buckets, or not at all`, () => deletesNamespace(open))
}

async function goesWhole(open: OpenStore): Promise<void> {
  const store = await open()
  const server = await start(store)
  await server.put(BUCKET, { kind: 'object', schema: SCHEMA, indexes: [{ name: 'kind', fields: ['kind'] }] })
  await fill(server, 250)
  const found = await findBooks(server, store)
  const before = await store.position()
  expect(await end(server, await drop(server))).toMatchObject({
    ...{ kind: 'deletion', bucket: 'shop/products', state: 'done', done: 250 },
  })
  expect((await store.scan('shop/products')).entries).toEqual([])
  expect(await store.indexes('shop/products')).toEqual([])
  for (const path of [BUCKET, BOOKS, `${BUCKET}?settings`, `${BUCKET}?schemas`]) {
    expect(await codeOf(server.fetch(path))).toBe('BUCKET_NOT_FOUND')
  }
  expect((await server.fetch(`${BUCKET}/1`)).status).toBe(404)
  expect(await (await server.fetch('/db')).json()).toEqual({ namespaces: [] })
  const entries = await store.changes(before)
  const changed = new Set(entries.flatMap(({ keys }) => keys))
  for (let n = 0; n < 250; n++) expect(changed).toContain(`shop/products/${n}`)
  expect(changed).toContain('shop/products')
  if (found !== undefined) expect(entries.flatMap(({ tags }) => tags)).toContain(found)
  // Creates a new bucket of the same name.
  await server.put(`${BUCKET}/a`, { n: 'no number' })
  expect(await (await server.fetch(`${BUCKET}?settings`)).json()).toEqual({ kind: 'object' })
  expect(await (await server.fetch(`${BUCKET}?schemas`)).json()).toEqual({ schemas: [] })
  expect(await (await server.fetch(`${BUCKET}?at=${await store.position()}`)).json()).toMatchObject({
    items: [{ id: 'a' }],
  })
  await server.put(BUCKET, { kind: 'object', schema: {} })
  expect(await (await server.fetch(`${BUCKET}?schemas`)).json()).toMatchObject({ schemas: [{ version: 1 }] })
}

/** Uses the index. Returns what the result depends on. */
async function findBooks(server: RunningServer, store: Store): Promise<string> {
  await until(async () => (await store.indexes('shop/products')).every(({ isReady }) => isReady))
  const found = (await (await server.fetch(BOOKS)).json()) as { items: unknown[]; dependsOn: string[] }
  expect(found.items.length).toBeGreaterThan(0)
  return found.dependsOn[0]!
}

async function survivesRestart(open: OpenStore): Promise<void> {
  const store = await open()
  const idle = await start(store, { settings: { mayKeep: false } })
  await fill(idle, 450)
  await idle.put('/db/shop/views', { kind: 'counter' })
  const id = await drop(idle)
  const counter = await drop(idle, {}, '/db/shop/views')
  expect(await drop(idle)).toBe(id)
  const add = jsonRequest('POST', { add: 1 })
  const refused = [
    idle.fetch(`${BUCKET}/1`, jsonRequest('PUT', {})),
    idle.fetch(`${BUCKET}/1`, { method: 'DELETE' }),
    idle.fetch(`${BUCKET}/1`, {
      ...jsonRequest('PATCH', {}),
      headers: { 'content-type': 'application/merge-patch+json' },
    }),
    idle.fetch(BUCKET, jsonRequest('POST', {})),
    idle.fetch(BUCKET, jsonRequest('PUT', { kind: 'object' })),
    idle.fetch(BUCKET, jsonRequest('PATCH', { lifetimeMs: 1 })),
    idle.fetch('/commit', jsonRequest('POST', { writes: [{ path: `${BUCKET}/new`, value: {} }] })),
    idle.fetch('/commit', jsonRequest('POST', { writes: [{ path: `${BUCKET}/1`, delete: true }] })),
    idle.fetch('/db/shop/views/a', add),
  ]
  for (const answer of refused) expect(await codeOf(answer)).toBe('BUCKET_DELETING')
  expect(await codeOf(idle.fetch(`/tasks/${id}`, jsonRequest('POST', { do: 'cancel' })))).toBe('TASK_STATE')
  expect((await idle.fetch(`${BUCKET}/1`)).status).toBe(200)
  // Fails when a part of the objects is deleted.
  let commits = 0
  let stuck: () => void = () => undefined
  const isStuck = new Promise<void>(resolve => {
    stuck = resolve
  })
  const dying = withMethods(store, {
    commit: commit => {
      if (!commit.writes.some(write => 'delete' in write) || ++commits <= 2) return store.commit(commit)
      stuck()
      return Promise.reject(new Error('Power failure.'))
    },
  })
  const first = await startServer({ store: dying })
  await isStuck
  await first.stop()
  const left = (await store.scan('shop/products', { limit: 1000 })).entries.length
  expect(left).toBeGreaterThan(0)
  expect(left).toBeLessThan(450)
  expect((await taskOf(idle, id)).done).toBe(450 - left)
  const second = await start(store)
  expect(await end(second, id)).toMatchObject({ state: 'done', done: 450 })
  expect(await end(second, counter)).toMatchObject({ state: 'done', done: 0 })
  expect((await store.scan('shop/products')).entries).toEqual([])
  expect((await idle.fetch(`${BUCKET}/1`, jsonRequest('PUT', {}))).status).toBe(201)
}

async function racesWriters(open: OpenStore): Promise<void> {
  const store = await open()
  const server = await start(store)
  await fill(server, 120)
  const written: string[] = []
  let isOver = false
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let i = 0; !isOver; i++) {
      const answer = await server.fetch(`${BUCKET}/w${writer}-${i}`, jsonRequest('PUT', {}))
      if (answer.status !== 201) expect((await problemOf(answer)).code).toBe('BUCKET_DELETING')
      else written.push(`w${writer}-${i}`)
    }
  })
  await until(() => written.length > 20)
  await end(server, await drop(server))
  const { length } = written
  await until(() => written.length > length + 8)
  isOver = true
  await Promise.all(writers)
  const { entries } = await store.scan('shop/products', { limit: 10_000 })
  const record = await store.get('shop/products')
  expect(record).toBeDefined()
  // Every stored object was written after the bucket was created again.
  for (const { version } of entries) expect(version).toBeGreaterThanOrEqual(record!.version)
  expect(entries.map(({ id }) => id).every(id => written.includes(id))).toBe(true)
}

async function isForAdmins(open: OpenStore): Promise<void> {
  const store = await open()
  const server = await start(store, { access: { rules: RULES, tokens: TOKENS } })
  const own = await admin()
  await fill(server, 150)
  await fill(server, 10, '/db/shop/orders')
  const used = async () =>
    ((await (await server.fetch('/quotas', { headers: own })).json()) as { namespaces: object[] }).namespaces[0]
  expect(await used()).toMatchObject({ objects: { used: 160 } })
  for (const path of [BUCKET, '/db/shop', '/db/shop/none']) {
    expect((await server.fetch(path, { method: 'DELETE' })).status).toBe(401)
  }
  await end(server, await drop(server, own), own)
  const size = (await store.scan('shop/orders')).entries.reduce((sum, { body }) => sum + body.length, 0)
  expect(await used()).toMatchObject({ objects: { used: 10 }, bytes: { used: size } })
  const { entries } = (await (await server.fetch('/audit', { headers: own })).json()) as { entries: object[] }
  expect(entries.at(-1)).toMatchObject({
    ...{ what: 'bucket', bucket: 'shop/products', who: ' root', from: '127.0.0.1' },
    ...{ before: { kind: 'object' }, after: null },
  })
}

async function deletesNamespace(open: OpenStore): Promise<void> {
  const server = await start(await open())
  for (const bucket of ['shop/a', 'shop/b', 'shopping/c']) await fill(server, 3, `/db/${bucket}`)
  await server.put('/db/shop/orders', {
    kind: 'object',
    schema: { properties: { of: { 'x-reference': { bucket: 'shop/a', check: true } } } },
  })
  await server.put('/db/else/refers', {
    kind: 'object',
    schema: { properties: { of: { 'x-reference': { bucket: 'shop/b', check: true } } } },
  })
  expect(await problemOf(await server.fetch('/db/shop/a', { method: 'DELETE' }))).toMatchObject({
    ...{ code: 'BUCKET_IN_USE', referredBy: 'shop/orders', status: 409 },
  })
  expect(await problemOf(await server.fetch('/db/shop', { method: 'DELETE' }))).toMatchObject({
    ...{ code: 'BUCKET_IN_USE', bucket: 'shop/b', referredBy: 'else/refers' },
  })
  expect((await server.fetch('/db/shop/a/new', jsonRequest('PUT', {}))).status).toBe(201)
  await server.put('/db/else/refers', { kind: 'object' })
  const answer = await server.fetch('/db/shop', { method: 'DELETE' })
  expect(answer.status).toBe(202)
  const { tasks } = (await answer.json()) as NamespaceAnswer
  expect(tasks).toHaveLength(3)
  for (const task of tasks) expect(await end(server, task)).toMatchObject({ state: 'done' })
  expect(await (await server.fetch('/db')).json()).toEqual({ namespaces: ['else', 'shopping'] })
  expect(await codeOf(server.fetch('/db/shop', { method: 'DELETE' }))).toBe('BUCKET_NOT_FOUND')
  expect(await codeOf(server.fetch('/db/shop/a', { method: 'DELETE' }))).toBe('BUCKET_NOT_FOUND')
}
