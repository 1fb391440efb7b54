/** Callers who see only some rows of a bucket: what they get, what it costs, and that it reveals nothing about the other rows. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { UNINDEXED_ROWS_MAX } from '../api/lists/visible-rows.js'
import { DEFAULT_SETTINGS } from '../settings/server-settings.js'
import { jsonRequest, problemOf, type RunningServer, startServer } from '../testing/running-server.js'
import { bearer, TOKENS } from './under-test/bearer.js'

const RULES = `
admin if claim.role == "admin"
bucket shop/orders
  list, create if authenticated
  read, update, delete if object.owner == claim.sub
bucket shop/posts
  list
  read if object.published == true or object.author == claim.sub
bucket shop/files
  list if authenticated
  read if id startsWith claim.sub
bucket shop/votes
  list if authenticated
  read if id startsWith claim.sub
bucket shop/notes
  list if authenticated
  read if object.readers contains claim.sub
bucket shop/secrets
  list
  read, update, delete if not (object.secret == true)
bucket shop/open
  list, read, create, update, delete
`

type Headers = Record<string, string>
interface Page {
  readonly items: readonly { readonly id: string; readonly version: number; readonly value: Record<string, unknown> }[]
  readonly next?: string
  readonly version?: number
  readonly dependsOn?: readonly string[]
}

let running: RunningServer
let touched: { rows: number }
let [ann, bob, admin]: [Headers, Headers, Headers] = [{}, {}, {}]

/** A store that counts the rows that it reads. */
function counting(store: Store, count: { rows: number }): Store {
  const counted: Pick<Store, 'scan' | 'query'> = {
    scan: async (bucket, range) => {
      const page = await store.scan(bucket, range)
      count.rows += page.entries.length
      return page
    },
    query: async (bucket, query) => {
      const page = await store.query(bucket, query)
      count.rows += page.examined
      return page
    },
  }
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'scan' || name === 'query') return counted[name]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

beforeEach(async () => {
  touched = { rows: 0 }
  running = await startServer({
    store: counting(createMemoryStore({ positionsAfter: 0 }), touched),
    access: { rules: RULES, tokens: TOKENS },
  })
  ;[ann, bob, admin] = await Promise.all([
    bearer({ sub: 'ann' }),
    bearer({ sub: 'bob' }),
    bearer({ sub: 'root', role: 'admin' }),
  ])
})
afterEach(() => running.stop())

const get = (path: string, headers: Headers = {}) => running.fetch(path, { headers })
const pageOf = async (path: string, headers: Headers = {}) => (await (await get(path, headers)).json()) as Page
const spelled = (where: unknown) => encodeURIComponent(JSON.stringify(where))
const declare = (bucket: string, ...indexes: readonly (readonly string[])[]) =>
  running.put(
    `/db/shop/${bucket}`,
    { kind: 'object', indexes: indexes.map(fields => ({ name: `by-${fields.join('-')}`, fields })) },
    admin,
  )
const commit = (body: unknown, headers: Headers) => running.fetch('/commit', jsonRequest('POST', body, headers))

async function fill(bucket: string, values: Readonly<Record<string, object>>): Promise<void> {
  const writes = Object.entries(values).map(([id, value]) => ({ path: `/db/shop/${bucket}/${id}`, value }))
  for (let i = 0; i < writes.length; i += 500) {
    const answer = await commit({ writes: writes.slice(i, i + 500) }, admin)
    if (!answer.ok) throw new Error(await answer.text())
  }
}

