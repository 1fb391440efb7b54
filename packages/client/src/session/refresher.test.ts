import { parseOperationId } from '@freshet/protocol'
import { expect, test } from 'vitest'
import { connect } from '../connect.js'
import { FakeOrigin } from '../testing/fake-origin.js'

/** Lets everything proceed that can. */
function turn(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 1))
}

/** Holds back an origin's heads; each returned function lets one through. */
function holdHeads(origin: FakeOrigin): (() => void)[] {
  const held: (() => void)[] = []
  origin.onWayBack = ({ target }) =>
    target.startsWith('/coherence') ? new Promise(resolve => held.push(() => resolve(undefined))) : undefined
  return held
}

test('a current read does not accept a head that was requested before it began', async () => {
  const origin = new FakeOrigin()
  origin.put('shop/products/1', { price: 1 })
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock })
  const held = holdHeads(origin)
  const refreshed = db.session.refresh()
  await turn()
  // Acknowledged after the first head was made, before the read begins.
  origin.put('shop/products/1', { price: 2 })
  const read = db.bucket('shop/products').get('1', { read: 'current' })
  await turn()
  held[0]!()
  await refreshed
  await turn()
  expect(held).toHaveLength(2)
  held[1]!()
  expect(await read).toEqual({ price: 2 })
})

test('a thousand concurrent current reads share a few heads', async () => {
  const origin = new FakeOrigin()
  origin.put('shop/products/1', { price: 1 })
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock })
  origin.sent.length = 0
  const products = db.bucket('shop/products')
  const reads = await Promise.all(Array.from({ length: 1000 }, () => products.get('1', { read: 'current' })))
  expect(reads.every(read => read?.price === 1)).toBe(true)
  expect(origin.count('/coherence')).toBeLessThanOrEqual(4)
})

test('session reads wait for one head together', async () => {
  const origin = new FakeOrigin()
  origin.put('shop/products/1', { price: 1 })
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock, staleness: 10 })
  origin.nowMs += 11
  origin.sent.length = 0
  await Promise.all(['1', '2', '3'].map(id => db.bucket('shop/products').get(id)))
  expect(origin.count('/coherence')).toBe(1)
})

test('segments are fetched once, missing ones in one request', async () => {
  const origin = new FakeOrigin()
  const write = (count: number) => {
    for (let i = 0; i < count; i++) {
      origin.nowMs += 100
      origin.put(`shop/products/${i}`, { i })
    }
  }
  write(100)
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock })
  expect(origin.count('/coherence/segments/')).toBe(1)
  // More changes than the head lists one by one.
  write(400)
  await db.session.refresh()
  const bundles = origin.sent.filter(({ target }) => target.startsWith('/coherence/segments/'))
  expect(bundles).toHaveLength(2)
  const [known, added] = bundles.map(({ target }) => target.slice('/coherence/segments/'.length).split(','))
  expect(known!.length).toBeGreaterThan(1)
  expect(added!.length).toBeGreaterThan(1)
  expect(known!.filter(ref => added!.includes(ref))).toEqual([])
  expect(await db.bucket('shop/products').get('3')).toEqual({ i: 3 })
})

test('a segment that a cache has from another store is fetched past the cache', async () => {
  const origin = new FakeOrigin()
  const write = () => {
    for (let i = 0; i < 100; i++) {
      origin.nowMs += 300
      origin.put(`shop/products/${i % 7}`, { i })
    }
  }
  write()
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock })
  const target = origin.sent.find(sent => sent.target.startsWith('/coherence/segments/'))!.target
  const old = await origin.fetch(url + target, {})
  origin.replace()
  origin.nowMs = Math.ceil(origin.nowMs / 100_000) * 100_000
  write()
  origin.script = sent =>
    sent.cache === 'default' && sent.target.startsWith('/coherence/segments/') ? old.clone() : undefined
  await db.session.refresh()
  expect(await db.bucket('shop/products').get('3')).toEqual({ i: 94 })
})

test('a segment that is gone by the time it is requested does no harm', async () => {
  const origin = new FakeOrigin()
  for (let i = 0; i < 50; i++) {
    origin.nowMs += 300
    origin.put(`shop/products/${i % 7}`, { i })
  }
  let refusals = 1
  origin.script = ({ target }) => {
    if (!target.startsWith('/coherence/segments/') || refusals-- <= 0) return undefined
    return new Response(JSON.stringify({ type: '/errors/SEGMENT_GONE', code: 'SEGMENT_GONE', detail: 'Gone.' }), {
      status: 404,
    })
  }
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock, random: () => 0 })
  expect(db.session.position).toBe(50)
})

test('a session continues from its token on another connection', async () => {
  const origin = new FakeOrigin()
  const { url, fetch, clock } = origin
  const one = await connect(url, { fetch, clock })
  await one.bucket('shop/products').put('1', { price: 5 })
  const old = new Response('{"price":1}', { headers: { etag: '"0"', 'freshet-position': '0' } })
  origin.script = ({ target }) => (target === '/db/shop/products/1' ? old.clone() : undefined)
  const two = await connect(url, { fetch, clock, token: one.session.token })
  expect(two.session.position).toBeGreaterThanOrEqual(1)
  expect(await two.bucket('shop/products').get('1')).toEqual({ price: 5 })
})

test("ids of operations follow the server's clock again after it has stood still and caught up", async () => {
  const origin = new FakeOrigin()
  origin.storeBehindMs = 30_000
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock })
  origin.storeBehindMs = 0
  await db.session.refresh()
  await db.bucket('shop/products').put('1', {})
  const key = origin.sent.at(-1)!.headers.get('idempotency-key')!
  expect(parseOperationId(key)).toMatchObject({ madeMs: Math.floor(origin.nowMs) })
})
