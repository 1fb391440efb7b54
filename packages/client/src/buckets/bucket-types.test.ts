/** `connect<Buckets>` in the compiler: what is refused has a line `@ts-expect-error`, which fails to compile if it is accepted. */
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { Counters } from '../counters/counters.js'
import type { Database } from '../database.js'
import { createScene } from '../testing/scene.js'
import type { Transaction } from '../transactions/transaction.js'
import type { TransactionBucket } from '../transactions/transaction-bucket.js'
import type { KvBucket } from './kv-bucket.js'
import type { ObjectBucket } from './object-bucket.js'

interface Product {
  name: string
  price: number
}

interface Buckets {
  'shop/products': Product
  'shop/views': number
  'blog/images': Uint8Array
  [tenant: `tenants/${string}`]: { owner: string }
}

/** The same connection, with and without declared buckets. */
async function createDatabases() {
  const { db } = await createScene()
  return { any: db, db: db as unknown as Database<Buckets> }
}

describe('the types of declared buckets', () => {
  test('are inferred from the name, also in transactions', async () => {
    const { db } = await createDatabases()
    expectTypeOf(db.bucket('shop/products')).toEqualTypeOf<ObjectBucket<Product>>()
    expectTypeOf(db.bucket(`tenants/${db.session.log}`)).toEqualTypeOf<ObjectBucket<{ owner: string }>>()
    expectTypeOf(db.counter('shop/views')).toEqualTypeOf<Counters>()
    expectTypeOf(db.kv('blog/images')).toEqualTypeOf<KvBucket>()
    const tx = await db.begin()
    expectTypeOf(tx).toEqualTypeOf<Transaction<Buckets>>()
    expectTypeOf(tx.bucket('shop/products')).toEqualTypeOf<TransactionBucket<Product>>()
    await db.transaction(async tx => {
      expectTypeOf(tx.bucket('shop/products')).toEqualTypeOf<TransactionBucket<Product>>()
      expectTypeOf(tx.bucket<Pick<Product, 'name'>>('shop/products')).toEqualTypeOf<
        TransactionBucket<Pick<Product, 'name'>>
      >()
    })
  })

  test('let a name that is computed at run time through the wider type of the connection, or a cast', async () => {
    const { db } = await createDatabases()
    const name: string = ['shop', 'products'].join('/')
    const any: Database = db
    expectTypeOf(any.bucket<Product>(name)).toEqualTypeOf<ObjectBucket<Product>>()
    expectTypeOf(db.bucket(name as 'shop/products')).toEqualTypeOf<ObjectBucket<Product>>()
    expect(any.bucket(name).name).toBe('shop/products')
  })
})

