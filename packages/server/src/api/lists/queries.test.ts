import { createMemoryStore } from '@freshet/engines/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonRequest, problemOf, type RunningServer, startServer } from '../../testing/running-server.js'

let running: RunningServer

interface Found {
  readonly items: readonly { readonly id: string; readonly version: number; readonly value: unknown }[]
  readonly next?: string
  readonly version: number
  readonly dependsOn?: readonly string[]
}

const INDEXES = [{ name: 'by-category', fields: ['category', 'price'] }]
const BOOKS = [
  ['b1', 12],
  ['b2', 3],
  ['b3', 7],
] as const

function target(parameters: Record<string, unknown>, bucket = 'shop/products'): string {
  const spell = (value: unknown) =>
    encodeURIComponent(typeof value === 'object' ? JSON.stringify(value) : `${value}`).replaceAll("'", '%27')
  const query = Object.keys(parameters).sort()
  return `/db/${bucket}?${query.map(name => (parameters[name] === '' ? name : `${name}=${spell(parameters[name])}`)).join('&')}`
}

async function find(parameters: Record<string, unknown>, bucket?: string): Promise<Found> {
  const answer = await running.fetch(target(parameters, bucket))
  if (answer.status !== 200)
    throw new Error(`${answer.status} ${answer.headers.get('location')} ${await answer.text()}`)
  return (await answer.json()) as Found
}

beforeAll(async () => {
  running = await startServer({
    store: createMemoryStore({ scanMax: 50 }),
    settings: { listBytesMax: 20_000 },
  })
  await running.put('/db/shop/products', { kind: 'object', indexes: INDEXES })
  for (const [id, price] of BOOKS) {
    await running.put(`/db/shop/products/${id}`, { category: 'books', price, author: { name: "O'Hara", born: 1950 } })
  }
  await running.put('/db/shop/products/t1', { category: 'tea', price: 4 })
})
afterAll(() => running.stop())

describe('a query', () => {
  test('finds the objects that match its filter, in the requested order, with their values', async () => {
    const { items, next, dependsOn } = await find({ where: { category: 'books' }, sort: '-price' })
    expect(items.map(({ id }) => id)).toEqual(['b1', 'b3', 'b2'])
    expect(items[0]?.value).toEqual({ category: 'books', price: 12, author: { name: "O'Hara", born: 1950 } })
    expect(next).toBeUndefined()
    expect(dependsOn).toEqual(['shop/products?category=["books"]'])
  })

  test('continues where a page ended', async () => {
    const first = await find({ limit: 2, where: { category: 'books', price: { $gte: 1 } }, sort: 'price' })
    expect(first.items.map(({ id }) => id)).toEqual(['b2', 'b3'])
    const rest = { limit: 2, where: { category: 'books', price: { $gte: 1 } }, sort: 'price', after: first.next! }
    const second = await find(rest)
    expect([second.items.map(({ id }) => id), second.next]).toEqual([['b1'], undefined])
  })

  test('returns only the requested fields', async () => {
    const { items } = await find({ where: { price: 7 }, fields: 'author.name,price' })
    expect(items[0]?.value).toEqual({ author: { name: "O'Hara" }, price: 7 })
  })

  test('can be of a whole bucket, and then depends on the bucket', async () => {
    const { items, dependsOn } = await find({ where: {} })
    expect([items.length, dependsOn]).toEqual([4, undefined])
  })

  test('has a version that changes only with the result', async () => {
    const url = target({ where: { category: 'books' } })
    const etag = (await running.fetch(url)).headers.get('etag')!
    const ask = () => running.fetch(url, { headers: { 'if-none-match': etag } })
    const examined = () => metric('freshet_query_examined_total')
    const before = await examined()
    expect((await ask()).status).toBe(304)
    await running.put('/db/shop/products/t1', { category: 'tea', price: 5 })
    const unchanged = await ask()
    expect([unchanged.status, unchanged.headers.get('cache-control')]).toEqual([
      304,
      expect.stringContaining('max-age=60'),
    ])
    expect(await examined()).toBe(before)
    await running.put('/db/shop/products/b2', { category: 'tea', price: 3 })
    expect((await ask()).status).toBe(200)
    expect(await examined()).toBeGreaterThan(before)
    await running.put('/db/shop/products/b2', { category: 'books', price: 3 })
  })

  test('has one canonical spelling, to which others are redirected', async () => {
    const canonical = target({ where: { category: { $in: ['books', 'tea'] }, price: { $lt: 5 } } })
    const others = [
      target({ where: { price: { $lt: 5 }, category: { $in: ['tea', 'books', 'tea'] } } }),
      target({ limit: 100, sort: '$id', where: { category: { $in: ['books', 'tea'] }, price: { $lt: 5 } } }),
      canonical.replaceAll('%22', '"').replace('%7B', '{'),
    ]
    for (const other of others) {
      const answer = await running.fetch(other)
      const location = answer.headers.get('location')!
      expect([answer.status, location]).toEqual([308, canonical])
    }
    expect((await running.fetch(canonical)).status).toBe(200)
    const quoted = target({ at: 1, where: { 'author.name': "O'Hara" } })
    expect((await running.fetch(quoted)).status).toBe(200)
  })

  test('is answered at a position, or refused if the server does not reach it', async () => {
    const { position } = await running.put('/db/shop/products/t2', { category: 'tea', price: 1 })
    const { items } = await find({ at: position, where: { category: 'tea' } })
    expect(items.map(({ id }) => id)).toEqual(['t1', 't2'])
    const early = await running.fetch(target({ at: position + 1000, where: { category: 'tea' } }))
    expect((await problemOf(early)).code).toBe('POSITION_NOT_REACHED')
  })

  test('explains itself, and no cache may keep the explanation', async () => {
    const answer = await running.fetch(target({ explain: '', where: { category: 'books', price: { $lt: 5 } } }))
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toMatchObject({
      plan: { index: 'by-category', equal: ['category'], range: 'price', text: expect.any(String) },
      examined: 1,
      found: 1,
      dependsOn: ['shop/products?category=["books"]'],
    })
  })

  test('that would have to examine too many objects is refused, with the index that it needs', async () => {
    for (let i = 0; i < 60; i++) await running.put(`/db/shop/many/m${i}`, { size: i, colour: 'red' })
    const problem = await problemOf(await running.fetch(target({ where: { colour: 'red', size: 7 } }, 'shop/many')))
    expect(problem.code).toBe('QUERY_TOO_BROAD')
    const { index } = problem as unknown as { readonly index: { readonly fields: readonly string[] } }
    await running.put('/db/shop/many', { kind: 'object', indexes: [{ name: 'the-one', fields: index.fields }] })
    const { items } = await find({ where: { colour: 'red', size: 7 } }, 'shop/many')
    expect(items.map(({ id }) => id)).toEqual(['m7'])
  })

  test('that is invalid is refused with the reason', async () => {
    const refused = async (parameters: Record<string, unknown>, bucket?: string) =>
      (await problemOf(await running.fetch(target(parameters, bucket)))) as { code: string; detail: string }
    expect(await refused({ where: { price: { $less: 5 } } })).toMatchObject({
      code: 'QUERY_INVALID',
      detail: expect.stringContaining('$less'),
    })
    expect((await refused({ where: '{"a"' })).code).toBe('QUERY_INVALID')
    expect((await refused({ where: { a: 1 }, embed: '' })).code).toBe('PARAMETER_INVALID')
    expect((await refused({ where: { a: 1 } }, 'shop/nothing')).code).toBe('BUCKET_NOT_FOUND')
    await running.put('/db/shop/bytes', { kind: 'kv' })
    expect((await refused({ where: { a: 1 } }, 'shop/bytes')).code).toBe('QUERY_INVALID')
  })

  test('with long values returns a shorter page, and the next page continues after it', async () => {
    for (const id of ['a', 'b', 'c']) await running.put(`/db/shop/long/${id}`, { size: 1, text: 'x'.repeat(9000) })
    const first = await find({ sort: 'size' }, 'shop/long')
    expect(first.items.map(({ id }) => id)).toEqual(['a', 'b'])
    const second = await find({ after: first.next!, sort: 'size' }, 'shop/long')
    expect([second.items.map(({ id }) => id), second.next]).toEqual([['c'], undefined])
    const brief = await find({ fields: 'size', sort: 'size' }, 'shop/long')
    expect(brief.items).toHaveLength(3)
  })
})

