import { describe, expect, test } from 'vitest'
import { connect } from '../connect.js'
import type { ConnectOptions } from '../connect-options.js'
import type { Database } from '../database.js'
import { RETENTION_MS } from '../testing/fake-operations.js'
import { connectionLost, connectionRefused, FakeOrigin } from '../testing/fake-origin.js'
import type { OutboxStorage } from './outbox.js'

/** A storage like localStorage. */
class Storage implements OutboxStorage {
  readonly #items = new Map<string, string>()

  get length(): number {
    return this.#items.size
  }

  key(index: number): string | null {
    return [...this.#items.keys()][index] ?? null
  }

  getItem(name: string): string | null {
    return this.#items.get(name) ?? null
  }

  setItem(name: string, value: string): void {
    this.#items.set(name, value)
  }

  removeItem(name: string): void {
    this.#items.delete(name)
  }
}

function createPages(): { origin: FakeOrigin; storage: Storage; open: (o?: ConnectOptions) => Promise<Database> } {
  const origin = new FakeOrigin()
  const storage = new Storage()
  const { url, fetch, clock } = origin
  const open = (options: ConnectOptions = {}) =>
    connect(url, { fetch, clock, random: () => 0, outbox: storage, ...options })
  return { origin, storage, open }
}

/** From now on, no write gets an answer; `isDone` says whether it is done. */
function cutOff(origin: FakeOrigin, { isDone }: { isDone: boolean }): void {
  if (isDone) origin.onWayBack = ({ method }) => (method === 'GET' ? undefined : connectionLost())
  else origin.script = ({ method }) => (method === 'GET' ? undefined : connectionLost())
}

function restore(origin: FakeOrigin): void {
  origin.script = () => undefined
  origin.onWayBack = () => undefined
}

/** Ends the page with its writes under way. */
async function leave(db: Database, ...writes: Promise<unknown>[]): Promise<void> {
  const ends = Promise.allSettled(writes)
  await expect.poll(() => db.outbox!.size).toBe(writes.length)
  db.close()
  for (const end of await ends) {
    expect(end).toMatchObject({ status: 'rejected', reason: { details: { outcome: 'unknown', kept: true } } })
  }
}

describe('an outbox', () => {
  test('holds a write from before it is sent until it is answered', async () => {
    const { origin, storage, open } = createPages()
    const db = await open()
    const sizes: number[] = []
    origin.script = ({ method }) => {
      if (method === 'PUT') sizes.push(storage.length)
      return undefined
    }
    await db.bucket('shop/products').put('1', { price: 1 })
    await expect(db.bucket('shop/products').put('1', {}, { ifVersion: 9 })).rejects.toThrow()
    expect([sizes, storage.length, db.outbox!.size]).toEqual([[1, 1], 0, 0])
  })

  test.each([
    ['had been done', true],
    ['had not been done', false],
  ])('sends the remaining writes once after a reload: they %s', async (_, isDone) => {
    const { origin, open } = createPages()
    const before = await open()
    cutOff(origin, { isDone })
    const add = before.counter('shop/views').add('1', 5)
    const many = before.counter('shop/views').addMany([
      { id: '2', by: 2 },
      { id: '2', by: 3 },
    ])
    const bytes = before.kv('shop/files').put('f', '"x"')
    await leave(before, add, many, bytes)
    restore(origin)

    const after = await open()
    const { done, refused, left } = await after.outbox!.flush()
    expect([done.length, refused, left, after.outbox!.size]).toEqual([3, [], 0, 0])
    expect([origin.valueOf('shop/views/1'), origin.valueOf('shop/views/2')]).toEqual([5, 5])
    expect([...origin.operations.applied.values()]).toEqual([1, 1, 1, 1])
    expect(origin.objects.get('/db/shop/files/f')?.text).toBe('"x"')
    // The session sees them: they are its own writes now.
    expect(await after.counter('shop/views').get('1')).toBe(5)
  })

  test('keeps a write that could not be sent within its time, and later writes proceed', async () => {
    const { origin, open } = createPages()
    const db = await open()
    const products = db.bucket('shop/products')
    cutOff(origin, { isDone: false })
    const put = products.put('1', { price: 1 }, { timeoutMs: 30 })
    await expect(put).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT', details: { kept: true } })
    restore(origin)
    await products.put('2', { price: 2 })
    expect(db.outbox!.size).toBe(1)
    expect(await db.outbox!.flush()).toMatchObject({ done: [{ target: '/db/shop/products/1' }], left: 0 })
    expect(origin.operations.applied.size).toBe(2)
  })

  test('sends in the order in which the writes were begun', async () => {
    const { origin, open } = createPages()
    const db = await open()
    cutOff(origin, { isDone: false })
    const writes = [1, 2, 3].map(price => {
      origin.nowMs += 10
      return db.bucket('shop/products').put('1', { price })
    })
    await leave(db, ...writes)
    restore(origin)
    const after = await open()
    await after.outbox!.flush()
    expect(await after.bucket('shop/products').get('1')).toEqual({ price: 3 })
  })

  test('keeps a write that cannot be sent yet', async () => {
    const { origin, open } = createPages()
    const db = await open()
    origin.script = ({ method }) => (method === 'GET' ? undefined : connectionRefused())
    const put = db.bucket('shop/products').put('1', { price: 1 })
    // It will still be sent, so the error must not claim that it was not done.
    await expect(put).rejects.toMatchObject({ code: 'REQUEST_FAILED', details: { outcome: 'unknown', kept: true } })
    expect(await db.outbox!.flush()).toEqual({ done: [], refused: [], left: 1 })
    restore(origin)
    expect(await db.outbox!.flush()).toMatchObject({ done: [{}], left: 0 })
  })

  test('drops a write that its caller gives up', async () => {
    const { origin, storage, open } = createPages()
    const db = await open()
    cutOff(origin, { isDone: false })
    const controller = new AbortController()
    const put = db.bucket('shop/products').put('1', {}, { signal: controller.signal })
    controller.abort()
    await expect(put).rejects.toThrow('abort')
    expect(storage.length).toBe(0)
  })

  test('reports writes that the server refuses, and drops them', async () => {
    const { origin, open } = createPages()
    const db = await open()
    cutOff(origin, { isDone: false })
    const put = db.bucket('shop/products').put('1', { price: 1 }, { ifVersion: 'absent' })
    const old = db.bucket('shop/products').put('2', { price: 2 })
    await leave(db, put, old)
    restore(origin)
    origin.put('shop/products/1', { price: 7 })
    origin.nowMs += RETENTION_MS + 1000
    const after = await open()
    const { refused, left } = await after.outbox!.flush()
    expect(refused).toMatchObject([
      { target: '/db/shop/products/1', body: '{"price":1}', error: { code: 'OPERATION_EXPIRED' } },
      { target: '/db/shop/products/2', error: { code: 'OPERATION_EXPIRED' } },
    ])
    expect(left).toBe(0)
  })

  test('may be flushed by two pages at once, and twice by one page', async () => {
    const { origin, open } = createPages()
    const before = await open()
    cutOff(origin, { isDone: true })
    const adds = [1, 2, 3].map(by => before.counter('shop/views').add('1', by))
    await leave(before, ...adds)
    restore(origin)
    const [one, two] = [await open(), await open()]
    await Promise.all([one.outbox!.flush(), two.outbox!.flush(), one.outbox!.flush()])
    expect(origin.valueOf('shop/views/1')).toBe(6)
    expect([one.outbox!.size, two.outbox!.size]).toEqual([0, 0])
  })

  test('shared by two active pages loses and doubles nothing', async () => {
    const { origin, open } = createPages()
    let n = 0
    origin.onWayBack = ({ method }) => (method !== 'GET' && n++ % 3 === 0 ? connectionLost() : undefined)
    const pages = [await open(), await open()]
    await Promise.all(
      pages.flatMap(page =>
        Array.from({ length: 40 }, async (_, i) => {
          if (i % 10 === 0) await page.outbox!.flush()
          await page.counter('shop/views').add('1')
        }),
      ),
    )
    expect([origin.valueOf('shop/views/1'), pages[0]!.outbox!.size]).toEqual([80, 0])
  })

  test("sends writes that were begun while the server's clock stood still", async () => {
    const { origin, open } = createPages()
    let aheadMs = 0
    const clock = () => origin.clock() + aheadMs
    const db = await open({ clock })
    cutOff(origin, { isDone: false })
    aheadMs = 3_600_000
    await leave(db, db.bucket('shop/products').put('1', { price: 1 }))
    restore(origin)
    const after = await open({ clock })
    expect(await after.outbox!.flush()).toMatchObject({ done: [{}], left: 0 })
  })

  test('that is full refuses a write before it is sent', async () => {
    const { origin, storage, open } = createPages()
    const db = await open()
    origin.sent.length = 0
    storage.setItem = () => {
      throw new DOMException('It is full.', 'QuotaExceededError')
    }
    await expect(db.bucket('shop/products').put('1', {})).rejects.toThrow('It is full.')
    expect(origin.sent).toHaveLength(0)
  })

  test('is undefined without the option', async () => {
    const { open } = createPages()
    const { url, fetch, clock } = new FakeOrigin()
    expect((await connect(url, { fetch, clock })).outbox).toBeUndefined()
    expect((await open()).outbox).toBeDefined()
  })
})
