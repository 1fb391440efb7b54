/** A bucket in a transaction has the methods, options and results of a bucket outside of one, and its own writes in all of them. */
import { connect, type Database, type ObjectBucket, type TransactionBucket, versionOf } from '@freshet/client'
import { createEntityManager, entity } from '@freshet/client/entities'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

interface Item {
  readonly n: number
  readonly kind?: string
  readonly more?: { readonly [name: string]: unknown }
}

let server: MemoryServer
let db: Database
let commits: { readonly writes: readonly object[] }[] = []
let buckets = 0

beforeAll(async () => {
  server = await startMemoryServer()
  const recorded = (url: string, init: RequestInit) => {
    if (url.endsWith('/commit')) commits.push(JSON.parse(String(init.body)))
    return fetch(url, init)
  }
  db = await connect(server.url, { fetch: recorded })
})

afterAll(async () => {
  db?.close()
  await server?.stop()
})

/** A new bucket with the objects a to e, n from 1 to 5. */
async function filled(): Promise<ObjectBucket<Item>> {
  const bucket = db.bucket<Item>(`shape/items-${++buckets}`)
  await db.commit([...'abcde'].map((id, i) => ({ bucket: bucket.name, id, value: { n: i + 1, kind: 'tea' } })))
  commits = []
  return bucket
}

async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const found: Value[] = []
  for await (const value of values) found.push(value)
  return found
}

/** Every kind of read, with its options. */
async function looks(bucket: ObjectBucket<Item> | TransactionBucket<Item>): Promise<unknown> {
  const pages = [
    await bucket.page(),
    await bucket.page({ from: 'b', to: 'e', limit: 2 }),
    await bucket.page({ after: 'b', limit: 2, read: 'current' }),
    await bucket.query({ where: { kind: 'tea' }, sort: '-n', limit: 2 }),
    await bucket.query({ where: { n: { $gt: 1 } } }, { read: 'current' }),
  ]
  const found = pages.map(({ items, next, served }) => [
    items.map(item => [item.id, item.version, item]),
    next,
    typeof served,
  ])
  const second = await bucket.query({ sort: '-n', limit: 2, after: pages[3]!.next! })
  return {
    ...{ found, second: [second.items, second.next, second.dependsOn] },
    ...{ name: bucket.name, path: bucket.path, pathOf: bucket.pathOf('x') },
    got: await bucket.get('a', { read: 'current' }),
    many: await bucket.getMany(['e', 'nothing', 'a'], { timeoutMs: 5000 }),
    listed: await all(bucket.list({ prefix: '', limit: 2 })),
    ids: await all(bucket.ids({ after: 'a', limit: 3 })),
    asked: await all(bucket.queryAll({ sort: 'n', limit: 2 })),
    versions: (await all(bucket.list())).map(versionOf),
  }
}

test('reads match those of a bucket: names, parameters, options, results', async () => {
  const bucket = await filled()
  const tx = await db.begin()
  expect(await looks(tx.bucket<Item>(bucket.name))).toEqual(await looks(bucket))
  await tx.commit()
})

test('pages and results include its own writes, up to the limit, each once', async () => {
  const bucket = await filled()
  const tx = await db.begin()
  const mine = tx.bucket<Item>(bucket.name)
  await mine.delete('a')
  await mine.put('bb', { n: 2.5 })
  await mine.create({ n: 0 }, { id: 'f' })
  await mine.patch('e', { n: 9 })
  const ids = ['b', 'bb', 'c', 'd', 'e', 'f']
  for (const limit of [1, 2, 3, 4, 5, 6, 7]) {
    expect((await mine.page({ limit })).items.map(({ id }) => id)).toEqual(ids.slice(0, limit))
    expect((await all(mine.list({ limit }))).map(({ id }) => id)).toEqual(ids)
    expect((await all(mine.ids({ limit }))).map(({ id }) => id)).toEqual(ids)
    const sorted = ['f', 'b', 'bb', 'c', 'd', 'e']
    expect((await mine.query({ sort: 'n', limit })).items.map(({ id }) => id)).toEqual(sorted.slice(0, limit))
    expect((await all(mine.queryAll({ sort: 'n', limit }))).map(({ id }) => id)).toEqual(sorted)
    expect((await all(mine.queryAll({ sort: '-n', limit }))).map(({ id }) => id)).toEqual(sorted.toReversed())
  }
  expect((await mine.query({ where: { kind: 'tea', n: { $gt: 3 } } })).items).toEqual([
    { n: 4, kind: 'tea' },
    { n: 9, kind: 'tea' },
  ])
  // What is not stored yet has no version.
  expect(await mine.get('bb')).toMatchObject({ id: 'bb', version: 0 })
  await tx.commit()
  expect((await all(bucket.list({ read: 'current' }))).map(({ id }) => id)).toEqual(ids)
})

