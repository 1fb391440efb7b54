/** The client of a caller who may see only some rows: lists, queries and transactions against a real server. */
import { connect, type Database } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer, signToken } from '@freshet/server'
import { afterAll, beforeAll, expect, test } from 'vitest'

interface Order {
  readonly owner: string
  readonly n: number
}

const SECRET = 'a secret of at least thirty-two bytes'
const RULES = `
admin if claim.role == "admin"
bucket shop/orders
  list if authenticated
  read, update if object.owner == claim.sub
  create if new.owner == claim.sub
`
const server = createFreshetServer({
  store: createMemoryStore(),
  access: { rules: RULES, tokens: { secret: SECRET, audience: 'freshet', leewayMs: 0 } },
})
let admin: Database
let ann: Database

async function connectAs(url: string, claims: Record<string, unknown>): Promise<Database> {
  const token = await signToken({ claims, audience: 'freshet', expiresMs: 600_000, secret: SECRET })
  return connect(url, { authorization: token })
}

beforeAll(async () => {
  const { url } = await server.listen({ port: 0 })
  admin = await connectAs(url, { role: 'admin' })
  ann = await connectAs(url, { sub: 'ann' })
  await admin.bucket<Order>('shop/orders').configure({ indexes: [{ name: 'by-owner', fields: ['owner'] }] })
  for (let n = 0; n < 12; n++) {
    await admin.bucket<Order>('shop/orders').put(`o${`${n}`.padStart(2, '0')}`, { owner: n % 2 ? 'ann' : 'bob', n })
  }
})
afterAll(async () => {
  for (const db of [admin, ann]) db?.close()
  await server.close({ graceMs: 100 })
})

test('lists and queries return all pages of the visible rows', async () => {
  const orders = ann.bucket<Order>('shop/orders')
  const listed: number[] = []
  for await (const { n } of orders.list({ limit: 2 })) listed.push(n)
  expect(listed).toEqual([1, 3, 5, 7, 9, 11])
  const found: number[] = []
  for await (const { n } of orders.queryAll({ sort: '-n', limit: 4 })) found.push(n)
  expect(found).toEqual([11, 9, 7, 5, 3, 1])
})

test("a list shows its session's writes at once", async () => {
  const orders = ann.bucket<Order>('shop/orders')
  await orders.put('o20', { owner: 'ann', n: 20 })
  expect((await orders.page({ from: 'o11' })).items.map(({ n }) => n)).toEqual([11, 20])
})

test('a transaction may rely on a query of own rows, page by page with its writes, undisturbed by others', async () => {
  let attempts = 0
  await ann.transaction(async tx => {
    const orders = tx.bucket<Order>('shop/orders')
    orders.put('o40', { owner: 'ann', n: 9 })
    const found = []
    for await (const order of orders.queryAll({ where: { n: { $gte: 9 } }, limit: 1 })) found.push(order)
    if (attempts++ === 0) await admin.bucket<Order>('shop/orders').put('o30', { owner: 'bob', n: 30 })
    orders.put('o40', { owner: 'ann', n: found.length })
  })
  expect([attempts, await ann.bucket<Order>('shop/orders').get('o40')]).toEqual([1, { owner: 'ann', n: 4 }])
})

test('a transaction that relies on a list is refused, with advice on what to do instead', async () => {
  const refused = ann.transaction(async tx => {
    const orders = tx.bucket<Order>('shop/orders')
    orders.put('o50', { owner: 'ann', n: (await orders.page()).items.length })
  })
  await expect(refused).rejects.toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('by their ids') })
  expect(await ann.bucket<Order>('shop/orders').query({ where: { $id: 'o50' } })).toMatchObject({ items: [] })
})
