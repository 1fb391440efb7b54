import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { createMemoryStore } from '@freshet/engines/memory'
import { openQuorumStore } from '@freshet/engines/quorum'
import type { BucketAnswer, Task } from '@freshet/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findTask, taskWrite } from '../../buckets/task-store.js'
import { answeringLater, withMethods } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, startServer, until } from '../../testing/running-server.js'
import { testBucketDeletion } from './under-test/test-bucket-deletion.js'

let folder: string
let folders = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'freshet-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

testBucketDeletion('memory', async () => createMemoryStore())
testBucketDeletion('ring', () => {
  const nodes = [1, 2, 3].map(n => ({ place: `memory ${n}`, open: async () => createMemoryStore() }))
  return openQuorumStore({ nodes, onWarning: () => {} })
})
testBucketDeletion('memory, later', async () => answeringLater(createMemoryStore()))
testBucketDeletion('embedded', async () =>
  openEmbeddedStore({ path: join(folder, `${folders++}`), durability: 'relaxed' }),
)

async function dropped(server: RunningServer, path: string, headers = {}): Promise<Task> {
  const { task } = (await (await server.fetch(path, { method: 'DELETE', headers })).json()) as BucketAnswer
  const read = async () => (await (await server.fetch(`/tasks/${task}`)).json()) as Task
  await until(async () => (await read()).state !== 'running')
  return read()
}

test('a deletion is remembered as long as caches may have copies from the bucket', async () => {
  const store = createMemoryStore()
  const server = await startServer({ store, settings: { lifetimeMs: 1000 } })
  const windowMs = async (from: RunningServer) =>
    ((await (await from.fetch('/coherence?nonce=abcdefgh')).json()) as { windowMs: number }).windowMs
  const brief = await windowMs(server)
  const day = 86_400_000
  await server.put('/db/shop/long', { kind: 'object', lifetimeMs: day })
  await server.put('/db/shop/long/1', {})
  expect((await server.fetch('/db/shop/long/1')).headers.get('cache-control')).toContain('max-age=86400')
  expect(await windowMs(server)).toBeGreaterThan(day)
  await dropped(server, '/db/shop/long')
  expect(await windowMs(server)).toBeGreaterThan(day)
  // Also for the next bucket of that name, and for a server that never knew the deleted one.
  await server.put('/db/shop/long/1', {})
  expect((await server.fetch('/db/shop/long/1')).headers.get('cache-control')).toContain('max-age=1,')
  const other = await startServer({ store, settings: { lifetimeMs: 1000 } })
  expect(await windowMs(other)).toBeGreaterThan(day)
  expect(brief).toBeLessThan(day)
  await dropped(server, '/db/shop/long')
  expect(await windowMs(other)).toBeGreaterThan(day)
  await other.stop()
  await server.stop()
})

test('a condition on the version of the bucket must hold', async () => {
  const server = await startServer({ store: createMemoryStore() })
  await server.put('/db/shop/products/1', {})
  const etag = (await server.fetch('/db/shop/products?settings')).headers.get('etag')!
  await server.put('/db/shop/products', { kind: 'object', lifetimeMs: 5000 })
  const refused = await server.fetch('/db/shop/products', { method: 'DELETE', headers: { 'if-match': etag } })
  expect(await problemOf(refused)).toMatchObject({ code: 'VERSION_CONFLICT' })
  const now = (await server.fetch('/db/shop/products?settings')).headers.get('etag')!
  expect(await dropped(server, '/db/shop/products', { 'if-match': now })).toMatchObject({ state: 'done' })
  await server.stop()
})

test('a migration of the bucket is cancelled by its deletion', async () => {
  const server = await startServer({ store: createMemoryStore() })
  await server.put('/db/shop/products/1', { title: 'a' })
  const migration = { name: 'first', by: 'client' }
  const change = jsonRequest('PUT', { kind: 'object', schema: { required: ['name'] }, migration })
  const { task } = (await (await server.fetch('/db/shop/products', change)).json()) as BucketAnswer
  expect(await dropped(server, '/db/shop/products')).toMatchObject({ state: 'done' })
  expect(await (await server.fetch(`/tasks/${task}`)).json()).toMatchObject({ state: 'cancelled' })
  await server.stop()
})

test('a bucket that has become a table meanwhile is not deleted, and keeps all its rows', async () => {
  const store = createMemoryStore()
  let isTable = false
  const idle = await startServer({ store, settings: { mayKeep: false } })
  await idle.put('/db/shop/products/1', {})
  const { task } = (await (await idle.fetch('/db/shop/products', { method: 'DELETE' })).json()) as BucketAnswer
  isTable = true
  const keeper = await startServer({ store: withMethods(store, { isTable: async () => isTable }) })
  await until(async () => ((await (await keeper.fetch(`/tasks/${task}`)).json()) as Task).state === 'failed')
  expect((await keeper.fetch('/db/shop/products/1')).status).toBe(200)
  expect((await keeper.fetch('/db/shop/products/2', jsonRequest('PUT', {}))).status).toBe(201)
  await keeper.stop()
  await idle.stop()
})

test('a deletion whose task ended before it was done starts again', async () => {
  const store = createMemoryStore()
  const idle = await startServer({ store, settings: { mayKeep: false } })
  await idle.put('/db/shop/products/1', {})
  const { task } = (await (await idle.fetch('/db/shop/products', { method: 'DELETE' })).json()) as BucketAnswer
  const { task: stored } = await findTask(store, task!)
  await store.commit({ writes: [taskWrite({ ...stored, state: 'cancelled' })] })
  const keeper = await startServer({ store })
  expect(await dropped(keeper, '/db/shop/products')).toMatchObject({ state: 'done', done: 1 })
  await keeper.stop()
  await idle.stop()
})
