/** Objects, over every kind of store that a server may have: in memory, on disk, and one that answers later. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@freshet/core/store'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answeringLater } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, startServer } from '../../testing/running-server.js'

const folder = mkdtempSync(join(tmpdir(), 'freshet-server-'))
afterAll(() => rmSync(folder, { recursive: true }))

const stores: readonly { readonly name: string; readonly open: () => Promise<Store> }[] = [
  { name: 'memory', open: async () => createMemoryStore() },
  { name: 'later', open: async () => answeringLater(createMemoryStore()) },
  { name: 'embedded', open: () => openEmbeddedStore({ path: join(folder, 'data') }) },
]

const PATCH = { 'content-type': 'application/merge-patch+json' }

describe.each(stores)('objects in a store: $name', ({ open }) => {
  let store: Store
  let running: RunningServer

  beforeAll(async () => {
    store = await open()
    running = await startServer({ store, settings: { positionWaitMsMax: 50 } })
  })
  afterAll(async () => {
    await running.stop()
    await store.close()
  })

  test('an object is read back byte for byte, with its version', async () => {
    const body = '{ "n": 12345678901234567890, "s": "é\\u00e9",\n"a":[1.0] }'
    const put = await running.fetch('/db/shop/products/bytes', {
      method: 'PUT',
      body,
      headers: { 'content-type': 'application/json; charset=utf-8' },
    })
    const { version, position } = (await put.json()) as { version: number; position: number }
    expect(put.status).toBe(201)
    expect(put.headers.get('location')).toBe('/db/shop/products/bytes')
    expect(put.headers.get('etag')).toBe(`"${version}"`)
    expect(put.headers.get('freshet-position')).toBe(`${position}`)
    expect(put.headers.get('cache-control')).toBe('no-store')
    const read = await running.fetch('/db/shop/products/bytes')
    expect(await read.text()).toBe(body)
    expect(read.headers.get('etag')).toBe(`"${version}"`)
    expect(Number(read.headers.get('freshet-position'))).toBeGreaterThanOrEqual(position)
    expect(read.headers.get('cache-control')).toBe('public, max-age=60, must-revalidate, stale-while-revalidate=0')
    expect(read.headers.get('date')).toBeTruthy()
    expect(read.headers.get('x-request-id')).toBeNull()
  })

  test('an id that needs encoding has one path', async () => {
    const path = `/db/shop/products/${encodeURIComponent('a b&ü%')}`
    await running.put(path, { odd: true })
    expect(await (await running.fetch(path)).json()).toEqual({ odd: true })
    expect((await running.fetch('/db/shop/products/a%20b&%C3%BC%25')).headers.get('location')).toBe(path)
  })

  test('HEAD answers as GET does, without the body', async () => {
    await running.put('/db/shop/products/head', { a: 1 })
    const [get, head] = await Promise.all([
      running.fetch('/db/shop/products/head'),
      running.fetch('/db/shop/products/head', { method: 'HEAD' }),
    ])
    expect(await head.text()).toBe('')
    for (const name of ['etag', 'content-length', 'content-type', 'cache-control']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    }
  })

  test('a reader that has the current version gets 304', async () => {
    const { version } = await running.put('/db/shop/products/known', { a: 1 })
    const ask = (tag: string) => running.fetch('/db/shop/products/known', { headers: { 'if-none-match': tag } })
    for (const tag of [`"${version}"`, `W/"${version}"`, `"x", "${version}"`, '*', `"${version}-gzip"`]) {
      const answer = await ask(tag)
      expect([tag, answer.status]).toEqual([tag, 304])
      expect(answer.headers.get('etag')).toMatch(new RegExp(`^"${version}`))
      expect(answer.headers.get('cache-control')).toContain('max-age=60')
    }
    for (const tag of [`"${version + 1}"`, '"x"', `${version}`]) expect((await ask(tag)).status).toBe(200)
  })

  test('a write names the version that it replaces, and is refused if that has changed', async () => {
    const path = '/db/shop/products/conditional'
    const create = await running.fetch(path, jsonRequest('PUT', { n: 0 }, { 'if-none-match': '*' }))
    expect(create.status).toBe(201)
    const first = create.headers.get('etag')!
    expect((await running.fetch(path, jsonRequest('PUT', { n: 1 }, { 'if-none-match': '*' }))).status).toBe(412)
    expect((await running.fetch(path, jsonRequest('PUT', { n: 1 }, { 'if-match': first }))).status).toBe(200)
    const refused = await running.fetch(path, jsonRequest('PUT', { n: 2 }, { 'if-match': first }))
    const current = Number((await running.fetch(path)).headers.get('etag')!.slice(1, -1))
    expect(await problemOf(refused)).toMatchObject({ status: 412, code: 'VERSION_CONFLICT', version: current })
    expect((await running.fetch(path, jsonRequest('PUT', { n: 3 }, { 'if-match': `"1", "${current}"` }))).status).toBe(
      200,
    )
    expect((await running.fetch(path, { method: 'DELETE', headers: { 'if-match': first } })).status).toBe(412)
    expect((await running.fetch(path, { method: 'DELETE', headers: { 'if-match': '*' } })).status).toBe(200)
    expect((await running.fetch(path, jsonRequest('PUT', {}, { 'if-match': '*' }))).status).toBe(412)
    expect((await running.fetch(path, { headers: { 'if-match': '"1"' } })).status).toBe(404)
  })

  test('an object can be deleted once, and its successor has a higher version', async () => {
    const path = '/db/shop/products/deleted'
    const { version } = await running.put(path, { a: 1 })
    const deleted = await running.fetch(path, { method: 'DELETE' })
    expect(deleted.status).toBe(200)
    expect(((await deleted.json()) as { version: number }).version).toBeGreaterThan(version)
    const missing = await running.fetch(path)
    expect(await problemOf(missing)).toMatchObject({ status: 404, code: 'OBJECT_NOT_FOUND' })
    expect(missing.headers.get('freshet-position')).toBeTruthy()
    expect(missing.headers.get('cache-control')).toBe('no-store')
    expect((await running.fetch(path, { method: 'DELETE' })).status).toBe(404)
    expect((await running.put(path, {})).version).toBeGreaterThan(version + 1)
  })

  test('a patch changes the members it names, and leaves the rest as it was sent', async () => {
    const path = '/db/shop/products/patched'
    await running.fetch(path, {
      ...jsonRequest('PUT', null),
      body: '{"big":12345678901234567890,"a":{"b":1,"c":2},"gone":1}',
    })
    const patched = await running.fetch(path, {
      method: 'PATCH',
      headers: PATCH,
      body: '{"a":{"c":null,"d":{"e":null}},"gone":null,"__proto__":{"x":1}}',
    })
    expect(patched.status).toBe(200)
    expect(await (await running.fetch(path)).text()).toBe(
      '{"big":12345678901234567890,"a":{"b":1,"d":{}},"__proto__":{"x":1}}',
    )
    expect(
      (await running.fetch('/db/shop/products/never', { method: 'PATCH', headers: PATCH, body: '{}' })).status,
    ).toBe(404)
  })

  test('no patch is lost when many arrive at once', async () => {
    const path = '/db/shop/products/contended'
    await running.put(path, {})
    const patches = Array.from({ length: 24 }, (_, i) =>
      running.fetch(path, { method: 'PATCH', headers: PATCH, body: `{"k${i}":${i}}` }),
    )
    expect((await Promise.all(patches)).map(answer => answer.status)).toEqual(patches.map(() => 200))
    expect(Object.keys((await (await running.fetch(path)).json()) as object)).toHaveLength(24)
  })

  test('if many clients create the same object at once, exactly one succeeds', async () => {
    const requests = Array.from({ length: 16 }, (_, i) =>
      running.fetch('/db/race/first/one', jsonRequest('PUT', { i }, { 'if-none-match': '*' })),
    )
    const statuses = (await Promise.all(requests)).map(answer => answer.status).sort()
    expect(statuses).toEqual([201, ...Array.from({ length: 15 }, () => 412)])
  })

  test('the server makes ids that sort by time', async () => {
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      const answer = await running.fetch('/db/shop/made', jsonRequest('POST', { i }))
      expect(answer.status).toBe(201)
      const { id } = (await answer.json()) as { id: string }
      expect(answer.headers.get('location')).toBe(`/db/shop/made/${id}`)
      ids.push(id)
    }
    expect(ids).toEqual([...ids].sort())
    expect(new Set(ids).size).toBe(5)
    expect(ids[0]).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/)
  })

  test('?at= is answered only from a state that includes it', async () => {
    const { position } = await running.put('/db/shop/products/at', { a: 1 })
    const reached = await running.fetch(`/db/shop/products/at?at=${position}`)
    expect(reached.status).toBe(200)
    expect(Number(reached.headers.get('freshet-position'))).toBeGreaterThanOrEqual(position)
    const ahead = await running.fetch(`/db/shop/products/at?at=${position + 1000}`)
    expect(await problemOf(ahead)).toMatchObject({ status: 503, code: 'POSITION_NOT_REACHED' })
    expect(ahead.headers.get('retry-after')).toBe('1')
  })

  test('a kv bucket keeps any bytes with their type, and no browser runs them', async () => {
    expect((await running.fetch('/db/shop/files', jsonRequest('PUT', { kind: 'kv', lifetimeMs: 5000 }))).status).toBe(
      201,
    )
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    const types = {
      'a.png': 'image/png',
      'b.html': 'text/html; charset=utf-8',
      'c.svg': 'image/svg+xml',
      'd.js': 'text/javascript',
    }
    for (const [id, type] of Object.entries(types)) {
      expect(
        (await running.fetch(`/db/shop/files/${id}`, { method: 'PUT', body: bytes, headers: { 'content-type': type } }))
          .status,
      ).toBe(201)
      const read = await running.fetch(`/db/shop/files/${id}`)
      expect(new Uint8Array(await read.arrayBuffer())).toEqual(bytes)
      expect(read.headers.get('content-type')).toBe(type)
      expect(read.headers.get('cache-control')).toContain('max-age=5,')
      const isHarmless = id === 'a.png'
      expect(read.headers.get('content-security-policy')?.includes('sandbox') ?? false).toBe(!isHarmless)
      expect(read.headers.get('content-disposition')).toBe(isHarmless ? null : 'attachment')
    }
    const patch = await running.fetch('/db/shop/files/a.png', { method: 'PATCH', headers: PATCH, body: '{}' })
    expect(patch.status).toBe(415)
  })

  test('large bodies are compressed for clients that accept it, each form under its own ETag', async () => {
    const value = { text: 'freshet '.repeat(1000) }
    const { version } = await running.put('/db/shop/products/large', value)
    for (const [accept, coding] of [
      ['br, gzip', 'br'],
      ['gzip;q=1, br;q=0.5', 'gzip'],
      ['identity', undefined],
      ['br;q=0', undefined],
    ] as const) {
      const answer = await running.fetch('/db/shop/products/large', { headers: { 'accept-encoding': accept } })
      expect(answer.headers.get('content-encoding')).toBe(coding ?? null)
      expect(answer.headers.get('etag')).toBe(coding ? `"${version}-${coding}"` : `"${version}"`)
      expect(answer.headers.get('vary')).toBe('Accept-Encoding')
      expect(await answer.json()).toEqual(value)
    }
    const small = await running.fetch('/db/shop/products/bytes', { headers: { 'accept-encoding': 'br' } })
    expect([small.headers.get('content-encoding'), small.headers.get('vary')]).toEqual([null, null])
    const known = await running.fetch('/db/shop/products/large', {
      headers: { 'if-none-match': `"${version}-br"`, 'accept-encoding': 'br' },
    })
    expect([known.status, known.headers.get('etag')]).toEqual([304, `"${version}-br"`])
    expect(known.headers.get('vary')).toBe('Accept-Encoding')
  })

  test('concurrent reads never show half of a write, or a state older than an acknowledged write', async () => {
    const path = '/db/shop/products/busy'
    await running.put(path, { n: 0, copy: 0 })
    let acknowledged = 0
    const write = async () => {
      for (let n = 1; n <= 40; n++) {
        await running.put(path, { n, copy: n })
        acknowledged = n
      }
    }
    const read = async () => {
      while (acknowledged < 40) {
        const before = acknowledged
        const { n, copy } = (await (await running.fetch(path)).json()) as { n: number; copy: number }
        expect(copy).toBe(n)
        expect(n).toBeGreaterThanOrEqual(before)
      }
    }
    await Promise.all([write(), read(), read(), read()])
  })
})
