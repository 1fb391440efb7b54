/** A read of several objects, or of a list, counts for each object in it, including those it showed to be absent. */
import { describe, expect, test } from 'vitest'
import type { FakeOrigin } from '../testing/fake-origin.js'
import { createScene } from '../testing/scene.js'

/** From now on, a cache answers requests whose URL was requested before. */
function putCacheBefore(origin: FakeOrigin): void {
  const copies = new Map<string, Response>()
  origin.script = ({ target }) => (target.startsWith('/db/') ? copies.get(target)?.clone() : undefined)
  origin.onWayBack = ({ target, method }, response) => {
    if (method === 'GET' && response.ok && !copies.has(target)) copies.set(target, response.clone())
    return undefined
  }
}

describe('after an object was missing', () => {
  test('among several, no older copy of it is shown', async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    putCacheBefore(origin)
    const products = db.bucket('shop/products')
    expect(await products.get('1')).toEqual({ price: 1 })
    origin.remove('shop/products/1')
    expect(await products.getMany(['1', '2'])).toEqual([undefined, undefined])
    expect(await products.get('1')).toBeUndefined()
  })

  test('from a list, no older copy of it is shown', async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    putCacheBefore(origin)
    const products = db.bucket('shop/products')
    expect(await products.get('1')).toEqual({ price: 1 })
    origin.remove('shop/products/1')
    expect((await products.page()).items).toEqual([])
    expect(await products.get('1')).toBeUndefined()
    expect(await products.getMany(['1', '2'])).toEqual([undefined, undefined])
  })
})

test('several unchanged objects may be read from a copy, whatever else of the bucket was shown', async () => {
  const { origin, db } = await createScene({ staleness: 1_000_000 })
  putCacheBefore(origin)
  const products = db.bucket('shop/products')
  expect(await products.getMany(['1', '2'])).toEqual([{ price: 1 }, undefined])
  origin.put('shop/products/3', { price: 3 })
  origin.put('shop/products/4', { price: 4 })
  expect(await products.getMany(['3', '4'])).toEqual([{ price: 3 }, { price: 4 }])
  const asked = origin.count('/db/')
  expect(await products.getMany(['1', '2'])).toEqual([{ price: 1 }, undefined])
  expect(origin.count('/db/')).toBe(asked + 1)
})
