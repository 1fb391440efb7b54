import { describe, expect, test } from 'vitest'
import { createScene, holdFirstAnswer } from '../testing/scene.js'

describe('a slow list', () => {
  test('contradicts no read of an object that ended meanwhile', async () => {
    const { origin, db } = await createScene()
    const products = db.bucket('shop/products')
    const release = holdFirstAnswer(origin, target => target.includes('embed'))
    const slow = products.page()
    await new Promise(resolve => setTimeout(resolve))
    origin.put('shop/products/1', { price: 2 })
    expect(await products.get('1', { read: 'current' })).toEqual({ price: 2 })
    release()
    expect((await slow).items).toEqual([{ price: 2 }])
  })
})

describe('lists', () => {
  test('continue page by page, with the id and the version of each object', async () => {
    const { origin, db } = await createScene()
    for (const id of ['2', '3', '4', '5']) origin.put(`shop/products/${id}`, { price: Number(id) })
    const found: unknown[] = []
    for await (const item of db.bucket('shop/products').list({ limit: 2, read: 'current' }))
      found.push([item.id, item.version, { ...item }])
    expect(found).toEqual([1, 2, 3, 4, 5].map(n => [`${n}`, n, { price: n }]))
    expect(origin.count('/db/shop/products?')).toBe(3)
  })

  test('send their parameters in the one canonical order', async () => {
    const { origin, db } = await createScene()
    origin.put('shop/products/a', {})
    await db.session.refresh()
    await db.bucket('shop/products').page({ to: 'z', prefix: 'a b', limit: 7, from: 'a', after: 'a' })
    expect(origin.sent.at(-1)!.target).toBe('/db/shop/products?after=a&at=2&embed&from=a&limit=7&prefix=a%20b&to=z')
  })

  test('show nothing that a later read of the object contradicts', async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    const products = db.bucket('shop/products')
    const old = await origin.fetch(`${origin.url}/db/shop/products/1`, {})
    origin.put('shop/products/1', { price: 2 })
    expect((await products.page()).items).toEqual([{ price: 2 }])
    origin.script = ({ target }) => (target === '/db/shop/products/1' ? old.clone() : undefined)
    expect(await products.get('1')).toEqual({ price: 2 })
  })

  test('contradict no earlier read of an object', async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    const products = db.bucket('shop/products')
    const old = await origin.fetch(`${origin.url}/db/shop/products?embed`, {})
    origin.put('shop/products/2', { price: 2 })
    expect(await products.get('2')).toEqual({ price: 2 })
    origin.script = ({ target }) => (target === '/db/shop/products?embed' ? old.clone() : undefined)
    expect((await products.page()).items).toEqual([{ price: 1 }, { price: 2 }])
  })

  test('of ids only hold no values', async () => {
    const { origin, db } = await createScene()
    const found = []
    for await (const item of db.bucket('shop/products').ids()) found.push(item)
    expect(found).toEqual([{ id: '1', version: 1 }])
    expect(origin.sent.at(-1)!.target).toBe('/db/shop/products')
  })
})

describe('getMany', () => {
  test('sends one request for all, keeps the order, and returns undefined for missing objects', async () => {
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

describe('what an id may be', () => {
  test.each([[undefined], [null], [{}], [5], [['a']]])(
    '%j is not an id: TypeError, and nothing is sent',
    async given => {
      const { origin, db } = await createScene()
      const id = given as unknown as string
      const products = db.bucket('shop/products')
      await expect(products.put(id, { price: 1 })).rejects.toThrow(TypeError)
      await expect(products.get(id)).rejects.toThrow(TypeError)
      await expect(products.delete(id)).rejects.toThrow(TypeError)
      await expect(products.getMany([id])).rejects.toThrow(TypeError)
      await expect(db.counter('shop/views').add(id)).rejects.toThrow(TypeError)
      await expect(db.commit([{ bucket: 'shop/products', id, value: {} }])).rejects.toThrow(TypeError)
      await expect(db.transaction(async tx => tx.bucket('shop/products').put(id, {}))).rejects.toThrow(TypeError)
      expect(origin.sent).toEqual([])
    },
  )
})

describe('options mean the same everywhere:', () => {
  test('ifVersion 0 means that there is no object, for put as for commit', async () => {
    const { db } = await createScene()
    const products = db.bucket('shop/products')
    await products.put('new', { price: 1 }, { ifVersion: 0 })
    const conflict = { code: 'VERSION_CONFLICT' }
    await expect(products.put('new', { price: 2 }, { ifVersion: 0 })).rejects.toMatchObject(conflict)
    const write = { bucket: 'shop/products', id: 'other', value: {}, ifVersion: 0 }
    await db.commit([write])
    await expect(db.commit([write])).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
    await expect(db.commit([{ ...write, ifVersion: '1' as unknown as number }])).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
    })
  })

  test('create takes an unused id, and no version of an existing object', async () => {
    const { db, origin } = await createScene()
    const products = db.bucket('shop/products')
    expect(await products.create({ price: 3 }, { id: 'given' })).toMatchObject({ id: 'given' })
    expect(origin.sent.at(-1)).toMatchObject({ method: 'PUT', target: '/db/shop/products/given' })
    const again = products.create({ price: 4 }, { id: 'given' })
    await expect(again).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
    await expect(products.create({ price: 4 }, { ifVersion: 5 })).rejects.toMatchObject({ code: 'OPTIONS_INVALID' })
  })

  test('query also takes read options as a second argument', async () => {
    const { db, origin } = await createScene()
    const products = db.bucket<{ price: number }>('shop/products')
    await products.query({ where: { price: 1 } }, { read: 'current' })
    expect(origin.count('/coherence')).toBe(1)
    for await (const _ of products.queryAll({ where: { price: 1 } }, { read: 'current' }));
    expect(origin.count('/coherence')).toBe(2)
    const wrong = products.query({}, { read: 'newest' as 'current' })
    await expect(wrong).rejects.toMatchObject({ code: 'OPTIONS_INVALID' })
  })
})

describe('a bucket in a transaction', () => {
  test('can create and patch like any other, and its writes can be awaited', async () => {
    const { db, origin } = await createScene()
    const made = await db.transaction(async tx => {
      const products = tx.bucket<{ price: number; name?: string; at?: { x?: number; y?: number } }>('shop/products')
      expect(await products.put('2', { price: 2, at: { x: 1, y: 2 } })).toEqual({ id: '2' })
      await products.patch('2', { price: 3, at: { x: null } })
      await products.patch('1', { name: 'tea' })
      await products.create({ price: 4 }, { id: '4' })
      const { id } = await products.create({ price: 5 })
      await expect(products.patch('none', { price: 1 })).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
      expect(() => products.create({ price: 6 }, { id: '4' })).toThrow('already exists')
      return id
    })
    const storedAs = (id: string) => JSON.parse(origin.objects.get(`/db/shop/products/${id}`)!.text) as unknown
    expect(storedAs('1')).toEqual({ price: 1, name: 'tea' })
    expect(storedAs('2')).toEqual({ price: 3, at: { y: 2 } })
    expect([storedAs('4'), storedAs(made)]).toEqual([{ price: 4 }, { price: 5 }])
  })

  test('that creates what another client has created meanwhile is run again, and refused', async () => {
    const { db, origin } = await createScene()
    let runs = 0
    const created = db.transaction(async tx => {
      const products = tx.bucket('shop/products')
      if (++runs === 1) origin.put('shop/products/taken', { by: 'another' })
      else await products.get('taken')
      await products.create({ by: 'this' }, { id: 'taken' })
    })
    await expect(created).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
    expect(runs).toBe(2)
  })
})