test('a transaction relies on a partly read page as far as it was read, and no further', async () => {
  const bucket = await filled()
  const other = await connect(server.url)
  const attempt = async (id: string) => {
    const tx = await db.begin()
    for await (const { id: seen } of tx.bucket<Item>(bucket.name).list({ limit: 1 })) if (seen === 'b') break
    await other.bucket<Item>(bucket.name).put(id, { n: 0 })
    tx.bucket('shape/seen').put('b', {})
    return tx.commit().then(
      () => 'committed',
      error => (error as { code: string }).code,
    )
  }
  expect([await attempt('d'), await attempt('ab')]).toEqual(['committed', 'COMMIT_CONFLICT'])
  other.close()
})

test('a patch reaches the server as a patch, so members that it does not name stay as stored', async () => {
  const bucket = await filled()
  const exact = '{"n":1,"big":12345678901234567890,"more":{"x":0.10000000000000000000001,"y":1}}'
  const headers = { 'content-type': 'application/json' }
  await fetch(`${server.url}${bucket.pathOf('exact')}`, { method: 'PUT', headers, body: exact })
  const stored = async () => (await fetch(`${server.url}${bucket.pathOf('exact')}?at=${db.session.position}`)).text()
  await db.transaction(tx => tx.bucket<Item>(bucket.name).patch('exact', { n: 2, more: { y: null } }))
  expect(commits[0]!.writes).toEqual([{ path: bucket.pathOf('exact'), patch: { n: 2, more: { y: null } } }])
  expect(await stored()).toBe('{"n":2,"big":12345678901234567890,"more":{"x":0.10000000000000000000001}}')
  // The object was only listed before, and is patched twice.
  await db.transaction(async tx => {
    const mine = tx.bucket<Item>(bucket.name)
    for await (const { id } of mine.list({ from: 'exact' })) await mine.patch(id, { n: 3, kind: 'tea' })
    await mine.patch('exact', { more: { z: 1 }, kind: null })
    expect(await mine.get('exact')).toMatchObject({ n: 3, more: { z: 1 } })
  })
  expect(await stored()).toBe('{"n":3,"big":12345678901234567890,"more":{"x":0.10000000000000000000001,"z":1}}')
})

