import { describe, expect, test } from 'vitest'
import { connectionLost } from '../testing/fake-origin.js'
import { createScene } from '../testing/scene.js'

describe('a read that fails', () => {
  test('in passing is tried again', async () => {
    const { origin, db } = await createScene()
    const failures = [connectionLost(), new Response('', { status: 502 }), new Response('', { status: 429 })]
    origin.script = () => failures.shift()
    expect(await db.bucket('shop/products').get('1')).toEqual({ price: 1 })
    expect(origin.sent).toHaveLength(4)
  })

  test('again and again is given up, with the last cause', async () => {
    const { origin, db } = await createScene({ retriesMax: 2 })
    origin.script = () => connectionLost()
    await expect(db.bucket('shop/products').get('1')).rejects.toMatchObject({
      code: 'REQUEST_FAILED',
      cause: { message: 'fetch failed' },
    })
    expect(origin.sent).toHaveLength(3)
  })

  test('because it makes no sense is not tried again', async () => {
    const { origin, db } = await createScene()
    const problem = { type: '/errors/PARAMETER_INVALID', code: 'PARAMETER_INVALID', detail: 'No.' }
    origin.script = () => new Response(JSON.stringify(problem), { status: 400 })
    await expect(db.bucket('shop/products').get('1')).rejects.toMatchObject({ code: 'PARAMETER_INVALID' })
    expect(origin.sent).toHaveLength(1)
  })

  test('to come in time is REQUEST_TIMEOUT, also if fetch does not heed the signal', async () => {
    const { origin, db } = await createScene()
    origin.script = () => new Promise(() => {})
    const error = await db
      .bucket('shop/products')
      .get('1', { timeoutMs: 20 })
      .catch(reason => reason)
    expect(error).toMatchObject({ code: 'REQUEST_TIMEOUT' })
    expect(error.message).toContain('Reading /db/shop/products/1 was not done within 20 ms')
  })

  test('because its caller gave up before it began asks for nothing', async () => {
    const { origin, db } = await createScene()
    const read = db.bucket('shop/products').get('1', { signal: AbortSignal.abort(new Error('no')) })
    await expect(read).rejects.toThrow('no')
    expect(origin.sent).toHaveLength(0)
  })

  test('because the connection was closed says so', async () => {
    const { origin, db } = await createScene()
    origin.script = () => new Promise(() => {})
    const read = db.bucket('shop/products').get('1')
    db.close()
    await expect(read).rejects.toThrow('closed by db.close()')
    await expect(db.bucket('shop/products').get('1')).rejects.toThrow('closed by db.close()')
  })

  test('because the server has another store now starts over with that one', async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    const products = db.bucket('shop/products')
    await products.put('1', { price: 2 })
    origin.replace()
    origin.put('shop/products/1', { price: 'another' })
    expect(await products.get('1')).toEqual({ price: 'another' })
  })
})
