/** Results of queries through a real Varnish in the shipped configuration: which reader gets which copy, and which are shared. */
import { connect, type Database, type ReadEvent } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { endCaches, type RunningCache } from '@freshet/lab/dist/caches/cache-process.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { formatQuery, type QueryAnswer } from '@freshet/protocol'
import { createFreshetServer, type FreshetServer } from '@freshet/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

interface Product {
  readonly category: string
  readonly price: number
}

/** No segment closes during a test: until then it is only known that a query may have changed in it, so it runs once more. */
const SETTINGS = { lifetimeMs: 3_600_000, slotMs: 86_400_000 }
const BOOKS = { where: { category: 'books' }, sort: 'price' } as const
const TEA = { where: { category: 'tea' } } as const

describe.skipIf(reasonToSkip('varnish') !== undefined)('through Varnish', () => {
  const store = createMemoryStore()
  let server: FreshetServer
  let cache: RunningCache
  let direct: Database

  beforeAll(async () => {
    server = createFreshetServer({ store, settings: SETTINGS })
    const { url } = await server.listen({ port: 0 })
    cache = await startVarnish({ origin: url })
    direct = await connect(url, { memoryBytesMax: 0 })
    const products = direct.bucket<Product>('shop/products')
    await products.configure({ indexes: [{ name: 'by-category', fields: ['category', 'price'] }] })
    for (const price of [3, 1, 2]) await products.put(`b${price}`, { category: 'books', price })
    await products.put('t1', { category: 'tea', price: 1 })
  })

  afterAll(async () => {
    direct?.close()
    await endCaches()
    await server?.close({ graceMs: 0 })
    await store.close()
  })

  async function reader(reads: ReadEvent[] = []): Promise<Database> {
    return connect(cache.url, { memoryBytesMax: 0, onRead: read => reads.push(read) })
  }

  const find = async (db: Database, query: typeof BOOKS | typeof TEA, read: 'current' | 'session' = 'session') =>
    (await db.bucket<Product>('shop/products').query({ ...query, read })).items.map(({ id }) => id)

  /** The number of queries that the server has run. */
  async function run(): Promise<number> {
    const text = await (await fetch(`${cache.url}/metrics`)).text()
    return Number(/^freshet_queries_total (.*)$/m.exec(text)?.[1])
  }

  /** Reads without a session. */
  async function findPlainly(): Promise<readonly string[]> {
    const { where } = BOOKS
    const target = `/db/shop/products?${formatQuery({ where, sort: [{ field: 'price' }] })}`
    const { items } = (await (await fetch(cache.url + target)).json()) as QueryAnswer
    return items.map(({ id }) => id)
  }

  test('one run of a query serves all readers, until data that it depends on changes', async () => {
    const [first, second] = [await reader(), await reader()]
    expect(await find(first, BOOKS)).toEqual(['b1', 'b2', 'b3'])
    expect(await find(first, TEA)).toEqual(['t1'])
    // Its dependencies are known now, and so is the one URL that all sessions request from now on.
    expect(await find(first, BOOKS)).toEqual(['b1', 'b2', 'b3'])
    const before = await run()
    for (const db of [first, second, await reader()]) expect(await find(db, BOOKS)).toEqual(['b1', 'b2', 'b3'])
    await direct.bucket<Product>('shop/products').put('t2', { category: 'tea', price: 2 })
    for (const db of [first, second]) expect(await find(db, BOOKS, 'current')).toEqual(['b1', 'b2', 'b3'])
    expect(await run()).toBe(before)
    for (const db of [first, second]) expect(await find(db, TEA, 'current')).toEqual(['t1', 't2'])
    expect(await run()).toBeLessThanOrEqual(before + 2)
    for (const db of [first, second]) db.close()
  })

  test('a session sees rows leave and enter a result, while a plain reader still gets the old result', async () => {
    const reads: ReadEvent[] = []
    const db = await reader(reads)
    const old = await findPlainly()
    expect(old).toEqual(['b1', 'b2', 'b3'])
    await direct.bucket<Product>('shop/products').put('b1', { category: 'tea', price: 1 })
    expect(await find(db, BOOKS, 'current')).toEqual(['b2', 'b3'])
    await direct.bucket<Product>('shop/products').put('b0', { category: 'books', price: 0 })
    expect(await find(db, BOOKS, 'current')).toEqual(['b0', 'b2', 'b3'])
    await direct.bucket<Product>('shop/products').delete('b3')
    expect(await find(db, BOOKS, 'current')).toEqual(['b0', 'b2'])
    expect(reads.at(-1)!.at).toBeGreaterThan(0)
    expect(await findPlainly()).toEqual(old)
    db.close()
  })
})