describe('with declared buckets the compiler refuses', () => {
  test('an unknown name, wherever a name is passed', async () => {
    const { db } = await createDatabases()
    const name: string = 'shop/products'
    const refused = async (tx: Transaction<Buckets>) => {
      // @ts-expect-error: there is no such bucket.
      db.bucket('shop/product')
      // @ts-expect-error: nor with a type for its values.
      db.bucket<Product>('shop/product')
      // @ts-expect-error: any text may be the name of no bucket.
      db.bucket(name)
      // @ts-expect-error
      db.counter('shop/likes')
      // @ts-expect-error
      db.kv('shop/files')
      // @ts-expect-error
      await db.drop('shop/product')
      // @ts-expect-error: nor is there such a namespace.
      await db.drop('store')
      // @ts-expect-error
      await db.commit([{ bucket: 'shop/product', id: '1', delete: true }])
      // @ts-expect-error
      await db.commit([], { reads: [{ bucket: 'shop/product', id: '1', version: 1 }] })
      // @ts-expect-error
      tx.bucket('shop/product')
      // @ts-expect-error
      tx.bucket<Product>('shop/product')
      // @ts-expect-error
      tx.counter('shop/likes')
    }
    expect(refused).toBeTypeOf('function')
  })

  test('a bucket of another kind', async () => {
    const { db } = await createDatabases()
    const refused = async (tx: Transaction<Buckets>) => {
      // @ts-expect-error: it has counters.
      db.bucket('shop/views')
      // @ts-expect-error: it has bytes.
      db.bucket('blog/images')
      // @ts-expect-error: it has objects.
      db.counter('shop/products')
      // @ts-expect-error
      db.kv('shop/products')
      // @ts-expect-error
      tx.bucket('shop/views')
      // @ts-expect-error
      tx.counter('blog/images')
    }
    expect(refused).toBeTypeOf('function')
  })

  test('a value that does not fit the bucket', async () => {
    const { db } = await createDatabases()
    const refused = async (tx: Transaction<Buckets>) => {
      // @ts-expect-error: the price is missing.
      await db.bucket('shop/products').put('tea', { name: 'Tea' })
      // @ts-expect-error: a price is a number.
      await db.bucket('shop/products').patch('tea', { price: '4' })
      // @ts-expect-error
      await tx.bucket('shop/products').put('tea', { name: 'Tea' })
      // @ts-expect-error
      await db.commit([{ bucket: 'shop/products', id: 'tea', value: { name: 'Tea' } }])
      // @ts-expect-error: a price is a number.
      await db.commit([{ bucket: 'shop/products', id: 'tea', patch: { price: '4' } }])
      // @ts-expect-error: objects have no sum.
      await db.commit([{ bucket: 'shop/products', id: 'tea', add: 1 }])
      // @ts-expect-error: counters have no fields.
      await db.commit([{ bucket: 'shop/views', id: 'tea', value: { n: 1 } }])
    }
    expect(refused).toBeTypeOf('function')
  })
})

test('declared buckets allow everything else', async () => {
  const { db } = await createDatabases()
  const allowed = async () => {
    await db.drop('shop/products')
    await db.drop('tenants')
    await db.commit(
      [
        { bucket: 'shop/products', id: 'tea', value: { name: 'Tea', price: 4 }, ifVersion: 'absent' },
        { bucket: 'shop/products', id: 'mug', patch: { price: 9 }, ifVersion: 3 },
        { bucket: 'tenants/ann', id: '1', value: { owner: 'Ann' } },
        { bucket: 'shop/views', id: 'tea', add: 1 },
        { bucket: 'blog/images', id: 'tea', bytes: new Uint8Array(1), contentType: 'image/png' },
        { bucket: 'blog/images', id: 'mug', delete: true },
      ],
      { reads: [{ bucket: 'shop/products', id: 'jug', version: 'absent' }] },
    )
  }
  expect(allowed).toBeTypeOf('function')
})

test('without declared buckets every name is allowed, and values have the type that the program gives', async () => {
  const { any } = await createDatabases()
  const name: string = 'shop/products'
  expectTypeOf(any.bucket(name)).toEqualTypeOf<ObjectBucket<Record<string, unknown>>>()
  expectTypeOf(any.bucket<Product>('shop/products')).toEqualTypeOf<ObjectBucket<Product>>()
  const allowed = async () => {
    any.counter(name)
    any.kv(name)
    await any.drop(name)
    await any.commit([{ bucket: name, id: '1', value: {} }], { reads: [{ bucket: name, id: '2', version: 1 }] })
    await any.transaction(async tx => {
      expectTypeOf(tx.bucket<Product>(name)).toEqualTypeOf<TransactionBucket<Product>>()
      tx.counter(name)
    })
  }
  expect(allowed).toBeTypeOf('function')
})

test('a program can pass the type of its values on', async () => {
  const { any } = await createDatabases()
  const firstOf = <T extends object>(db: Database, name: string): ObjectBucket<T> => db.bucket<T>(name)
  expectTypeOf(firstOf<Product>(any, 'shop/products')).toEqualTypeOf<ObjectBucket<Product>>()
})