describe('indexes', () => {
  test('are reported with their progress, and the report can be sent back as settings', async () => {
    const settings = async () => (await (await running.fetch('/db/shop/products?settings')).json()) as object
    const expected = { kind: 'object', indexes: [{ ...INDEXES[0], isReady: true, done: expect.any(Number) }] }
    expect(await settings()).toMatchObject(expected)
    await running.put('/db/shop/products', await settings())
    expect(await settings()).toMatchObject(expected)
  })

  test('that are left out of the settings are dropped', async () => {
    await running.put('/db/shop/brief', { kind: 'object', indexes: INDEXES })
    expect((await find({ where: { category: 'x' } }, 'shop/brief')).dependsOn).toHaveLength(1)
    await running.put('/db/shop/brief', { kind: 'object' })
    expect((await find({ where: { category: 'x' } }, 'shop/brief')).dependsOn).toBeUndefined()
  })

  test('that are invalid are refused', async () => {
    const refused = async (settings: object) =>
      (await problemOf(await running.fetch('/db/shop/odd', jsonRequest('PUT', settings)))) as { code: string }
    expect((await refused({ kind: 'object', indexes: [{ name: 'x', fields: [] }] })).code).toBe('BODY_INVALID')
    expect((await refused({ kind: 'object', indexes: 'category' })).code).toBe('BODY_INVALID')
    expect((await refused({ kind: 'kv', indexes: INDEXES })).code).toBe('BODY_INVALID')
  })
})

describe('a commit that depends on a query', () => {
  const commit = (list: object, value: object) =>
    running.fetch('/commit', jsonRequest('POST', { lists: [list], writes: [{ path: '/db/shop/orders/1', value }] }))

  test('succeeds while nothing that the query depends on has changed', async () => {
    const { version, dependsOn } = await find({ where: { category: 'books' } })
    const list = { path: '/db/shop/products', version, tags: dependsOn }
    await running.put('/db/shop/products/t1', { category: 'tea', price: 9 })
    expect((await commit(list, { n: 1 })).status).toBe(200)
    await running.put('/db/shop/products/b9', { category: 'books', price: 1 })
    const problem = await problemOf(await commit(list, { n: 2 }))
    expect(problem).toMatchObject({ code: 'COMMIT_CONFLICT', conflicts: [{ path: '/db/shop/products' }] })
  })

  test('is refused if its tags are not of that bucket, or are combined with a range', async () => {
    const of = async (list: object) => (await problemOf(await commit(list, {}))).code
    const list = { path: '/db/shop/products', version: 1 }
    expect(await of({ ...list, tags: ['shop/orders?a=[1]'] })).toBe('BODY_INVALID')
    expect(await of({ ...list, tags: [] })).toBe('BODY_INVALID')
    expect(await of({ ...list, tags: ['shop/products?a=[1]'], from: 'a' })).toBe('BODY_INVALID')
  })
})

async function metric(name: string): Promise<number> {
  const text = await (await running.fetch('/metrics')).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}
