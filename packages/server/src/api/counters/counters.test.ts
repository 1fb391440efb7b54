import { createMemoryStore } from '@freshet/engines/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonRequest, type RunningServer, startServer } from '../../testing/running-server.js'

let running: RunningServer

beforeAll(async () => {
  running = await startServer({ store: createMemoryStore(), settings: { commitWritesMax: 2000 } })
  await running.put('/db/shop/views', { kind: 'counter' })
  await running.put('/db/shop/stock', { kind: 'counter', min: 0, max: 10 })
  await running.put('/db/shop/money', { kind: 'counter', decimals: 2 })
})
afterAll(() => running.stop())

async function post(path: string, value: unknown, headers: Record<string, string> = {}) {
  const answer = await running.fetch(path, jsonRequest('POST', value, headers))
  return { status: answer.status, text: await answer.text(), replayed: answer.headers.get('idempotency-replayed') }
}

async function read(path: string): Promise<string> {
  return (await running.fetch(path)).text()
}

async function add(path: string, by: number): Promise<unknown> {
  return JSON.parse((await post(path, { add: by })).text)
}

describe('additions to a bucket without counters', () => {
  const ADDITIONS = {
    additions: [
      { id: 'a', add: 1, key: 'some-key' },
      { id: 'b', add: 2 },
    ],
  }

  test.each([undefined, 'object', 'kv'])('are refused, and nothing is stored: %s', async kind => {
    const bucket = `/db/shop/none-${kind}`
    if (kind !== undefined) await running.put(bucket, { kind })
    for (const value of [ADDITIONS, { additions: [] }]) {
      const { status, text } = await post(bucket, value)
      expect([status, JSON.parse(text).code]).toEqual([415, 'CONTENT_TYPE_UNSUPPORTED'])
      expect(text).toContain(`${bucket} is not a bucket of counters`)
    }
    expect((await running.fetch(`${bucket}?limit=1`)).status).toBe(kind === undefined ? 404 : 200)
    expect(await read('/db/shop')).not.toContain('none-undefined')
    if (kind !== undefined) expect(await read(bucket)).toContain('"items":[]')
  })

  test('are not confused with an object that has a field of that name', async () => {
    for (const value of [
      { additions: 1 },
      { additions: [1] },
      { ...ADDITIONS, more: 1 },
      { additions: [{ id: 'a' }] },
    ]) {
      expect((await post('/db/shop/plain', value)).status).toBe(201)
    }
    expect(await running.put('/db/shop/plain/named', ADDITIONS)).toMatchObject({ id: 'named' })
  })
})

