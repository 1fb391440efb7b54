import { describe, expect, test } from 'vitest'
import { connect } from '../connect.js'
import type { Database } from '../database.js'
import { connectionLost, connectionRefused, FakeOrigin } from '../testing/fake-origin.js'

async function scene(): Promise<{ origin: FakeOrigin; db: Database }> {
  const origin = new FakeOrigin()
  origin.put('shop/products/1', { price: 1 })
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock, random: () => 0 })
  origin.sent.length = 0
  return { origin, db }
}

function nameIn(headers: Headers): string {
  return headers.get('idempotency-key')!.split('.').slice(1, 3).join('.')
}

/** Does the next writes, and loses their answers. */
function loseAnswers(origin: FakeOrigin, count: number): void {
  let left = count
  origin.onWayBack = ({ method }) => (method !== 'GET' && left-- > 0 ? connectionLost() : undefined)
}

function refuse(origin: FakeOrigin, failure: () => Response | Error): void {
  let left = 2
  origin.script = ({ method }) => (method !== 'GET' && left-- > 0 ? failure() : undefined)
}

describe('a write', () => {
  test('sends a condition only with ifVersion', async () => {
    const { origin, db } = await scene()
    const products = db.bucket('shop/products')
    await products.put('2', { price: 2 })
    await products.put('2', { price: 3 }, { ifVersion: 2 })
    await products.put('3', { price: 3 }, { ifVersion: 'absent' })
    const conditions = origin.sent.map(({ headers }) => [headers.get('if-match'), headers.get('if-none-match')])
    expect(conditions).toEqual([
      [null, null],
      ['"2"', null],
      [null, '*'],
    ])
    expect(origin.sent.every(({ headers }) => headers.get('content-type') === 'application/json')).toBe(true)
  })

  test('with an invalid version is refused before it is sent', async () => {
    const { origin, db } = await scene()
    const put = async () => db.bucket('shop/products').put('1', {}, { ifVersion: 'v3' as 'absent' })
    await expect(put()).rejects.toMatchObject({ code: 'OPTIONS_INVALID' })
    expect(origin.sent).toHaveLength(0)
  })

  test('of a value that is not an object is refused', async () => {
    const { db } = await scene()
    const put = db.bucket('shop/products').put('1', undefined as unknown as Record<string, unknown>)
    await expect(put).rejects.toThrow(TypeError)
  })

  test('that conflicts throws the code of the server and is not repeated', async () => {
    const { origin, db } = await scene()
    const put = db.bucket('shop/products').put('1', {}, { ifVersion: 7 })
    await expect(put).rejects.toMatchObject({ code: 'VERSION_CONFLICT', details: { version: 1 } })
    expect(origin.sent).toHaveLength(1)
  })

  test.each([
    ['no server listens', connectionRefused],
    [
      'the server is busy',
      () =>
        new Response(JSON.stringify({ type: '/errors/SERVER_BUSY', code: 'SERVER_BUSY', detail: '' }), { status: 503 }),
    ],
    [
      'the server stops',
      () =>
        new Response(JSON.stringify({ type: '/errors/SERVER_STOPPING', code: 'SERVER_STOPPING', detail: '' }), {
          status: 503,
        }),
    ],
    ['a proxy limits the rate', () => new Response('slow down', { status: 429 })],
  ])('is sent again if it was certainly not done: %s', async (_, failure) => {
    const { origin, db } = await scene()
    refuse(origin, failure)
    await db.bucket('shop/products').put('1', { price: 2 })
    expect(origin.sent).toHaveLength(3)
    expect(origin.position).toBe(2)
  })

  test.each([
    ['the connection broke', connectionLost],
    ['a proxy gave up', () => new Response('<h1>504</h1>', { status: 504 })],
    ["a proxy's 503", () => new Response('Backend fetch failed', { status: 503 })],
  ])('whose outcome is unknown is sent again under the same id, and done once: %s', async (_, failure) => {
    const { origin, db } = await scene()
    refuse(origin, failure)
    await db.bucket('shop/products').put('1', { price: 2 })
    expect(new Set(origin.sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1)
    expect([origin.sent.length, origin.position]).toEqual([3, 2])
  })

  test('whose answer is lost gets the first answer again', async () => {
    const { origin, db } = await scene()
    loseAnswers(origin, 3)
    const answer = await db.bucket('shop/products').put('1', { price: 2 }, { ifVersion: 1 })
    expect(answer).toEqual({ id: '1', version: 2, position: 2 })
    expect([origin.position, origin.operations.replays]).toEqual([2, 3])
  })

  test('that was refused, and whose answer is lost, stays refused: another client was first', async () => {
    const { origin, db } = await scene()
    loseAnswers(origin, 1)
    const put = db.bucket('shop/products').put('1', { price: 2 }, { ifVersion: 7 })
    await expect(put).rejects.toMatchObject({ code: 'VERSION_CONFLICT' })
  })

  test('is retried more often than usual if its outcome is unknown', async () => {
    const { origin, db } = await scene()
    loseAnswers(origin, 20)
    await db.bucket('shop/products').put('1', { price: 2 })
    expect([origin.sent.length, origin.position]).toEqual([21, 2])
  })

  test('is sent once, whatever its outcome, without retries', async () => {
    const { origin } = await scene()
    const { url, fetch, clock } = origin
    const db = await connect(url, { fetch, clock, retriesMax: 0 })
    loseAnswers(origin, 1)
    const put = db.bucket('shop/products').put('1', { price: 2 })
    await expect(put).rejects.toMatchObject({ code: 'REQUEST_FAILED', details: { outcome: 'unknown' } })
  })

  test('that is still under way on the server is sent again', async () => {
    const { origin, db } = await scene()
    let name = ''
    origin.onWayBack = ({ method, headers }) => {
      if (method === 'GET' || name !== '') return undefined
      name = nameIn(headers)
      origin.operations.inProgress.add(name)
      setTimeout(() => origin.operations.inProgress.delete(name), 20)
      return connectionLost()
    }
    expect(await db.bucket('shop/products').put('1', { price: 2 })).toMatchObject({ version: 2 })
    expect(origin.position).toBe(2)
  })

  test('uses another connection if the first gives no answer', async () => {
    const { origin, db } = await scene()
    let isFirst = true
    origin.onWayBack = () => {
      if (!isFirst) return undefined
      isFirst = false
      return new Promise(() => {})
    }
    expect(await db.bucket('shop/products').put('1', { price: 2 }, { timeoutMs: 100 })).toMatchObject({ version: 2 })
  })

  test("is dated by the server's clock, even after that stood still", async () => {
    const { origin, db } = await scene()
    const { clock } = origin
    let aheadMs = 0
    const other = await connect(origin.url, { fetch: origin.fetch, clock: () => clock() + aheadMs, random: () => 0 })
    aheadMs = 3_600_000
    await other.bucket('shop/products').put('1', { price: 2 })
    expect(origin.position).toBe(2)
    await db.bucket('shop/products').put('1', { price: 3 })
  })

  test('that takes too long reports that its outcome is unknown', async () => {
    const { origin, db } = await scene()
    origin.script = () => new Promise(() => {})
    const put = db.bucket('shop/products').put('1', {}, { timeoutMs: 20 })
    await expect(put).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT', details: { outcome: 'unknown' } })
  })

  test('that fails until its time is up reports why', async () => {
    const { origin, db } = await scene()
    origin.script = () => connectionLost()
    const put = db.bucket('shop/products').put('1', {}, { timeoutMs: 50 })
    await expect(put).rejects.toMatchObject({
      code: 'REQUEST_TIMEOUT',
      details: { outcome: 'unknown' },
      cause: { code: 'REQUEST_FAILED', message: expect.stringContaining('other side closed') },
    })
  })

  test('that finds nothing to delete returns undefined', async () => {
    const { origin, db } = await scene()
    origin.script = () =>
      new Response(JSON.stringify({ type: '/errors/OBJECT_NOT_FOUND', code: 'OBJECT_NOT_FOUND', detail: '' }), {
        status: 404,
      })
    expect(await db.bucket('shop/products').delete('none')).toBeUndefined()
  })
})

describe('a commit', () => {
  test('sends paths, values, bytes and what it relies on', async () => {
    const { origin, db } = await scene()
    origin.script = () => new Response('{"position":9}')
    await db.commit(
      [
        { bucket: 'shop/products', id: 'a b', value: { price: 1 }, ifVersion: 'absent' },
        { bucket: 'shop/files', id: 'f', bytes: new Uint8Array([1, 2, 3]), contentType: 'image/png' },
        { bucket: 'shop/products', id: '2', delete: true },
      ],
      { reads: [{ bucket: 'shop/stock', id: '1', version: 4 }] },
    )
    expect(JSON.parse(origin.sent[0]!.body)).toEqual({
      reads: [
        { path: '/db/shop/stock/1', version: 4 },
        { path: '/db/shop/products/a%20b', version: 0 },
      ],
      writes: [
        { path: '/db/shop/products/a%20b', value: { price: 1 } },
        { path: '/db/shop/files/f', contentType: 'image/png', base64: 'AQID' },
        { path: '/db/shop/products/2', delete: true },
      ],
    })
  })

  test('is also done once, including its additions to counters', async () => {
    const { origin, db } = await scene()
    loseAnswers(origin, 2)
    const answer = await db.commit([
      { bucket: 'shop/products', id: '1', value: {}, ifVersion: 1 },
      { bucket: 'shop/views', id: '1', add: 5 },
    ])
    expect(answer).toEqual({ position: 3, values: [5] })
    expect(origin.valueOf('shop/views/1')).toBe(5)
  })

  test('that writes nothing has no id, because repeating it does no harm', async () => {
    const { origin, db } = await scene()
    loseAnswers(origin, 1)
    await db.commit([], { reads: [{ bucket: 'shop/products', id: '1', version: 1 }] })
    expect(origin.sent.map(({ headers }) => headers.has('idempotency-key'))).toEqual([false, false])
  })

  test('that conflicts informs the session of the present versions', async () => {
    const { origin, db } = await scene()
    const products = db.bucket('shop/products')
    const version = origin.put('shop/products/1', { price: 2 })
    const conflicts = [{ path: '/db/shop/products/1', version }]
    origin.script = ({ target }) =>
      target === '/commit'
        ? new Response(
            JSON.stringify({ type: '/errors/COMMIT_CONFLICT', code: 'COMMIT_CONFLICT', detail: '', conflicts }),
            { status: 409 },
          )
        : undefined
    const commit = db.commit([{ bucket: 'shop/products', id: '1', value: {}, ifVersion: 1 }])
    await expect(commit).rejects.toMatchObject({ code: 'COMMIT_CONFLICT', details: { conflicts } })
    expect((await products.get('1'))!.version).toBe(version)
  })
})
