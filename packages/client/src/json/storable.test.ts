import { expect, test } from 'vitest'
import { createScene } from '../testing/scene.js'

const CHANGED_BY_JSON: readonly (readonly [string, unknown])[] = [
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['a whole number beyond 2^53', Number('12345678901234567890')],
  ['a bigint', 1n],
  ['a Date', new Date(0)],
  ['a Map', new Map([['a', 1]])],
  ['a Set', new Set([1])],
  ['bytes', new Uint8Array(2)],
  ['an object of a class', new (class Money {})()],
  ['undefined', undefined],
  ['a function', () => 1],
  ['a symbol', Symbol('a')],
]

test.each(CHANGED_BY_JSON)('%s is refused at any depth, before anything is sent', async (_, value) => {
  const { origin, db } = await createScene()
  const products = db.bucket('shop/products')
  const sent = origin.sent.length
  for (const object of [{ value }, { deep: [{ value }] }, { list: [1, value] }] as Record<string, unknown>[]) {
    await expect(products.put('1', object)).rejects.toThrow(TypeError)
    await expect(products.patch('1', object)).rejects.toThrow(TypeError)
    await expect((async () => db.commit([{ bucket: 'shop/products', id: '1', value: object }]))()).rejects.toThrow(
      TypeError,
    )
    await expect(db.transaction(async tx => tx.bucket('shop/products').put('1', object))).rejects.toThrow(TypeError)
  }
  expect(origin.sent.slice(sent).filter(({ method }) => method !== 'GET')).toEqual([])
})

test.each(CHANGED_BY_JSON)('%s is refused in a query, which would find other objects', async (_, value) => {
  const { origin, db } = await createScene()
  const products = db.bucket('shop/products')
  const sent = origin.sent.length
  for (const where of [{ value }, { value: { $in: [1, value] } }, { $or: [{ value }] }, value] as Record<
    string,
    never
  >[]) {
    if (where === undefined) continue
    await expect(products.query({ where })).rejects.toThrow(TypeError)
    await expect(db.transaction(tx => tx.bucket('shop/products').query({ where }))).rejects.toThrow(TypeError)
  }
  expect(origin.sent.slice(sent)).toEqual([])
})

test.each(CHANGED_BY_JSON)('%s is refused as a setting: null would remove it', async (_, value) => {
  const { origin, db } = await createScene()
  const products = db.bucket('shop/products')
  const sent = origin.sent.length
  await expect(products.configure({ schema: { const: value } })).rejects.toThrow(TypeError)
  if (value !== undefined) await expect(products.configure({ lifetimeMs: value as number })).rejects.toThrow(TypeError)
  expect(origin.sent.slice(sent)).toEqual([])
})

test('a part of a commit that says delete: false deletes nothing', async () => {
  const { origin, db } = await createScene()
  const part = { bucket: 'shop/products', id: '1', delete: false as true }
  await expect((async () => db.commit([part]))()).rejects.toThrow(TypeError)
  expect(origin.objects.has('/db/shop/products/1')).toBe(true)
})

test('the error names the place', async () => {
  const { db } = await createScene()
  const put = db.bucket('shop/products').put('1', { prices: [{ at: new Date(0) }] })
  await expect(put).rejects.toThrow('the value.prices[0].at holds a Date')
})

test('plain JSON is stored, even from another realm or without a prototype', async () => {
  const { db } = await createScene()
  const products = db.bucket('shop/products')
  const value = { a: [1, -0.5, 1e-7, 'x', true, null, {}], n: Number.MAX_SAFE_INTEGER }
  await products.put('1', value)
  expect(await products.get('1')).toEqual(value)
  await products.put('1', Object.assign(Object.create(null), { a: 1 }))
  expect(await products.get('1')).toEqual({ a: 1 })
})
