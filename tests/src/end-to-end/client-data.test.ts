/** Everything that the client does with data, against a real server. */
import { connect, type Database, FreshetError, idOf, versionOf } from '@freshet/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

interface Counter {
  readonly count: number
}

let server: MemoryServer
let db: Database

beforeAll(async () => {
  server = await startMemoryServer()
  db = await connect(server.url)
})

afterAll(async () => {
  db?.close()
  await server?.stop()
})

test('an object is created, read, patched, deleted, and each step sees the one before', async () => {
  const products = db.bucket<{ name?: string; price: number }>('shop/products')
  const { id, version } = await products.create({ name: 'Tea', price: 4 })
  expect(await products.get(id)).toEqual({ name: 'Tea', price: 4 })
  await products.patch(id, { name: null, price: 5 }, { ifVersion: version })
  expect(await products.get(id)).toEqual({ price: 5 })
  await expect(products.patch(id, { price: 6 }, { ifVersion: version })).rejects.toMatchObject({
    code: 'VERSION_CONFLICT',
  })
  expect(await products.delete(id)).toBeDefined()
  expect(await products.get(id)).toBeUndefined()
  expect(await products.delete(id)).toBeUndefined()
  await expect(products.put(id, { price: 1 }, { ifVersion: 'absent' })).resolves.toMatchObject({ id })
})

test('ifVersion 0 means that the object is absent, for put, commit and create', async () => {
  const fresh = db.bucket('shop/fresh')
  const conflict = { code: 'VERSION_CONFLICT' }
  await fresh.put('a', {}, { ifVersion: 0 })
  await expect(fresh.put('a', {}, { ifVersion: 0 })).rejects.toMatchObject(conflict)
  await expect(fresh.create({}, { id: 'a', ifVersion: 0 })).rejects.toMatchObject(conflict)
  const write = { bucket: 'shop/fresh', id: 'b', value: {}, ifVersion: 0 }
  await db.commit([write])
  await expect(db.commit([write])).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
})

test('a patch in a transaction keeps members that it does not name exactly as stored, to the last digit', async () => {
  const path = '/db/shop/precise/1'
  const put = (body: string) =>
    fetch(server.url + path, { method: 'PUT', headers: { 'content-type': 'application/json' }, body })
  const stored = async () => (await fetch(`${server.url}${path}?at=${db.session.position}`)).text()
  const precise = db.bucket<{ n: number; deep: Record<string, number> | null }>('shop/precise')
  await put('{"price":0.12345678901234567890,"id":12345678901234567890,"n":1,"deep":{"a":1.00000000000000000001}}')
  await db.transaction(async tx => {
    const products = tx.bucket<{ n: number; deep: Record<string, number> }>('shop/precise')
    await products.patch('1', { n: 2, deep: { b: 1 } })
    await products.patch('1', { deep: { b: 2 } })
    expect(await products.get('1')).toMatchObject({ n: 2, deep: { b: 2 } })
  })
  expect(await stored()).toBe(
    '{"price":0.12345678901234567890,"id":12345678901234567890,"n":2,"deep":{"a":1.00000000000000000001,"b":2}}',
  )
  // An object that the transaction read only as part of a list.
  await db.transaction(async tx => {
    const products = tx.bucket<{ n: number }>('shop/precise')
    for await (const found of products.list()) await products.patch(idOf(found), { n: 3 })
  })
  expect(await stored()).toContain('"price":0.12345678901234567890,"id":12345678901234567890,"n":3')
  // Two patches that cannot be merged: the second puts an object where the first removed one.
  await put('{"n":1,"deep":{"a":1,"b":2}}')
  await db.transaction(async tx => {
    const products = tx.bucket<{ deep: Record<string, number> | null }>('shop/precise')
    await products.patch('1', { deep: null })
    await products.patch('1', { deep: { c: 3 } })
  })
  expect(await precise.get('1')).toEqual({ n: 1, deep: { c: 3 } })
})

test('ids of every kind survive the round trip', async () => {
  const odd = db.bucket('shop/odd')
  const ids = ['a b', 'ü&=?#', '100%', '鍵', '.hidden', 'a,b', '+', '🗝', "it's"]
  for (const id of ids) await odd.put(id, { id })
  for (const id of ids) expect(await odd.get(id)).toEqual({ id })
  expect(await odd.getMany(ids)).toEqual(ids.map(id => ({ id })))
  const listed: unknown[] = []
  for await (const each of odd.list({ limit: 2 })) listed.push(each.id)
  expect(new Set(listed)).toEqual(new Set(ids))
})