describe('a counter', () => {
  test('starts at 0, returns its new value, and is read like any object', async () => {
    expect((await running.fetch('/db/shop/views/new')).status).toBe(404)
    const first = await add('/db/shop/views/new', 5)
    expect(first).toMatchObject({ id: 'new', value: 5 })
    expect(await add('/db/shop/views/new', -7)).toMatchObject({ value: -2 })
    const answer = await running.fetch('/db/shop/views/new')
    expect([answer.status, await answer.text()]).toEqual([200, '-2'])
    expect(answer.headers.get('cache-control')).toContain('max-age')
    expect(Number(answer.headers.get('etag')?.slice(1, -1))).toBeGreaterThan((first as { version: number }).version)
  })

  test('counts exactly to its decimals', async () => {
    for (let i = 0; i < 10; i++) await add('/db/shop/money/a', 0.1)
    expect(await read('/db/shop/money/a')).toBe('1.00')
    const { text } = await post('/db/shop/money/a', { add: -0.05 })
    expect(text).toContain('"value":0.95,')
    for (const by of [0.001, 1e-7, '1', null, 1e21]) {
      expect(await post('/db/shop/money/a', { add: by })).toMatchObject({ status: 400 })
    }
    expect(await post('/db/shop/money/a', { add: 1, more: 2 })).toMatchObject({ status: 400 })
    expect(await read('/db/shop/money/a')).toBe('0.95')
  })

  test('stays within its bounds, and reports its value', async () => {
    await add('/db/shop/stock/a', 3)
    const refused = await post('/db/shop/stock/a', { add: -4 })
    expect(refused.status).toBe(409)
    expect(JSON.parse(refused.text)).toMatchObject({
      code: 'COUNTER_OUT_OF_BOUNDS',
      value: 3,
      min: 0,
      path: '/db/shop/stock/a',
    })
    expect((await post('/db/shop/stock/a', { add: 8 })).status).toBe(409)
    expect((await running.fetch('/db/shop/stock/a', jsonRequest('PUT', 11))).status).toBe(409)
    expect(await read('/db/shop/stock/a')).toBe('3')
  })

  test('is set and deleted like any object, and can only be set to a number', async () => {
    await running.put('/db/shop/money/b', 12.5)
    expect(await read('/db/shop/money/b')).toBe('12.50')
    expect((await running.fetch('/db/shop/money/b', jsonRequest('PUT', { n: 1 }))).status).toBe(400)
    expect((await running.fetch('/db/shop/money/b', { method: 'DELETE' })).status).toBe(200)
    expect(await add('/db/shop/money/b', 1)).toMatchObject({ value: 1 })
  })

  test('can only be in a bucket of counters', async () => {
    expect(await post('/db/shop/products/a', { add: 1 })).toMatchObject({ status: 415 })
    expect((await post('/commit', { writes: [{ path: '/db/shop/products/a', add: 1 }] })).status).toBe(415)
    const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: '{}' }
    expect((await running.fetch('/db/shop/money/a', patch)).status).toBe(415)
    await expect(running.put('/db/shop/views', { kind: 'counter', decimals: 1 })).rejects.toThrow(/same decimals/)
    await expect(running.put('/db/shop/other', { kind: 'counter', min: 2, max: 1 })).rejects.toThrow(/min is above max/)
    await expect(running.put('/db/shop/other', { kind: 'object', min: 2 })).rejects.toThrow(
      /have decimals, min and max/,
    )
  })

  test('keeps all additions of many clients at once', async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, () => post('/db/shop/views/hot', { add: 1 })))
    const values = answers.map(({ text }) => (JSON.parse(text) as { value: number }).value)
    expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, i) => i + 1))
    expect(await read('/db/shop/views/hot')).toBe('300')
  })

  test('counts an addition with the same key once', async () => {
    const headers = { 'idempotency-key': 'order-17' }
    const first = await post('/db/shop/money/c', { add: 1.25 }, headers)
    await add('/db/shop/money/c', 1)
    expect(await post('/db/shop/money/c', { add: 1.25 }, headers)).toEqual({ ...first, replayed: 'true' })
    expect(await read('/db/shop/money/c')).toBe('2.25')
  })
})

describe('many additions', () => {
  test('are each done once, and each has its own result', async () => {
    const additions = [
      { id: 'many-a', add: 1, key: 'many-1' },
      { id: 'many-a', add: 2, key: 'many-2' },
      { id: 'many-b', add: -1, key: 'many-3' },
      { id: 'many-c', add: 5 },
    ]
    const first = JSON.parse((await post('/db/shop/stock', { additions })).text)
    expect(first.results).toMatchObject([
      { value: 1 },
      { value: 3 },
      { error: { code: 'COUNTER_OUT_OF_BOUNDS' } },
      { value: 5 },
    ])
    const again = JSON.parse((await post('/db/shop/stock', { additions })).text)
    expect(again.results).toMatchObject([
      { value: 1, replayed: true },
      { value: 3, replayed: true },
      { error: { code: 'COUNTER_OUT_OF_BOUNDS' } },
      { value: 10 },
    ])
    expect(await read('/db/shop/stock/many-a')).toBe('3')
  })

  test('can be a thousand in one request', async () => {
    const additions = Array.from({ length: 1000 }, (_, i) => ({ id: `n${i % 10}`, add: 1 }))
    expect((await post('/db/shop/views', { additions })).status).toBe(200)
    for (let i = 0; i < 10; i++) expect(await read(`/db/shop/views/n${i}`)).toBe('100')
  })

  test.each([
    [
      {
        additions: [
          { id: 'a', add: 1, key: 'x' },
          { id: 'b', add: 1, key: 'x' },
        ],
      },
      /same key/,
    ],
    [{ additions: 1 }, /must be a list/],
    [{ additions: [1] }, /must be an object/],
    [{ additions: [{ id: 'a', by: 1 }] }, /only id, add, key/],
    [{ n: 1 }, /only additions/],
  ])('are refused if they are malformed: %j', async (body, reason) => {
    const { status, text } = await post('/db/shop/views', body)
    expect(status).toBe(400)
    expect(text).toMatch(reason)
  })
})

