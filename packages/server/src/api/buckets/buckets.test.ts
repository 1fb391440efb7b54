import { createMemoryStore } from '@freshet/engines/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { interruptedAt } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, startServer } from '../../testing/running-server.js'

let running: RunningServer
const ids = Array.from({ length: 250 }, (_, i) => `p${String(i).padStart(3, '0')}`)

interface Page {
  readonly items: readonly { readonly id: string; readonly version: number; readonly value?: unknown }[]
  readonly next?: string
}

async function page(query = ''): Promise<Page> {
  const answer = await running.fetch(`/db/shop/products${query}`)
  expect(answer.status).toBe(200)
  return (await answer.json()) as Page
}

beforeAll(async () => {
  running = await startServer({
    store: createMemoryStore({ positionsAfter: 0 }),
    settings: { bucketsMax: 4, listBytesMax: 20_000 },
  })
  for (const id of ids) await running.put(`/db/shop/products/${id}`, { id })
})
afterAll(() => running.stop())

describe('lists', () => {
  test('a bucket is listed page by page, in order, each object once', async () => {
    const seen: string[] = []
    let after: string | undefined
    do {
      const { items, next } = await page(after === undefined ? '?limit=70' : `?after=${after}&limit=70`)
      seen.push(...items.map(item => item.id))
      after = next
    } while (after !== undefined)
    expect(seen).toEqual(ids)
  })

  test('a page that takes several reads is complete', async () => {
    expect((await page('?limit=1000')).items.map(item => item.id)).toEqual(ids)
  })

  test('bounds and prefixes limit the list', async () => {
    expect((await page('?from=p010&to=p013')).items.map(item => item.id)).toEqual(['p010', 'p011', 'p012'])
    expect((await page('?prefix=p24')).items).toHaveLength(10)
    expect((await page('?from=p100&limit=2&prefix=p1')).items.map(item => item.id)).toEqual(['p100', 'p101'])
  })

  test('values are embedded on request, and a page with long values has fewer objects', async () => {
    expect((await page('?embed&limit=1')).items[0]).toEqual({ id: 'p000', version: 1, value: { id: 'p000' } })
    expect((await page('?limit=1')).items[0]).toEqual({ id: 'p000', version: 1 })
    for (const id of ['a', 'b', 'c']) await running.put(`/db/shop/long/${id}`, { text: 'x'.repeat(9000) })
    const first = (await (await running.fetch('/db/shop/long?embed')).json()) as Page
    expect([first.items.length, first.next]).toEqual([2, 'b'])
    const second = (await (await running.fetch('/db/shop/long?after=b&embed')).json()) as Page
    expect([second.items.length, second.next]).toEqual([1, undefined])
  })

  test('several objects are read at once, in the requested order, and missing ones have version 0', async () => {
    const { items } = await page('?embed&ids=p002,nothing,p001')
    expect(items.map(({ id, version }) => [id, version > 0])).toEqual([
      ['p002', true],
      ['nothing', false],
      ['p001', true],
    ])
    expect(items[0]?.value).toEqual({ id: 'p002' })
  })

  test('a list has the version of its bucket, and is not sent again while that is unchanged', async () => {
    const first = await running.fetch('/db/shop/products?limit=1')
    const etag = first.headers.get('etag')!
    expect(first.headers.get('cache-control')).toContain('max-age=60')
    const ask = () => running.fetch('/db/shop/products?limit=1', { headers: { 'if-none-match': etag } })
    expect((await ask()).status).toBe(304)
    await running.put('/db/shop/products/p249', { changed: true })
    expect((await ask()).status).toBe(200)
  })

  test('namespaces and buckets are listed', async () => {
    expect(await (await running.fetch('/db')).json()).toEqual({ namespaces: ['shop'] })
    const { buckets } = (await (await running.fetch('/db/shop')).json()) as { buckets: unknown[] }
    expect(buckets).toContainEqual({ bucket: 'products', kind: 'object' })
    expect(await (await running.fetch('/db/nowhere')).json()).toEqual({ buckets: [] })
  })
})

describe('settings', () => {
  test('are created, read and changed, and take effect at once', async () => {
    const created = await running.fetch('/db/shop/set', jsonRequest('PUT', { kind: 'object', lifetimeMs: 10_000 }))
    expect(created.status).toBe(201)
    const read = await running.fetch('/db/shop/set?settings')
    expect(await read.json()).toEqual({ kind: 'object', lifetimeMs: 10_000 })
    await running.put('/db/shop/set/a', {})
    expect((await running.fetch('/db/shop/set/a')).headers.get('cache-control')).toContain('max-age=10,')
    await running.put('/db/shop/set', { kind: 'object', lifetimeMs: 90_000 })
    expect((await running.fetch('/db/shop/set/a')).headers.get('cache-control')).toContain('max-age=90,')
    await running.put('/db/shop/set', { kind: 'object' })
    expect((await running.fetch('/db/shop/set/a')).headers.get('cache-control')).toContain('max-age=60,')
    expect(await (await running.fetch('/db/shop/set?settings')).json()).toEqual({ kind: 'object' })
  })

  test('the kind can change while the bucket is empty, and not afterwards', async () => {
    await running.put('/db/shop/kinds', { kind: 'object' })
    await running.put('/db/shop/kinds', { kind: 'kv' })
    await running.fetch('/db/shop/kinds/a', { method: 'PUT', body: 'bytes' })
    const refused = await running.fetch('/db/shop/kinds', jsonRequest('PUT', { kind: 'object' }))
    expect(await problemOf(refused)).toMatchObject({ status: 409, code: 'BUCKET_EXISTS' })
    expect(await (await running.fetch('/db/shop/kinds?settings')).json()).toEqual({ kind: 'kv' })
  })

  test('obey conditional headers, too', async () => {
    const refused = await running.fetch(
      '/db/shop/set',
      jsonRequest('PUT', { kind: 'object' }, { 'if-none-match': '*' }),
    )
    expect(refused.status).toBe(412)
  })

  test('no more buckets than allowed are created, by any route', async () => {
    expect((await running.fetch('/db/shop/fifth', jsonRequest('PUT', { kind: 'kv' }))).status).toBe(400)
    const answer = await running.fetch('/db/shop/fifth/a', jsonRequest('PUT', {}))
    expect(await problemOf(answer)).toMatchObject({ status: 400, code: 'LIMIT_EXCEEDED' })
  })
})

