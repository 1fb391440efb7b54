import { createMemoryStore } from '@freshet/engines/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jsonRequest, problemOf, type RunningServer, startServer } from '../../testing/running-server.js'

let running: RunningServer

beforeAll(async () => {
  running = await startServer({ store: createMemoryStore(), settings: { commitWritesMax: 10, bodyBytesMax: 1000 } })
  await running.put('/db/shop/files', { kind: 'kv' })
  await running.put('/db/shop/strict', { kind: 'object', requireMatch: true })
})
afterAll(() => running.stop())

function commit(body: unknown): Promise<Response> {
  return running.fetch('/commit', jsonRequest('POST', body))
}

async function versionOf(path: string): Promise<number> {
  const answer = await running.fetch(path)
  return answer.status === 404 ? 0 : Number(answer.headers.get('etag')!.slice(1, -1))
}

describe('commits', () => {
  test('write everything at one position, in several buckets, and create the bucket that is missing', async () => {
    await running.put('/db/shop/products/old', {})
    const answer = await commit({
      writes: [
        { path: '/db/shop/new/a', value: { a: 1 } },
        { path: '/db/shop/files/b', contentType: 'text/plain', base64: 'aGVsbG8=' },
        { path: '/db/shop/products/old', delete: true },
      ],
    })
    const { position } = (await answer.json()) as { position: number }
    expect(answer.status).toBe(200)
    expect(answer.headers.get('freshet-position')).toBe(`${position}`)
    expect(await versionOf('/db/shop/new/a')).toBe(position)
    expect(await versionOf('/db/shop/files/b')).toBe(position)
    expect(await (await running.fetch('/db/shop/files/b')).text()).toBe('hello')
    expect(await versionOf('/db/shop/products/old')).toBe(0)
  })

  test('change nothing if something they read has changed, and name it with its current version', async () => {
    const { version } = await running.put('/db/shop/products/read', { n: 1 })
    const reads = [
      { path: '/db/shop/products/read', version },
      { path: '/db/shop/products/absent', version: 0 },
    ]
    const writes = [{ path: '/db/shop/products/written', value: {} }]
    expect((await commit({ reads, writes })).status).toBe(200)
    const changed = await running.put('/db/shop/products/read', { n: 2 })
    const before = await versionOf('/db/shop/products/written')
    expect(await problemOf(await commit({ reads, writes }))).toMatchObject({
      status: 409,
      code: 'COMMIT_CONFLICT',
      conflicts: [{ path: '/db/shop/products/read', version: changed.version }],
    })
    expect(await versionOf('/db/shop/products/written')).toBe(before)
  })

  test('patch the object that was read, and leave the rest of it byte for byte', async () => {
    const path = '/db/shop/products/patched'
    const body = '{ "big":12345678901234567890, "n":1,"deep":{"a":0.10000000000000000001,"b":2}}'
    const put = await running.fetch(path, { method: 'PUT', body, headers: { 'content-type': 'application/json' } })
    const { version } = (await put.json()) as { version: number }
    const writes = [{ path, patch: { n: 2, deep: { b: null } } }]
    expect((await commit({ reads: [{ path, version }], writes })).status).toBe(200)
    expect(await (await running.fetch(path)).text()).toBe(
      '{"big":12345678901234567890,"n":2,"deep":{"a":0.10000000000000000001}}',
    )
    expect(await problemOf(await commit({ reads: [{ path, version }], writes }))).toMatchObject({
      code: 'COMMIT_CONFLICT',
      conflicts: [{ path, version: await versionOf(path) }],
    })
    const absent = '/db/shop/products/patched-nothing'
    for (const reads of [[], [{ path: absent, version: 0 }]])
      expect(await problemOf(await commit({ reads, writes: [{ path: absent, patch: {} }] }))).toMatchObject({
        code: 'BODY_INVALID',
      })
    expect(
      await problemOf(await commit({ reads: [{ path: absent, version: 7 }], writes: [{ path: absent, patch: {} }] })),
    ).toMatchObject({
      code: 'COMMIT_CONFLICT',
      conflicts: [{ path: absent, version: 0 }],
    })
  })

  test('may consist of reads alone, and then show whether all of them held at one position', async () => {
    const { version } = await running.put('/db/shop/products/only', {})
    expect((await commit({ reads: [{ path: '/db/shop/products/only', version }], writes: [] })).status).toBe(200)
    expect((await commit({ reads: [{ path: '/db/shop/products/only', version: 0 }], writes: [] })).status).toBe(409)
  })

  test('keep numbers as they were sent', async () => {
    const body = '{"writes":[ {"path":"/db/shop/products/big", "value" : {"n": 12345678901234567890, "s": "}]\\""} } ]}'
    expect((await running.fetch('/commit', { ...jsonRequest('POST', null), body })).status).toBe(200)
    expect(await (await running.fetch('/db/shop/products/big')).text()).toBe(
      '{"n": 12345678901234567890, "s": "}]\\""}',
    )
  })

  test('lose no increment, however many run at once', async () => {
    await running.put('/db/shop/products/counter', { n: 0 })
    const increment = async (): Promise<void> => {
      const read = await running.fetch('/db/shop/products/counter')
      const { n } = (await read.json()) as { n: number }
      const version = Number(read.headers.get('etag')!.slice(1, -1))
      const path = '/db/shop/products/counter'
      const answer = await commit({ reads: [{ path, version }], writes: [{ path, value: { n: n + 1 } }] })
      if (answer.status === 409) return increment()
      expect(answer.status).toBe(200)
    }
    await Promise.all(Array.from({ length: 20 }, increment))
    expect(await (await running.fetch('/db/shop/products/counter')).json()).toEqual({ n: 20 })
  })

  test('that are refused can lease the objects that had changed, and receive their values', async () => {
    const path = '/db/shop/products/leased'
    const { version } = await running.put(path, { n: 1 })
    const refusal = await problemOf(
      await commit({
        reads: [
          { path, version: 0 },
          { path: '/db/shop/products/none', version: 0 },
        ],
        writes: [
          { path, value: {} },
          { path: '/db/shop/products/none', value: {} },
        ],
        lease: 60_000,
      }),
    )
    expect(refusal).toMatchObject({
      code: 'COMMIT_CONFLICT',
      lease: {
        ms: 1000,
        objects: [
          { path, version, value: { n: 1 } },
          { path: '/db/shop/products/none', version: 0 },
        ],
      },
    })
    const { id } = (refusal as unknown as { lease: { id: string } }).lease
    const other = running.put(path, { n: 3 })
    const own = await commit({ reads: [{ path, version }], writes: [{ path, value: { n: 2 } }], leaseId: id })
    expect(own.status).toBe(200)
    expect((await other).version).toBeGreaterThan(((await own.json()) as { position: number }).position)
  })

  test('do not receive values that re-encoding would change', async () => {
    const path = '/db/shop/products/precise'
    const body = '{"n":12345678901234567890}'
    await running.fetch(path, { ...jsonRequest('PUT', null), body })
    const refusal = await problemOf(await commit({ reads: [{ path, version: 0 }], writes: [], lease: true }))
    expect(refusal).toMatchObject({ code: 'COMMIT_CONFLICT', lease: { objects: [] } })
  })

  test.each([
    [
      'a write without a condition where one is required',
      { writes: [{ path: '/db/shop/strict/a', value: {} }] },
      'PRECONDITION_REQUIRED',
    ],
    ['a list in a bucket of objects', { writes: [{ path: '/db/shop/products/a', value: [] }] }, 'BODY_INVALID'],
    [
      'bytes in a bucket of objects',
      { writes: [{ path: '/db/shop/products/a', contentType: 'image/png', base64: '' }] },
      'CONTENT_TYPE_UNSUPPORTED',
    ],
    [
      'bytes in a bucket that does not exist',
      { writes: [{ path: '/db/shop/nothing/a', contentType: 'image/png', base64: '' }] },
      'CONTENT_TYPE_UNSUPPORTED',
    ],
    [
      'invalid base64',
      { writes: [{ path: '/db/shop/files/a', contentType: 'image/png', base64: 'a' }] },
      'BODY_INVALID',
    ],
    ['a bucket', { writes: [{ path: '/db/shop/products', value: {} }] }, 'BODY_INVALID'],
    ['a path that is not in canonical form', { writes: [{ path: '/db/shop/products/%61', value: {} }] }, 'URL_INVALID'],
    [
      'the same path twice',
      {
        writes: [
          { path: '/db/a/b/c', value: {} },
          { path: '/db/a/b/c', delete: true },
        ],
      },
      'BODY_INVALID',
    ],
    ['a negative version', { reads: [{ path: '/db/a/b/c', version: -1 }], writes: [] }, 'BODY_INVALID'],
    ['unknown members', { writes: [{ path: '/db/a/b/c', value: {}, ttl: 1 }] }, 'BODY_INVALID'],
    [
      'a lease whose length is not a number',
      { reads: [], writes: [{ path: '/db/a/b/c', value: {} }], lease: 'soon' },
      'BODY_INVALID',
    ],
    ['a lease id that is not text', { writes: [{ path: '/db/a/b/c', value: {} }], leaseId: 7 }, 'BODY_INVALID'],
    ['an empty lease id', { writes: [], lease: 1, leaseId: '' }, 'BODY_INVALID'],
    ['nothing to write', { writes: [{ path: '/db/a/b/c' }] }, 'BODY_INVALID'],
    ['a value that is too long', { writes: [{ path: '/db/a/b/c', value: { a: 'x'.repeat(1000) } }] }, 'BODY_TOO_LARGE'],
    [
      'too many writes',
      { writes: Array.from({ length: 11 }, (_, i) => ({ path: `/db/a/b/${i}`, value: {} })) },
      'LIMIT_EXCEEDED',
    ],
  ])('are refused with %s', async (_what, body, code) => {
    const before = await (await running.fetch('/ready')).json()
    expect(await problemOf(await commit(body))).toMatchObject({ code })
    expect(await (await running.fetch('/ready')).json()).toEqual(before)
  })
})

test('a list at a version that the log has not reached is refused, also without writes', async () => {
  const { position } = await running.put('/db/shop/ahead/1', {})
  const lists = (version: number) => [{ path: '/db/shop/ahead', version }]
  for (const writes of [[], [{ path: '/db/shop/ahead/2', value: {} }]]) {
    const answer = await commit({ lists: lists(position + 1_000_000), writes })
    expect(await problemOf(answer)).toMatchObject({ status: 400, code: 'BODY_INVALID' })
  }
  expect((await commit({ lists: lists(position), writes: [] })).status).toBe(200)
})

test('a patch cannot make an object with too many members for PUT', async () => {
  const server = await startServer({ store: createMemoryStore(), settings: { jsonMembersMax: 20 } })
  const path = '/db/shop/products/grown'
  const { version } = await server.put(path, { many: Array(15).fill(0) })
  const commit = { reads: [{ path, version }], writes: [{ path, patch: { more: Array(5).fill(0) } }] }
  expect(await problemOf(await server.fetch('/commit', jsonRequest('POST', commit)))).toMatchObject({
    code: 'BODY_INVALID',
    detail: expect.stringContaining('more than 20 members'),
  })
  await server.stop()
})