const rowsOf = (count: number, prefix: string, value: object) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${`${i}`.padStart(5, '0')}`, value]))

describe('a query of a caller who sees only some rows', () => {
  test('has no version that a hidden row with the requested value could change', async () => {
    await declare('orders', ['owner'], ['secret'])
    await fill('orders', { a1: { owner: 'ann', secret: 1 } })
    const ask = async () => {
      const answer = await get(`/db/shop/orders?where=${spelled({ secret: 7 })}`, ann)
      const { 'freshet-position': _, 'x-request-id': __, date: ___, ...headers } = Object.fromEntries(answer.headers)
      return { headers, body: await answer.text() }
    }
    const before = await ask()
    await fill('orders', { b1: { owner: 'bob', secret: 7 } })
    expect(await ask()).toEqual(before)
    expect(before.headers).toMatchObject({ 'cache-control': 'private, no-store' })
  })

  test('has the version of its own rows, so a transaction can depend on it', async () => {
    await declare('orders', ['owner'])
    await fill('orders', { a1: { owner: 'ann' }, b1: { owner: 'bob' } })
    const page = await pageOf(`/db/shop/orders?where=${spelled({})}`, ann)
    expect(page).toMatchObject({ items: [{ id: 'a1' }], dependsOn: ['shop/orders?owner=["ann"]'] })
    const rely = { lists: [{ path: '/db/shop/orders', version: page.version, tags: page.dependsOn }], writes: [] }
    await fill('orders', { b2: { owner: 'bob' } })
    expect((await commit(rely, ann)).status).toBe(200)
    await fill('orders', { a2: { owner: 'ann' } })
    const refused = await commit(rely, ann)
    expect(refused.status).toBe(409)
    const bucketVersion = (await pageOf(`/db/shop/orders?where=${spelled({})}`, admin)).version
    await fill('orders', { b3: { owner: 'bob' } })
    expect((await problemOf(await commit(rely, ann))).conflicts).not.toContainEqual({
      path: '/db/shop/orders',
      version: bucketVersion,
    })
  })

  test('merges the rows of several branches of the rules, each row once, in the requested order', async () => {
    await declare('posts', ['published'], ['author'])
    await fill('posts', {
      1: { author: 'ann', published: true, n: 3 },
      2: { author: 'ann', published: false, n: 1 },
      3: { author: 'bob', published: true, n: 2 },
      4: { author: 'bob', published: false, n: 0 },
    })
    const seen: unknown[] = []
    for (let after = ''; ; ) {
      const page = await pageOf(`/db/shop/posts?${after}limit=1&sort=-n`, ann)
      seen.push(...page.items.map(({ id }) => id))
      if (page.next === undefined) break
      after = `after=${page.next}&`
    }
    expect(seen).toEqual(['1', '3', '2'])
    expect((await pageOf('/db/shop/posts?sort=n')).items.map(({ id }) => id)).toEqual(['3', '1'])
  })

  test('cannot leave the visible rows by its own filter', async () => {
    await declare('orders', ['owner'], ['secret'], ['secret', 'n'])
    await fill('orders', {
      a1: { owner: 'ann', secret: 1, n: 1 },
      ...rowsOf(300, 'b', { owner: 'bob', secret: 1, n: 1 }),
    })
    for (const where of [{ secret: 1 }, { n: 1, secret: 1 }, { owner: 'bob' }, { $id: { $prefix: 'b' } }]) {
      touched.rows = 0
      await pageOf(`/db/shop/orders?where=${spelled(where)}`, ann)
      expect(touched.rows).toBeLessThanOrEqual(1)
    }
  })
})

describe('a list of a caller who sees only some rows', () => {
  test('touches only rows that the caller sees', async () => {
    await declare('orders', ['owner'])
    await fill('orders', { ...rowsOf(3000, 'b', { owner: 'bob' }), ...rowsOf(5, 'z', { owner: 'ann' }) })
    touched.rows = 0
    expect((await pageOf('/db/shop/orders?limit=3', ann)).items).toHaveLength(3)
    expect(touched.rows).toBeLessThanOrEqual(4)
    touched.rows = 0
    expect((await pageOf('/db/shop/orders?prefix=b', ann)).items).toEqual([])
    expect((await pageOf('/db/shop/orders?from=z00003', ann)).items).toHaveLength(2)
    expect(touched.rows).toBeLessThanOrEqual(2)
  })

  test('by ids touches only the range of those ids, in buckets of any kind', async () => {
    await fill('files', { ...rowsOf(2000, 'bob-', {}), ...rowsOf(250, 'ann-', {}) })
    touched.rows = 0
    expect((await pageOf('/db/shop/files?limit=2', ann)).items.map(({ id }) => id)).toEqual(['ann-00000', 'ann-00001'])
    expect((await pageOf('/db/shop/files?from=ann-00248', ann)).items).toHaveLength(2)
    expect((await pageOf('/db/shop/files?prefix=bob', ann)).items).toEqual([])
    expect(touched.rows).toBeLessThanOrEqual(4)
    expect((await pageOf('/db/shop/files?limit=1000', ann)).items).toHaveLength(250)
  })

  test('has no version, and nothing else that hidden rows could change', async () => {
    await declare('orders', ['owner'])
    await fill('orders', { a1: { owner: 'ann' } })
    const answer = await get('/db/shop/orders', ann)
    expect([answer.headers.get('etag'), await answer.json()]).toEqual([null, { items: [expect.anything()] }])
  })

  test('that no index can serve is answered while the bucket is small, and otherwise always refused', async () => {
    await fill('orders', { a1: { owner: 'ann' }, ...rowsOf(UNINDEXED_ROWS_MAX - 1, 'b', { owner: 'bob' }) })
    expect((await pageOf('/db/shop/orders', ann)).items.map(({ id }) => id)).toEqual(['a1'])
    await fill('orders', { c1: { owner: 'bob' } })
    for (const query of ['limit=1', 'prefix=a', `where=${spelled({ $id: 'a1' })}`]) {
      const refused = await get(`/db/shop/orders?${query}`, ann)
      expect(refused.status).toBe(422)
      expect(await problemOf(refused)).toMatchObject({
        code: 'INDEX_REQUIRED',
        index: { name: 'by-owner', fields: ['owner'] },
      })
    }
    expect((await get('/db/shop/orders?limit=1', admin)).status).toBe(200)
    await declare('orders', ['owner'])
    expect((await pageOf('/db/shop/orders?limit=1', ann)).items.map(({ id }) => id)).toEqual(['a1'])
  })

  test('under a rule that no index can serve is refused with that reason', async () => {
    await fill('notes', { 1: { readers: ['ann'] }, ...rowsOf(UNINDEXED_ROWS_MAX, 'b', { readers: [] }) })
    expect(await problemOf(await get('/db/shop/notes', ann))).toMatchObject({
      code: 'INDEX_REQUIRED',
      detail: expect.stringContaining('No index can find them'),
    })
  })
})

describe('a cursor', () => {
  test('works for no other caller and no other query, and cannot be forged', async () => {
    await declare('posts', ['published'], ['author'])
    await fill('posts', rowsOf(5, 'p', { published: true, author: 'x', n: 1 }))
    const { next = '' } = await pageOf('/db/shop/posts?limit=2', ann)
    const { next: ofQuery = '' } = await pageOf('/db/shop/posts?limit=2&sort=n', ann)
    expect(next).not.toContain('p0000')
    const statusOf = async (query: string, who: Headers) => (await get(`/db/shop/posts?${query}`, who)).status
    expect(await statusOf(`after=${next}&limit=2`, ann)).toBe(200)
    expect(await statusOf(`after=${next}&limit=1`, ann)).toBe(200)
    for (const [query, who] of [
      [`after=${next}&limit=2`, bob],
      [`after=${next}&limit=2`, {}],
      [`after=${next}&prefix=p`, ann],
      [`after=${next}&sort=n`, ann],
      [`after=${ofQuery}&limit=2`, ann],
      [`after=${ofQuery}&sort=-n`, ann],
      ['after=p00001', ann],
      [`after=${next.slice(0, -2)}AA`, ann],
    ] as const) {
      const refused = await get(`/db/shop/posts?${query}`, who)
      expect([query, refused.status, (await problemOf(refused)).code]).toEqual([query, 400, 'PARAMETER_INVALID'])
    }
  })
})

describe('a commit of a caller who sees only some rows', () => {
  test('cannot ask whether a range with hidden ids has changed', async () => {
    await fill('orders', { a1: { owner: 'ann' }, b1: { owner: 'bob' } })
    const version = 1
    for (const list of [{ prefix: 'b' }, {}, { tags: ['shop/orders?owner=["bob"]'] }, { from: 'a', to: 'c' }]) {
      const refused = await commit({ lists: [{ path: '/db/shop/orders', version, ...list }], writes: [] }, ann)
      expect([list, refused.status]).toEqual([list, 403])
      expect((await problemOf(refused)).detail).toContain('sees only some')
    }
  })

  test('can ask whether a range has changed that they see completely', async () => {
    await fill('files', { 'ann-1': {}, 'bob-1': {} })
    const { position } = (await (await commit({ writes: [{ path: '/db/shop/open/1', value: {} }] }, ann)).json()) as {
      position: number
    }
    const rely = { lists: [{ path: '/db/shop/files', version: position, prefix: 'ann-' }], writes: [] }
    await fill('files', { 'bob-2': {} })
    expect((await commit(rely, ann)).status).toBe(200)
    await fill('files', { 'ann-2': {} })
    expect((await commit(rely, ann)).status).toBe(409)
    expect((await commit(rely, bob)).status).toBe(403)
  })

  test('treats an object that is hidden from the caller as absent', async () => {
    const relying = (id: string, version: number) =>
      commit({ reads: [{ path: `/db/shop/secrets/${id}`, version }], writes: [] }, ann)
    await fill('secrets', { 1: { secret: true }, 2: {} })
    for (const id of ['1', 'absent']) {
      expect([id, (await relying(id, 0)).status]).toEqual([id, 200])
      const refused = await relying(id, 7)
      expect([id, refused.status]).toEqual([id, 409])
      expect((await problemOf(refused)).conflicts).toEqual([{ path: `/db/shop/secrets/${id}`, version: 0 }])
    }
    expect((await relying('2', 0)).status).toBe(409)
  })

  test('cannot find the version of a hidden object with a patch that makes it too large', async () => {
    const path = '/db/shop/secrets/1'
    const { version } = await running.put(path, { secret: true, text: 'x'.repeat(1000) }, admin)
    const patch = { more: 'x'.repeat(DEFAULT_SETTINGS.bodyBytesMax - 500) }
    const answers = await Promise.all(
      [version, version - 1].map(each => commit({ reads: [{ path, version: each }], writes: [{ path, patch }] }, ann)),
    )
    expect(answers.map(({ status }) => status)).toEqual([409, 409])
  })

  test('cannot tell a hidden object from an absent one by changing or deleting it', async () => {
    await fill('secrets', { 1: { secret: true } })
    await fill('orders', { b1: { owner: 'bob' } })
    const patch = { 'content-type': 'application/merge-patch+json' }
    for (const [hidden, absent] of [
      ['/db/shop/secrets/1', '/db/shop/secrets/2'],
      ['/db/shop/orders/b1', '/db/shop/orders/b2'],
    ] as const) {
      for (const init of [
        { method: 'DELETE', headers: ann },
        { method: 'DELETE', headers: { ...ann, 'if-match': '"1"' } },
        { method: 'DELETE', headers: { ...ann, 'if-none-match': '*' } },
        { method: 'PATCH', headers: { ...ann, ...patch }, body: '{"n":1}' },
        { method: 'PATCH', headers: { ...ann, ...patch, 'if-match': '*' }, body: '{"n":1}' },
        { ...jsonRequest('PUT', {}, { ...ann, 'if-match': '"1"' }) },
      ]) {
        const problems = await Promise.all(
          [hidden, absent].map(async path => {
            const answer = await running.fetch(path, init)
            const { requestId: _, position: __, ...problem } = await problemOf(answer)
            return [answer.status, JSON.stringify(problem).replaceAll(path, 'PATH')]
          }),
        )
        expect([init.method, hidden, init.headers, problems[0]]).toEqual([
          init.method,
          hidden,
          init.headers,
          problems[1],
        ])
      }
    }
  })

  test('cannot refer to an object that is hidden from the caller', async () => {
    const reference = { 'x-reference': { bucket: 'shop/orders', check: true } }
    const schema = { type: 'object', properties: { order: reference } }
    await running.put('/db/shop/open', { kind: 'object', schema }, admin)
    await fill('orders', { a1: { owner: 'ann' }, b1: { owner: 'bob' } })
    const refer = (order: string, id: string) =>
      running.fetch(`/db/shop/open/${id}`, jsonRequest('PUT', { order }, ann))
    expect((await refer('a1', '1')).status).toBe(201)
    const [hidden, absent] = [await refer('b1', '2'), await refer('b2', '2')]
    expect([hidden.status, absent.status]).toEqual([422, 422])
    const bodyOf = async (answer: Response) => ({ ...(await problemOf(answer)), requestId: '' })
    expect(JSON.stringify(await bodyOf(hidden)).replaceAll('b1', 'b2')).toBe(JSON.stringify(await bodyOf(absent)))
  })
})

describe('hidden rows are not revealed by', () => {
  test('sums and tops of counters, or their ETags', async () => {
    await running.put('/db/shop/votes', { kind: 'counter' }, admin)
    const set = (id: string, value: number) => running.put(`/db/shop/votes/${id}`, value, admin)
    await set('ann-1', 2)
    await set('ann-2', 3)
    const read = async () => {
      const answers = await Promise.all(['sum', 'top=5'].map(query => get(`/db/shop/votes?${query}`, ann)))
      return Promise.all(answers.map(async answer => [answer.headers.get('etag'), await answer.text()]))
    }
    const before = await read()
    await set('bob-1', 100)
    expect(await read()).toEqual(before)
    expect(before).toEqual([
      [null, '{"sum":5,"count":2}\n'],
      [null, '{"items":[{"id":"ann-2","value":3},{"id":"ann-1","value":2}]}\n'],
    ])
  })

  test('the progress of indexes in settings', async () => {
    await fill('orders', rowsOf(10, 'b', { owner: 'bob' }))
    await declare('orders', ['owner'])
    const { indexes } = (await (await get('/db/shop/orders?settings', ann)).json()) as { indexes: unknown }
    expect(indexes).toEqual([{ name: 'by-owner', fields: ['owner'], isReady: true }])
    expect(await (await get('/db/shop/orders?settings', admin)).json()).toMatchObject({ indexes: [{ total: 10 }] })
  })

  test('the sketch, by tags of the fields of hidden rows', async () => {
    await declare('posts', ['published'], ['author'])
    await declare('open', ['author'])
    const newsLength = async () => (await (await get('/coherence?after=1')).text()).length
    const grownBy = async (bucket: string) => {
      await fill(bucket, { 1: { author: 'eve' } })
      const before = await newsLength()
      for (let i = 0; i < 20; i++) await fill(bucket, { 1: { author: `author ${i}` } })
      return (await newsLength()) - before
    }
    // The path and the bucket have changed in any case; the tags have another value each time.
    expect(await grownBy('posts')).toBeLessThan(20)
    expect(await grownBy('open')).toBeGreaterThan(20 * 4)
  })
})
