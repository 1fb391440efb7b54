import { describe, expect, test } from 'vitest'
import { connectionLost, type FakeOrigin } from '../testing/fake-origin.js'
import { createScene } from '../testing/scene.js'

const UNKNOWN = { type: '/errors/STORE_UNAVAILABLE', code: 'STORE_UNAVAILABLE', detail: 'No.', outcome: 'unknown' }

describe('a failing read', () => {
  test('is retried after a temporary failure', async () => {
    const { origin, db } = await createScene()
    const failures = [connectionLost(), new Response('', { status: 502 }), new Response('', { status: 429 })]
    origin.script = () => failures.shift()
    expect(await db.bucket('shop/products').get('1')).toEqual({ price: 1 })
    expect(origin.sent).toHaveLength(4)
  })

  test('is given up after the last retry, with the last cause', async () => {
    const { origin, db } = await createScene({ retriesMax: 2 })
    origin.script = () => connectionLost()
    await expect(db.bucket('shop/products').get('1')).rejects.toMatchObject({
      code: 'REQUEST_FAILED',
      cause: { message: 'fetch failed' },
    })
    expect(origin.sent).toHaveLength(3)
  })

  test('is not retried if the request is invalid', async () => {
    const { origin, db } = await createScene()
    const problem = { type: '/errors/PARAMETER_INVALID', code: 'PARAMETER_INVALID', detail: 'No.' }
    origin.script = () => new Response(JSON.stringify(problem), { status: 400 })
    await expect(db.bucket('shop/products').get('1')).rejects.toMatchObject({ code: 'PARAMETER_INVALID' })
    expect(origin.sent).toHaveLength(1)
  })

  test('is REQUEST_TIMEOUT after the deadline, even if fetch ignores the signal', async () => {
    const { origin, db } = await createScene()
    origin.script = () => new Promise(() => {})
    const error = await db
      .bucket('shop/products')
      .get('1', { timeoutMs: 20 })
      .catch(reason => reason)
    expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT' })
    expect(error.message).toContain('Reading /db/shop/products/1 did not finish within 20 ms')
  })

  test('sends nothing if its caller gave up before it began', async () => {
    const { origin, db } = await createScene()
    const read = db.bucket('shop/products').get('1', { signal: AbortSignal.abort(new Error('no')) })
    await expect(read).rejects.toThrow('no')
    expect(origin.sent).toHaveLength(0)
  })

  test('names the reason if the connection was closed', async () => {
    const { origin, db } = await createScene()
    origin.script = () => new Promise(() => {})
    const read = db.bucket('shop/products').get('1')
    db.close()
    await expect(read).rejects.toMatchObject({ details: { closed: true, outcome: 'not-done' } })
    await expect(read).rejects.toThrow('closed by db.close()')
    await expect(db.bucket('shop/products').get('1')).rejects.toThrow('closed by db.close()')
  })

  test.each<[string, FakeOrigin['script']]>([
    ['no connection', () => connectionLost()],
    ['an answer from another server', () => new Response('oops', { status: 500 })],
    ['a time-out', () => new Promise(() => {})],
    ['a server that does not know the outcome', () => new Response(JSON.stringify(UNKNOWN), { status: 503 })],
  ])('did nothing: %s', async (_, script) => {
    const { origin, db } = await createScene({ retriesMax: 0 })
    origin.script = script
    const details = { details: { outcome: 'not-done' } }
    const products = db.bucket('shop/products')
    const options = { timeoutMs: 20 }
    await expect(products.get('1', options)).rejects.toMatchObject(details)
    await expect(products.getMany(['1', '2'], options)).rejects.toMatchObject(details)
    await expect(db.session.refresh(options)).rejects.toMatchObject(details)
    const transaction = db.transaction(
      async tx => {
        const bucket = tx.bucket('shop/products')
        await bucket.get('1')
        bucket.put('1', { price: 2 })
      },
      { timeoutMs: 20 },
    )
    await expect(transaction).rejects.toMatchObject(details)
  })

  test('of a transaction with little time left reports the time in whole milliseconds', async () => {
    const { origin, db } = await createScene()
    origin.script = () => new Promise(() => {})
    const error = await db
      .transaction(async tx => tx.bucket('shop/products').get('1'), { timeoutMs: 20.4321 })
      .catch(reason => reason)
    expect(error.message).toMatch(/ did not finish within \d+ ms\./)
  })

  test("starts over with the server's new store if the server got another one", async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    const products = db.bucket('shop/products')
    await products.put('1', { price: 2 })
    origin.replace()
    origin.put('shop/products/1', { price: 'another' })
    expect(await products.get('1')).toEqual({ price: 'another' })
  })
})