test('a patch sees earlier reads and writes of the transaction, and later ones see it', async () => {
  const bucket = await filled()
  await bucket.put('deep', { n: 1, more: { old: { x: 1 }, kept: null } })
  await db.transaction(async tx => {
    const mine = tx.bucket<Item>(bucket.name)
    const read = (await mine.get('a')) as { n: number }
    // The caller may change the returned object, which changes nothing here.
    read.n = 100
    await mine.patch('a', { kind: 'cocoa' })
    await mine.put('b', { n: 20 })
    await mine.patch('b', { more: { x: 1 } })
    const { id } = await mine.create({ n: 7, kind: 'tea' })
    await mine.patch(id, { kind: null, n: 8 })
    expect(await mine.getMany(['a', 'b', id])).toEqual([{ n: 1, kind: 'cocoa' }, { n: 20, more: { x: 1 } }, { n: 8 }])
    await mine.patch('c', { n: 30 })
    await mine.put('c', { n: 31 })
    await mine.patch('d', { n: 40 })
    await mine.delete('d')
    await expect(mine.patch('d', { n: 41 })).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
    await mine.patch('deep', { more: null })
    await mine.patch('deep', { more: { old: { y: 2 } } })
    await Promise.all([mine.patch('e', { n: 50 }), mine.patch('e', { more: { x: 1 } })])
    await mine.delete(id)
    expect(await mine.delete(id)).toBeUndefined()
    expect(await mine.delete('a-nothing')).toEqual({ id: 'a-nothing' })
  })
  expect(await bucket.getMany(['a', 'b', 'c', 'd', 'deep', 'e'], { read: 'current' })).toEqual([
    { n: 1, kind: 'cocoa' },
    { n: 20, more: { x: 1 } },
    { n: 31 },
    undefined,
    { n: 1, more: { old: { y: 2 } } },
    { n: 50, kind: 'tea', more: { x: 1 } },
  ])
})

test('ifVersion is a condition of the commit, and is refused at once if the transaction knows another version', async () => {
  const bucket = await filled()
  const { version } = (await bucket.get('a'))!
  await db.transaction(async tx => {
    const mine = tx.bucket<Item>(bucket.name)
    await mine.put('a', { n: 10 }, { ifVersion: version })
    await mine.put('new', { n: 10 }, { ifVersion: 0 })
    await mine.patch('b', { n: 20 }, { ifVersion: version })
    await mine.delete('c', { ifVersion: version })
  })
  await expect(
    db.transaction(async tx => tx.bucket<Item>(bucket.name).put('a', { n: 11 }, { ifVersion: version }), {
      retriesMax: 0,
    }),
  ).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
  const refused = {
    code: 'VERSION_CONFLICT',
    details: { path: bucket.pathOf('a'), version: (await bucket.get('a'))!.version },
  }
  const tx = await db.begin()
  const mine = tx.bucket<Item>(bucket.name)
  await mine.get('a')
  const changes = [
    async () => mine.put('a', { n: 11 }, { ifVersion: version }),
    async () => mine.put('a', { n: 11 }, { ifVersion: 'absent' }),
    async () => mine.create({ n: 11 }, { id: 'a' }),
    async () => mine.patch('a', { n: 11 }, { ifVersion: version }),
    async () => mine.delete('a', { ifVersion: version }),
  ]
  for (const change of changes) await expect(change()).rejects.toMatchObject(refused)
  await expect((async () => mine.create({ n: 1 }, { ifVersion: version }))()).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
  })
  await expect((async () => mine.put('d', { n: 1 }, { ifVersion: 1.5 }))()).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
  })
  // @ts-expect-error: a transaction works on whole objects.
  await expect(mine.query({ fields: ['n'] })).rejects.toThrow(TypeError)
  tx.rollback()
})

test('an error caused by outdated reads leads to a retry, even if the bucket threw it', async () => {
  const bucket = await filled()
  const other = await connect(server.url)
  let runs = 0
  await db.transaction(async tx => {
    const mine = tx.bucket<Item>(bucket.name)
    await mine.getMany(['a', 'late'])
    if (++runs === 1) await other.bucket<Item>(bucket.name).put('late', { n: 1 })
    await mine.patch('late', { n: 2 })
  })
  expect([runs, await bucket.get('late')]).toEqual([2, { n: 2 }])
  other.close()
})

test('an entity changed in a transaction is written as a patch', async () => {
  class Thing {
    n = 0
    name = ''
  }
  entity(Thing, 'shape/things')
  await db.bucket('shape/things').put('1', { n: 1, name: 'a' })
  commits = []
  await createEntityManager(db).transaction(async em => {
    const thing = (await em.find(Thing, '1'))!
    thing.n = 2
    await em.flush()
    thing.n = 3
  })
  expect(commits[0]!.writes).toEqual([{ path: '/db/shape/things/1', patch: { n: 3 } }])
})
