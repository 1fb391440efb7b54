/** Queries of the client against a real server: what they find, what they depend on, and their role in transactions. */
import { connect, type Database, type ReadEvent, versionOf } from '@freshet/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

interface Book {
  readonly title: string
  readonly category: string
  readonly price: number
  readonly author: { readonly name: string; readonly born?: number }
  readonly isSold?: boolean
}

let server: MemoryServer
let db: Database
let reads: ReadEvent[]
const INDEXES = [{ name: 'by-category', fields: ['category', 'price'] }]

function book(category: string, price: number, name = "Ann O'Hara"): Book {
  return { title: `${category} for ${price}`, category, price, author: { name, born: 1950 } }
}

beforeAll(async () => {
  server = await startMemoryServer()
  reads = []
  db = await connect(server.url, { staleness: 60_000, onRead: read => reads.push(read) })
  await db.bucket<Book>('shop/books').configure({ indexes: INDEXES })
})

afterAll(async () => {
  db?.close()
  await server?.stop()
})

test('a query finds, sorts, pages, projects and explains', async () => {
  const books = db.bucket<Book>('shop/books')
  for (let price = 1; price <= 7; price++) await books.put(`art-${price}`, book('art', price))
  await books.put('tea-1', book('tea', 1, 'Bob'))
  const where = { category: 'art', price: { $gte: 3 } }
  const page = await books.query({ where, sort: '-price', limit: 2 })
  expect(page.items).toEqual([book('art', 7), book('art', 6)])
  expect(page.items.map(({ id }) => id)).toEqual(['art-7', 'art-6'])
  expect(page.dependsOn).toEqual(['shop/books?category=["art"]'])
  const next = await books.query({ where, sort: '-price', limit: 2, after: page.next! })
  expect(next.items.map(({ price }) => price)).toEqual([5, 4])
  const all: number[] = []
  for await (const { price } of books.queryAll({ where, sort: '-price', limit: 2 })) all.push(price)
  expect(all).toEqual([7, 6, 5, 4, 3])
  const brief = await books.query({
    where: { 'author.name': { $prefix: "Ann O'" }, price: 7 },
    fields: ['price', 'author.name'],
  })
  expect(brief.items).toEqual([{ price: 7, author: { name: "Ann O'Hara" } }])
  expect(versionOf(brief.items[0]!)).toBeGreaterThan(0)
  expect(await books.explain({ where })).toMatchObject({ plan: { index: 'by-category', range: 'price' }, found: 5 })
  expect((await books.query({})).items).toHaveLength(8)
  expect((await db.bucket('shop/none').query({})).items).toEqual([])
})

test('a result stays in memory until data that it depends on is written', async () => {
  const books = db.bucket<Book>('shop/memory')
  await books.configure({ indexes: INDEXES })
  const query = { where: { category: 'art' } }
  await books.put('1', book('art', 1))
  const from = async () => {
    const { items } = await books.query(query)
    return [items.length, reads.at(-1)!.from]
  }
  expect(await from()).toEqual([1, 'server'])
  await db.session.refresh()
  expect(await from()).toEqual([1, 'memory'])
  await books.put('2', book('tea', 1))
  await db.session.refresh()
  expect(await from()).toEqual([1, 'memory'])
  await books.put('2', book('art', 2))
  expect(await from()).toEqual([2, 'server'])
  await db.session.refresh()
  await books.delete('1')
  await db.session.refresh()
  expect(await from()).toEqual([1, 'server'])
})

test("own writes are in the very next result, and others' writes in a current one", async () => {
  const [mine, other] = await Promise.all([connect(server.url, { staleness: 60_000 }), connect(server.url)])
  const query = { where: { category: 'own' } }
  await mine.bucket<Book>('shop/books').query(query)
  await other.bucket<Book>('shop/books').put('own-1', book('own', 1))
  expect((await mine.bucket<Book>('shop/books').query(query)).items).toHaveLength(0)
  await mine.bucket<Book>('shop/books').put('own-2', book('own', 2))
  expect((await mine.bucket<Book>('shop/books').query(query)).items).toHaveLength(2)
  await other.bucket<Book>('shop/books').delete('own-2')
  expect((await mine.bucket<Book>('shop/books').query({ ...query, read: 'current' })).items).toHaveLength(1)
  mine.close()
  other.close()
})

