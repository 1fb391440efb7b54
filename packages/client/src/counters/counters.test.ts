import { describe, expect, test } from 'vitest'
import { connectionLost } from '../testing/fake-origin.js'
import { createScene } from '../testing/scene.js'

describe('a counter', () => {
  test('to which nothing was added is 0', async () => {
    const { db } = await createScene()
    expect(await db.counter('shop/views').get('1')).toBe(0)
    expect(await db.counter('shop/views').getMany(['1', '2'])).toEqual([0, 0])
  })

  test('grows by one, or by the given amount', async () => {
    const { origin, db } = await createScene()
    const views = db.counter('shop/views')
    expect(await views.add('1')).toMatchObject({ value: 1 })
    expect(await views.add('1', 4)).toMatchObject({ id: '1', value: 5, version: origin.position })
    expect(await views.get('1')).toBe(5)
  })

  test('is as fresh as promised after another client added to it', async () => {
    const { origin, db } = await createScene({ staleness: 0 })
    const views = db.counter('shop/views')
    await views.add('1')
    origin.put('shop/views/1', 12.5)
    expect(await views.get('1')).toBe(12.5)
  })

  test('shows a session its own additions, whatever copy a cache still has', async () => {
    const { origin, db } = await createScene({ staleness: 1_000_000 })
    origin.put('shop/views/1', 1)
    const old = await origin.fetch(`${origin.url}/db/shop/views/1`, {})
    await db.counter('shop/views').add('1')
    origin.script = ({ target }) => (target === '/db/shop/views/1' ? old.clone() : undefined)
    expect(await db.counter('shop/views').get('1')).toBe(2)
  })

  test('counts once an addition that had to be sent three times', async () => {
    const { origin, db } = await createScene()
    let left = 2
    origin.onWayBack = ({ method }) => (method === 'POST' && left-- > 0 ? connectionLost() : undefined)
    expect(await db.counter('shop/views').add('1', 2)).toMatchObject({ value: 2 })
    expect(origin.valueOf('shop/views/1')).toBe(2)
  })

  test('can be set and removed', async () => {
    const { db } = await createScene()
    const views = db.counter('shop/views')
    await views.set('1', 7.25)
    expect(await views.get('1')).toBe(7.25)
    await views.delete('1')
    expect(await views.get('1')).toBe(0)
  })

  test('takes only numbers', async () => {
    const { origin, db } = await createScene()
    const views = db.counter('shop/views')
    await expect(views.add('1', Number.NaN)).rejects.toThrow(TypeError)
    await expect(views.set('1', '3' as unknown as number)).rejects.toThrow(TypeError)
    await expect(views.addMany([{ id: '1', by: Number.POSITIVE_INFINITY }])).rejects.toThrow(TypeError)
    expect(() => db.counter('views')).toThrow(expect.objectContaining({ code: 'NAME_INVALID' }))
    expect(origin.sent).toHaveLength(0)
  })

  test('whose value is not a number is refused', async () => {
    const { db } = await createScene()
    await expect(db.counter('shop/products').get('1')).rejects.toMatchObject({ code: 'ANSWER_INVALID' })
  })
})

describe('several additions at once', () => {
  test('are one request, and each is done or refused separately', async () => {
    const { origin, db } = await createScene()
    const stock = db.counter('shop/stock')
    const results = await stock.addMany([{ id: 'a', by: 3 }, { id: 'b', by: -1 }, { id: 'a' }])
    expect(results).toMatchObject([
      { id: 'a', value: 3 },
      { id: 'b', error: { code: 'COUNTER_OUT_OF_BOUNDS', details: { min: 0 } } },
      { id: 'a', value: 4 },
    ])
    expect(origin.sent).toHaveLength(1)
    expect(await stock.getMany(['a', 'b'])).toEqual([4, 0])
  })

  test('have a key each, and count once when they have to be sent again', async () => {
    const { origin, db } = await createScene()
    let left = 2
    origin.onWayBack = ({ method }) => (method === 'POST' && left-- > 0 ? connectionLost() : undefined)
    const results = await db.counter('shop/views').addMany([{ id: 'a' }, { id: 'a' }, { id: 'b' }])
    expect(results.map(result => 'value' in result && result.value)).toEqual([1, 2, 1])
    expect(origin.operations.replays).toBe(6)
    const { additions } = JSON.parse(origin.sent[0]!.body) as { additions: { key: string }[] }
    expect(new Set(additions.map(({ key }) => key)).size).toBe(3)
  })

  test('are sent again if one of them is still under way', async () => {
    const { origin, db } = await createScene()
    origin.script = ({ method, body }) => {
      if (method !== 'POST') return undefined
      const key = (JSON.parse(body) as { additions: { key: string }[] }).additions[0]!.key
      const name = key.split('.').slice(1, 3).join('.')
      if (origin.sent.length < 3) origin.operations.inProgress.add(name)
      else origin.operations.inProgress.clear()
      return undefined
    }
    const results = await db.counter('shop/views').addMany([{ id: 'a' }, { id: 'b' }])
    expect(results).toMatchObject([{ value: 1 }, { value: 1 }])
    expect(origin.operations.replays).toBe(2)
  })

  test('are split into several requests if there are thousands', async () => {
    const { origin, db } = await createScene()
    const additions = Array.from({ length: 2500 }, (_, i) => ({ id: `${i % 7}` }))
    expect(await db.counter('shop/views').addMany(additions)).toHaveLength(2500)
    expect(origin.sent).toHaveLength(3)
    expect(origin.valueOf('shop/views/0')).toBe(358)
  })
})

test('a transaction refuses an addition with more decimals than counters have, instead of rounding it', async () => {
  const { origin, db } = await createScene()
  const sent = origin.sent.length
  await expect(db.transaction(async tx => tx.counter('shop/views').add('1', 1e-10))).rejects.toThrow(TypeError)
  expect(origin.sent.length).toBe(sent)
})

test('a transaction adds to counters at its commit, one sum for each counter', async () => {
  const { origin, db } = await createScene()
  await db.transaction(async tx => {
    const product = await tx.bucket('shop/products').get('1')
    tx.bucket('shop/products').put('1', { ...product, sold: true })
    tx.counter('shop/sold').add('1', 0.1)
    tx.counter('shop/sold').add('1', 0.2)
  })
  expect(origin.valueOf('shop/sold/1')).toBe(0.3)
  expect(JSON.parse(origin.sent.at(-1)!.body).writes).toHaveLength(2)
})
