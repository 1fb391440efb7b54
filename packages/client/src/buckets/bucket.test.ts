import { describe, expect, test } from 'vitest'
import { createScene } from '../testing/scene.js'

describe('a list that is slow', () => {
  test('denies nothing that a read of an object has shown meanwhile', async () => {
    const { origin, db } = await createScene()
    const products = db.bucket('shop/products')
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    let isFirst = true
    origin.onWayBack = async ({ target }) => {
      if (isFirst && target.includes('embed')) {
        isFirst = false
        await held
      }
      return undefined
    }
    const slow = products.page()
    await new Promise(resolve => setTimeout(resolve))
    origin.put('shop/products/1', { price: 2 })
    expect(await products.get('1', { read: 'current' })).toEqual({ price: 2 })
    release()
    expect((await slow).items).toEqual([{ price: 2 }])
  })
})

describe('lists', () => {
  test('go on page by page, with the id and the version of each', async () => {
    const { origin, db } = await createScene()
    for (const id of ['2', '3', '4', '5']) origin.put(`shop/products/${id}`, { price: Number(id) })
    const found: unknown[] = []
    for await (const item of db.bucket('shop/products').list({ limit: 2, read: 'current' }))
      found.push([item.id, item.version, { ...item }])
    expect(found).toEqual([1, 2, 3, 4, 5].map(n => [`${n}`, n, { price: n }]))
    expect(origin.count('/db/shop/products?')).toBe(3)
  })

  test('spell their parameters in the one canonical order', async () => {
    const { origin, db } = await createScene()
    origin.put('shop/products/a', {})
    await db.session.refresh()
    await db.bucket('shop/products').page({ to: 'z', prefix: 'a b', limit: 7, from: 'a', after: 'a' })
    expect(origin.sent.at(-1)!.target).toBe('/db/shop/products?after=a&at=2&embed&from=a&limit=7&prefix=a%20b&to=z')
  })

  test('show nothing that a later read of the object takes back', async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    const products = db.bucket('shop/products')
    const old = await origin.fetch(`${origin.url}/db/shop/products/1`, {})
    origin.put('shop/products/1', { price: 2 })
    expect((await products.page()).items).toEqual([{ price: 2 }])
    origin.script = ({ target }) => (target === '/db/shop/products/1' ? old.clone() : undefined)
    expect(await products.get('1')).toEqual({ price: 2 })
  })

  test('deny nothing that an earlier read of an object has shown', async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    const products = db.bucket('shop/products')
    const old = await origin.fetch(`${origin.url}/db/shop/products?embed`, {})
    origin.put('shop/products/2', { price: 2 })
    expect(await products.get('2')).toEqual({ price: 2 })
    origin.script = ({ target }) => (target === '/db/shop/products?embed' ? old.clone() : undefined)
    expect((await products.page()).items).toEqual([{ price: 1 }, { price: 2 }])
  })

  test('of ids alone hold no values', async () => {
    const { origin, db } = await createScene()
    const found = []
    for await (const item of db.bucket('shop/products').ids()) found.push(item)
    expect(found).toEqual([{ id: '1', version: 1 }])
    expect(origin.sent.at(-1)!.target).toBe('/db/shop/products')
  })
})

describe('getMany', () => {
  test('asks once for all, keeps the order, and has undefined for what is not there', async () => {
    const { origin, db } = await createScene()
    origin.put('shop/products/2', { price: 2 })
    const found = await db.bucket('shop/products').getMany(['2', 'none', '1', '2'], { read: 'current' })
    expect(found).toEqual([{ price: 2 }, undefined, { price: 1 }, { price: 2 }])
    expect(found[0]!.version).toBe(2)
    expect(origin.count('/db/')).toBe(1)
    expect(origin.sent.at(-1)!.target).toBe('/db/shop/products?at=2&embed&ids=2,none,1')
  })

  test('takes from memory what it may', async () => {
    const { origin, db } = await createScene({ memoryBytesMax: 100_000 })
    origin.put('shop/products/2', { price: 2 })
    const products = db.bucket('shop/products')
    await products.get('1')
    expect(await products.getMany(['1', '2'])).toEqual([{ price: 1 }, { price: 2 }])
    expect(origin.sent.at(-1)!.target).toBe('/db/shop/products/2')
  })
})
