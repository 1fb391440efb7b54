/** The client and the command delete buckets and namespaces. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Database } from '@freshet/client'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

const COUNT = 250
const MANY = 10_000

let server: MemoryServer
let db: Database
beforeEach(async () => {
  server = await startMemoryServer()
  db = await connect(server.url, { staleness: 3_600_000 })
})
afterEach(async () => {
  db.close()
  await server.stop()
})
afterAll(endFreshetProcesses)

async function fill(bucket: string): Promise<void> {
  await db.commit(Array.from({ length: COUNT }, (_, n) => ({ bucket, id: `${n}`, value: { n: n % 2 } })))
}

async function idsOf(bucket: string): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of db.bucket(bucket).ids()) ids.push(id)
  return ids
}

test('a dropped bucket is empty for this session at once, whatever the session had read before', async () => {
  const products = db.bucket<{ n: number }>('shop/products')
  await products.configure({ indexes: [{ name: 'n', fields: ['n'] }], schema: { required: ['n'] } })
  await fill('shop/products')
  expect(await products.get('7')).toEqual({ n: 1 })
  expect(await idsOf('shop/products')).toHaveLength(COUNT)
  expect((await products.query({ where: { n: 1 }, limit: 10 })).items).toHaveLength(10)
  expect(await db.drop('shop/products')).toBe(true)
  expect(await products.get('7')).toBeUndefined()
  expect(await idsOf('shop/products')).toEqual([])
  expect((await products.query({ where: { n: 1 }, limit: 10 })).items).toEqual([])
  expect(await products.settings()).toBeUndefined()
  expect(await db.drop('shop/products')).toBe(false)
  // A bucket created later under the same name starts empty.
  await db.bucket('shop/products').put('7', { m: 2 })
  expect(await idsOf('shop/products')).toEqual(['7'])
  expect(await products.settings()).toEqual({ kind: 'object' })
})

test('a namespace is dropped with buckets of every kind, and others stay', async () => {
  await fill('shop/products')
  await db.kv('shop/files').configure({})
  await db.kv('shop/files').put('a', new Uint8Array([1]))
  await db.counter('shop/views').configure({})
  await db.counter('shop/views').add('a', 3)
  await db.bucket('lab/rats').put('1', {})
  expect(await db.drop('shop')).toBe(true)
  expect(await db.counter('shop/views').get('a')).toBe(0)
  expect(await db.kv('shop/files').get('a')).toBeUndefined()
  expect(await idsOf('shop/products')).toEqual([])
  expect(await db.bucket('lab/rats').get('1')).toEqual({})
  expect(await db.drop('shop')).toBe(false)
  await expect(db.drop('Not a name')).rejects.toMatchObject({ code: 'NAME_INVALID' })
})

test("a bucket that another bucket's schema refers to is not dropped", async () => {
  await fill('shop/products')
  const product = { 'x-reference': { bucket: 'shop/products', check: true } }
  await db.bucket('shop/orders').configure({ schema: { properties: { product } } })
  await expect(db.drop('shop/products')).rejects.toMatchObject({
    ...{ code: 'BUCKET_IN_USE', details: { referredBy: 'shop/orders' } },
  })
  expect(await idsOf('shop/products')).toHaveLength(COUNT)
})

test('if the server is killed during a deletion, the next deletion finishes it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-'))
  const killed = await startFreshet(['serve', '--data', folder])
  const bucket = '/db/shop/many'
  const post = (url: string, writes: readonly object[]) =>
    fetch(`${url}/commit`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ writes }),
    })
  for (let from = 0; from < MANY; from += 1000) {
    const writes = Array.from({ length: 1000 }, (_, n) => ({ path: `${bucket}/${from + n}`, value: {} }))
    expect((await post(killed.url, writes)).status).toBe(200)
  }
  const { task } = (await (await fetch(killed.url + bucket, { method: 'DELETE' })).json()) as { task: string }
  const progress = async (url: string) =>
    (await (await fetch(`${url}/tasks/${task}`)).json()) as { state: string; done: number }
  await expect.poll(async () => (await progress(killed.url)).done, { interval: 1 }).toBeGreaterThan(0)
  expect(await progress(killed.url)).toMatchObject({ state: 'running' })
  await killed.kill()
  const next = await startFreshet(['serve', '--data', folder])
  await expect.poll(() => progress(next.url)).toMatchObject({ state: 'done', done: MANY })
  expect((await fetch(next.url + bucket)).status).toBe(404)
  expect((await post(next.url, [{ path: `${bucket}/1`, value: {} }])).status).toBe(200)
  expect(await (await fetch(`${next.url}${bucket}?settings`)).json()).toEqual({ kind: 'object' })
  await next.stop()
  await rm(folder, { recursive: true })
})

test('the command drops a bucket with --yes', async () => {
  await fill('shop/products')
  const run = (...args: string[]) => runFreshet(['drop', 'shop/products', '--url', server.url, ...args])
  const asked = await run()
  expect([asked.exitCode, asked.errors]).toEqual([2, expect.stringContaining('Add --yes')])
  expect(await idsOf('shop/products')).toHaveLength(COUNT)
  expect(await run('--yes')).toMatchObject({ exitCode: 0, output: 'shop/products is deleted.\n' })
  const again = await run('--yes', '--json')
  expect([again.exitCode, JSON.parse(again.output)]).toEqual([0, { name: 'shop/products', wasThere: false }])
  expect(await db.bucket('shop/products').settings()).toBeUndefined()
})
