import { describe, expect, test } from 'vitest'
import { createScene } from '../testing/scene.js'

describe('a copy in memory', () => {
  const KEPT = { memoryBytesMax: 100_000, staleness: 1000 }

  test('answers without any request while the sketch knows of no change', async () => {
    const { origin, db, reads } = await createScene(KEPT)
    const products = db.bucket('shop/products')
    const first = await products.get('1')
    first!.price = 99
    expect(await products.get('1')).toEqual({ price: 1 })
    expect(origin.sent).toHaveLength(1)
    expect(reads.map(({ from }) => from)).toEqual(['server', 'memory'])
  })

  test('is fetched again when the object has changed', async () => {
    const { origin, db } = await createScene(KEPT)
    const products = db.bucket('shop/products')
    await products.get('1')
    origin.put('shop/products/1', { price: 2 })
    origin.nowMs += 1001
    expect(await products.get('1')).toEqual({ price: 2 })
  })

  test('is good again after a change that it already includes', async () => {
    const { origin, db, reads } = await createScene(KEPT)
    const products = db.bucket('shop/products')
    origin.put('shop/products/1', { price: 2 })
    await products.get('1', { read: 'current' })
    await products.get('1')
    expect(reads.map(({ from, at }) => [from, at])).toEqual([
      ['server', 2],
      ['memory', undefined],
    ])
  })

  test('is not used past its lifetime, which counts from the read of the store', async () => {
    const { origin, db } = await createScene(KEPT)
    origin.onWayBack = async ({ target }, response) => {
      if (!target.startsWith('/db/')) return undefined
      const headers = new Headers(response.headers)
      headers.set('age', '50')
      return new Response(await response.text(), { headers })
    }
    const products = db.bucket('shop/products')
    await products.get('1')
    origin.nowMs += 9_000
    await products.get('1')
    expect(origin.count('/db/')).toBe(1)
    origin.nowMs += 2_000
    await products.get('1')
    expect(origin.count('/db/')).toBe(2)
  })

  test('is not made if the answer may not be stored', async () => {
    const { origin, db } = await createScene(KEPT)
    origin.lifetimeS = 0
    const products = db.bucket('shop/products')
    await products.get('1')
    await products.get('1')
    expect(origin.count('/db/')).toBe(2)
  })

  test('that is older than the window is not used, whatever age it claims', async () => {
    const { origin, db } = await createScene(KEPT)
    const products = db.bucket('shop/products')
    const old = await origin.fetch(`${origin.url}/db/shop/products/1`, {})
    origin.put('shop/products/1', { price: 2 })
    origin.nowMs += 89_000
    origin.script = ({ target }) => (target === '/db/shop/products/1' ? old.clone() : undefined)
    expect(await products.get('1', { read: 'any' })).toEqual({ price: 1 })
    origin.nowMs += 50_000
    origin.put('shop/products/2', {})
    expect(await products.get('1', { read: 'any' })).toEqual({ price: 1 })
    expect(await products.get('1')).toEqual({ price: 2 })
  })

  test('is dropped when the server has another store', async () => {
    const { origin, db } = await createScene(KEPT)
    const products = db.bucket('shop/products')
    await products.get('1')
    origin.replace()
    await db.session.refresh()
    expect(await products.get('1')).toBeUndefined()
  })

  test('is also kept of lists, until something in the bucket changes', async () => {
    const { origin, db } = await createScene(KEPT)
    const products = db.bucket('shop/products')
    await products.page()
    await products.page()
    expect(origin.count('/db/')).toBe(1)
    await products.put('9', { price: 9 })
    expect((await products.page()).items).toEqual([{ price: 1 }, { price: 9 }])
  })
})