test.each([
  ['a schema', '{"kind":"object","schema":{"properties":{"n":{"const":9007199254740993}}}}'],
  [
    'a migration',
    '{"kind":"object","schema":{},"migration":{"steps":[{"default":"/n","value":12345678901234567890}]}}',
  ],
  ['a bound of counters', '{"kind":"counter","max":9007199254740991.4}'],
])('a number that would be rounded in %s is refused', async (_, body) => {
  for (const method of ['PUT', 'PATCH']) {
    const answer = await running.fetch('/db/shop/exact', { ...jsonRequest(method, null), body })
    expect(await problemOf(answer)).toMatchObject({ code: 'BODY_INVALID', detail: expect.stringContaining('rounded') })
  }
})

describe('settings that change at the wrong moment', () => {
  const encode = (value: unknown) => ({
    contentType: 'application/json',
    body: new TextEncoder().encode(JSON.stringify(value)),
  })

  test('apply to a write that was decided under the old ones', async () => {
    const change = { key: 'shop/race', ...encode({ kind: 'object', requireMatch: true }) }
    const other = await startServer({
      store: interruptedAt(createMemoryStore({ positionsAfter: 0 }), 'shop/race/a', change),
    })
    const answer = await other.fetch('/db/shop/race/a', jsonRequest('PUT', {}))
    expect(await problemOf(answer)).toMatchObject({ status: 428 })
    await other.stop()
  })

  test('are reverted if the bucket turns out not to be empty', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const first = await startServer({ store })
    await first.put('/db/shop/race', { kind: 'kv', lifetimeMs: 5000 })
    await first.stop()
    const other = await startServer({
      store: interruptedAt(store, 'shop/race', { key: 'shop/race/a', ...encode('bytes') }),
    })
    const answer = await other.fetch('/db/shop/race', jsonRequest('PUT', { kind: 'object' }))
    expect(await problemOf(answer)).toMatchObject({ status: 409, code: 'BUCKET_EXISTS' })
    expect(await (await other.fetch('/db/shop/race?settings')).json()).toEqual({ kind: 'kv', lifetimeMs: 5000 })
    await other.stop()
  })
})

test.each(['', '?limit=2', '?settings', '?schemas', '?sum', '?ids=1', '?where=%7B%22a%22%3A1%7D', '/1', '/1?at=1'])(
  'the answer that a bucket does not exist has the position of that state: /db/shop/absent%s',
  async query => {
    const answer = await running.fetch(`/db/shop/absent${query}`)
    expect(answer.status).toBe(404)
    const { position } = (await answer.json()) as { position?: number }
    expect([position, answer.headers.get('freshet-position')]).toEqual([expect.any(Number), `${position}`])
  },
)

describe('PATCH of a bucket', () => {
  let server: RunningServer
  const path = '/db/shop/patched'
  const patch = async (change: object) => (await server.fetch(path, jsonRequest('PATCH', change))).status
  const settings = async () => (await (await server.fetch(`${path}?settings`)).json()) as Record<string, unknown>
  const indexes = [{ name: 'by-n', fields: ['n'] }]
  const schema = { type: 'object', required: ['n'] }

  beforeAll(async () => {
    server = await startServer({ store: createMemoryStore() })
  })
  afterAll(() => server.stop())

  test('sets given members, keeps the others, and removes those that are null', async () => {
    expect(await patch({ kind: 'object', schema })).toBe(201)
    expect(await patch({ indexes })).toBe(200)
    expect(await patch({ lifetimeMs: 5000 })).toBe(200)
    expect(await settings()).toMatchObject({ kind: 'object', schema, lifetimeMs: 5000, indexes: [{ name: 'by-n' }] })
    expect(await patch({ schema: null, lifetimeMs: null })).toBe(200)
    const left = await settings()
    expect(left).toMatchObject({ kind: 'object', indexes: [{ name: 'by-n' }] })
    for (const name of ['schema', 'lifetimeMs']) expect(left).not.toHaveProperty(name)
  })

  test('a fixed lifetime and bounds for a learnt one replace each other', async () => {
    await patch({ kind: 'object', lifetimeMs: 5000 })
    expect(await patch({ learn: { minMs: 1000, maxMs: 9000 } })).toBe(200)
    expect(await settings()).not.toHaveProperty('lifetimeMs')
    expect(await patch({ lifetimeMs: 4000 })).toBe(200)
    expect(await settings()).not.toHaveProperty('learn')
  })

  test('of an absent bucket requires a kind, and invalid settings are refused', async () => {
    expect((await server.fetch('/db/shop/none', jsonRequest('PATCH', { lifetimeMs: 1 }))).status).toBe(400)
    expect(await patch({ colour: 'red' })).toBe(400)
    expect(await patch({ lifetimeMs: -1 })).toBe(400)
  })
})