test('a commit adds to counters and writes objects, all or nothing, once', async () => {
  const writes = [
    { path: '/db/shop/orders/1', value: { of: 'a' } },
    { path: '/db/shop/stock/commit', add: 4 },
    { path: '/db/shop/money/commit', add: 9.9 },
  ]
  const headers = { 'idempotency-key': 'commit-1' }
  const first = await post('/commit', { writes }, headers)
  expect(JSON.parse(first.text)).toMatchObject({ values: [4, 9.9] })
  expect(await post('/commit', { writes }, headers)).toEqual({ ...first, replayed: 'true' })
  const tooMuch = [
    { path: '/db/shop/orders/2', value: {} },
    { path: '/db/shop/stock/commit', add: 7 },
  ]
  expect((await post('/commit', { writes: tooMuch })).status).toBe(409)
  expect((await running.fetch('/db/shop/orders/2')).status).toBe(404)
  expect(await read('/db/shop/stock/commit')).toBe('4')
})

test('a bucket returns the sum of its counters, and the largest ones', async () => {
  await running.put('/db/shop/totals', { kind: 'counter', decimals: 1 })
  expect(await read('/db/shop/totals?sum')).toBe('{"sum":0.0,"count":0}\n')
  for (const [id, by] of Object.entries({ a: 1.5, b: -3, c: 7, d: 7 })) await add(`/db/shop/totals/${id}`, by)
  const answer = await running.fetch('/db/shop/totals?sum')
  expect(await answer.text()).toBe('{"sum":12.5,"count":4}\n')
  expect(answer.headers.get('cache-control')).toContain('max-age')
  const unchanged = await running.fetch('/db/shop/totals?sum', {
    headers: { 'if-none-match': answer.headers.get('etag')! },
  })
  expect(unchanged.status).toBe(304)
  expect(JSON.parse(await read('/db/shop/totals?top=2'))).toEqual({
    items: [
      { id: 'c', value: 7 },
      { id: 'd', value: 7 },
    ],
  })
  for (const query of ['top=0', 'top=x', 'sum&top=1', 'limit=1&sum']) {
    expect((await running.fetch(`/db/shop/totals?${query}`)).status).toBe(400)
  }
  expect((await running.fetch('/db/shop/products?sum')).status).not.toBe(200)
  expect(JSON.parse(await read('/db/shop/totals?embed')).items[1]).toMatchObject({ id: 'b', value: -3 })
})

test('a number that would be rounded is refused everywhere that a counter accepts one', async () => {
  for (const number of ['9007199254740993', '1.0000000000000000001', '1e400']) {
    const texts: readonly (readonly [string, string, string])[] = [
      ['PUT', '/db/shop/totals/rounded', number],
      ['POST', '/db/shop/totals/rounded', `{"add":${number}}`],
      ['POST', '/db/shop/totals', `{"additions":[{"id":"rounded","add":${number}}]}`],
      ['POST', '/commit', `{"writes":[{"path":"/db/shop/totals/rounded","add":${number}}]}`],
    ]
    for (const [method, path, body] of texts) {
      const answer = await running.fetch(path, { method, body, headers: { 'content-type': 'application/json' } })
      expect([answer.status, ((await answer.json()) as { code: string }).code], `${method} ${path} ${body}`).toEqual([
        400,
        'BODY_INVALID',
      ])
    }
  }
})