test('bytes are stored with their type', async () => {
  const files = db.kv('shop/files')
  await files.configure({ lifetimeMs: 5000 })
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
  await files.put('all.bin', bytes, { contentType: 'image/png' })
  await files.put('note', 'grüße')
  expect(await files.get('all.bin')).toMatchObject({ bytes, contentType: 'image/png', id: 'all.bin' })
  expect(new TextDecoder().decode((await files.get('note'))!.bytes)).toBe('grüße')
  expect((await files.page()).items.map(({ id, bytes: { length } }) => [id, length])).toEqual([
    ['all.bin', 256],
    ['note', 7],
  ])
  expect((await files.getMany(['note', 'none'])).map(file => file?.contentType)).toEqual([
    'text/plain; charset=utf-8',
    undefined,
  ])
})

test('a commit does everything or nothing', async () => {
  const accounts = db.bucket<{ sum: number }>('bank/accounts')
  await accounts.put('a', { sum: 10 })
  await accounts.put('b', { sum: 0 })
  const [a, b] = await accounts.getMany(['a', 'b'])
  const move = [
    { bucket: 'bank/accounts', id: 'a', value: { sum: 3 }, ifVersion: a!.version },
    { bucket: 'bank/accounts', id: 'b', value: { sum: 7 }, ifVersion: b!.version },
  ]
  await db.commit(move)
  expect(await accounts.getMany(['a', 'b'])).toEqual([{ sum: 3 }, { sum: 7 }])
  await expect(db.commit(move)).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
  expect(await accounts.getMany(['a', 'b'])).toEqual([{ sum: 3 }, { sum: 7 }])
})

test('a bucket may require that writes name the version that they replace', async () => {
  const strict = db.bucket<Counter>('shop/strict')
  await strict.configure({ requireMatch: true })
  await expect(strict.put('1', { count: 1 })).rejects.toMatchObject({ code: 'PRECONDITION_REQUIRED' })
  await strict.put('1', { count: 1 }, { ifVersion: 'absent' })
})

test('increments by many sessions at once all count, since a retry after a conflict never reads the old version', async () => {
  const sessions = await Promise.all(Array.from({ length: 6 }, () => connect(server.url, { staleness: 60_000 })))
  await db.bucket<Counter>('shop/counters').put('hits', { count: 0 })
  let conflicts = 0
  const increment = async (session: Database) => {
    const counters = session.bucket<Counter>('shop/counters')
    for (;;) {
      const counter = (await counters.get('hits', { read: 'session' }))!
      try {
        return await counters.put('hits', { count: counter.count + 1 }, { ifVersion: versionOf(counter) })
      } catch (error) {
        if (!(error instanceof FreshetError) || error.code !== 'VERSION_CONFLICT') throw error
        conflicts++
      }
    }
  }
  await Promise.all(
    sessions.map(async session => {
      for (let i = 0; i < 10; i++) await increment(session)
    }),
  )
  expect(await db.bucket<Counter>('shop/counters').get('hits', { read: 'current' })).toEqual({ count: 60 })
  expect(conflicts).toBeGreaterThan(0)
  expect(conflicts).toBeLessThan(1000)
  for (const session of sessions) session.close()
})

test('settings can be read, changed one by one, and removed with null', async () => {
  const products = db.bucket('shop/settled')
  expect(await products.settings()).toBeUndefined()
  const schema = { type: 'object', required: ['price'] }
  await products.configure({ schema })
  await products.configure({ indexes: [{ name: 'by-price', fields: ['price'] }] })
  await products.configure({ lifetimeMs: 7000 })
  expect(await products.settings()).toMatchObject({ schema, lifetimeMs: 7000, indexes: [{ name: 'by-price' }] })
  await products.configure({ schema: null })
  const left = await products.settings()
  expect(left).toMatchObject({ kind: 'object', lifetimeMs: 7000, indexes: [{ name: 'by-price' }] })
  expect(left).not.toHaveProperty('schema')
})