test('a result that depends on a dropped index is used no longer than the index exists', async () => {
  const books = db.bucket<Book>('shop/dropped')
  await books.configure({ indexes: INDEXES })
  await books.put('1', book('art', 1))
  const query = { where: { category: 'art' } }
  expect((await books.query(query)).dependsOn).toHaveLength(1)
  const other = await connect(server.url)
  await other.bucket<Book>('shop/dropped').configure({ indexes: null })
  await other.bucket<Book>('shop/dropped').put('2', book('art', 2))
  await db.session.refresh()
  const { items, dependsOn } = await books.query(query)
  expect([items.length, dependsOn]).toEqual([2, undefined])
  other.close()
})

test('a transaction sees its own writes in results, in order, and with the limit applied', async () => {
  const books = db.bucket<Book>('shop/overlaid')
  await books.configure({ indexes: INDEXES })
  for (const price of [10, 20, 30, 40]) await books.put(`b${price}`, book('art', price))
  const prices = await db.transaction(async tx => {
    const own = tx.bucket<Book>('shop/overlaid')
    own.put('b25', book('art', 25))
    own.put('b10', book('tea', 10))
    own.put('b40', book('art', 5))
    own.delete('b20')
    const found = async (limit?: number) => {
      const query = { where: { category: 'art' }, sort: 'price' } as const
      const { items } = await own.query(limit === undefined ? query : { ...query, limit })
      return items.map(({ id, price }) => [id, price])
    }
    return [await found(), await found(2), await found(1)]
  })
  const all = [
    ['b40', 5],
    ['b25', 25],
    ['b30', 30],
  ]
  expect(prices).toEqual([all, all.slice(0, 2), all.slice(0, 1)])
  expect((await books.query({ where: { category: 'art' }, sort: 'price' })).items.map(({ id }) => id)).toEqual(
    all.map(([id]) => id),
  )
})

test('a transaction that relies on a result is refused if that result has changed, and not if others have', async () => {
  const books = db.bucket<Book>('shop/relied')
  await books.configure({ indexes: INDEXES })
  await books.put('1', book('art', 1))
  const attempt = async (meanwhile: () => Promise<unknown>) => {
    const tx = await db.begin()
    const { items } = await tx.bucket<Book>('shop/relied').query({ where: { category: 'art' } })
    await meanwhile()
    tx.bucket('shop/counts').put('art', { count: items.length })
    return tx.commit().then(
      () => 'committed',
      error => (error as { code: string }).code,
    )
  }
  expect(await attempt(() => books.put('2', book('tea', 1)))).toBe('committed')
  expect(await attempt(() => books.put('3', book('art', 1)))).toBe('COMMIT_CONFLICT')
  expect(await attempt(() => books.put('3', book('tea', 1)))).toBe('COMMIT_CONFLICT')
  expect(await attempt(() => books.delete('1'))).toBe('COMMIT_CONFLICT')
  expect(await attempt(() => books.configure({ indexes: null }))).toBe('COMMIT_CONFLICT')
})

test("an invalid query is refused with the server's message", async () => {
  const books = db.bucket<Book>('shop/books')
  await expect(books.query({ where: { price: {} } })).rejects.toMatchObject({ code: 'QUERY_INVALID' })
  await expect(books.query({ limit: 0 })).rejects.toMatchObject({ code: 'QUERY_INVALID' })
  await expect(books.explain({ where: { $and: [] } })).rejects.toMatchObject({ code: 'QUERY_INVALID' })
})

test('filters are typed by the fields of the objects', async () => {
  const books = db.bucket<Book>('shop/books')
  // @ts-expect-error: a price is a number.
  const wrong = books.query({ where: { price: 'ten' } })
  // @ts-expect-error: this field does not exist.
  const unknown = books.query({ where: { prise: 10 } })
  // @ts-expect-error: it cannot be sorted by, either.
  const unsorted = books.query({ sort: 'prise' })
  expect((await Promise.all([wrong, unknown])).map(({ items }) => items.length)).toEqual([0, 0])
  expect((await unsorted).items.length).toBeGreaterThan(0)
})
