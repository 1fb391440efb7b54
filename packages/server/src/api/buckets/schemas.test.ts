import { createMemoryStore } from '@freshet/engines/memory'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { interruptedAt, withMethods } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, startServer } from '../../testing/running-server.js'

const PRODUCT = {
  type: 'object',
  required: ['name', 'price'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1 },
    price: { type: 'number', minimum: 0 },
    tags: { type: 'array', items: { enum: ['new', 'sale'] } },
  },
}
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }

let running: RunningServer
beforeAll(async () => {
  running = await startServer({ store: createMemoryStore() })
  await running.put('/db/shop/products', { kind: 'object', schema: PRODUCT })
})
afterAll(() => running.stop())

function send(method: string, path: string, value: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return running.fetch(path, jsonRequest(method, value, headers))
}

async function settingsOf(path: string): Promise<Record<string, unknown>> {
  return (await (await running.fetch(`${path}?settings`)).json()) as Record<string, unknown>
}

describe('a write that violates the schema', () => {
  test('is refused by every route, with each place and what was expected there, and changes nothing', async () => {
    await running.put('/db/shop/products/kept', { name: 'Tea', price: 1 })
    const bad = { name: '', price: '1', tags: ['new', 'old'], colour: 'red' }
    const violations = expect.arrayContaining([
      { path: expect.any(String), at: '/name', expected: expect.stringContaining('fewer than 1') },
      { path: expect.any(String), at: '/price', expected: 'number' },
      { path: expect.any(String), at: '/tags/1', expected: 'one of ["new","sale"]' },
      { path: expect.any(String), at: '/colour', expected: 'nothing: there is no such field' },
    ])
    const refused = { status: 422, code: 'SCHEMA_VIOLATED', schemaVersion: 1, violations }
    expect(await problemOf(await send('PUT', '/db/shop/products/kept', bad))).toMatchObject(refused)
    expect(await problemOf(await send('POST', '/db/shop/products', bad))).toMatchObject(refused)
    expect(await problemOf(await send('PATCH', '/db/shop/products/kept', bad, MERGE_PATCH))).toMatchObject(refused)
    const writes = [
      { path: '/db/shop/products/fine', value: { name: 'Mug', price: 2 } },
      { path: '/db/shop/products/kept', value: bad },
    ]
    expect(await problemOf(await send('POST', '/commit', { writes }))).toMatchObject(refused)
    expect(await (await running.fetch('/db/shop/products/kept')).json()).toEqual({ name: 'Tea', price: 1 })
    expect((await running.fetch('/db/shop/products/fine')).status).toBe(404)
  })

  test('reports at most 20 places', async () => {
    const tags = Array.from({ length: 1000 }, () => 'old')
    const problem = await problemOf(await send('PUT', '/db/shop/products/long', { name: 'Tea', price: 1, tags }))
    expect(problem.violations).toHaveLength(20)
  })

  test('reports only the first place if the object is large', async () => {
    const tags = Array.from({ length: 100_000 }, () => 'old')
    const problem = await problemOf(await send('PUT', '/db/shop/products/long', { name: 'Tea', price: 1, tags }))
    expect(problem.violations).toEqual([
      { path: '/db/shop/products/long', at: '/tags/0', expected: expect.any(String) },
    ])
  })

  test('gets the same answer for PUT, PATCH and commit', async () => {
    const field = fc.option(fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer()), {
      nil: undefined,
    })
    const objects = fc.record(
      { name: field, price: field, tags: fc.array(fc.constantFrom('new', 'sale', 'old')), other: fc.boolean() },
      { requiredKeys: [] },
    )
    const isFine = ({ name, price, tags, other }: Record<string, unknown>) =>
      typeof name === 'string' &&
      name !== '' &&
      typeof price === 'number' &&
      price >= 0 &&
      !((tags ?? []) as string[]).includes('old') &&
      other === undefined
    let fine = 0
    await fc.assert(
      fc.asyncProperty(objects, async object => {
        // The patch removes every field that the object does not have, so that the result equals the object.
        const patch = { name: null, price: null, tags: null, ...JSON.parse(JSON.stringify(object)) }
        await running.put('/db/shop/products/patched', { name: 'Tea', price: 1 })
        const answers = await Promise.all([
          send('PUT', '/db/shop/products/put', object),
          send('POST', '/db/shop/products', object),
          send('PATCH', '/db/shop/products/patched', patch, MERGE_PATCH),
          send('POST', '/commit', { writes: [{ path: '/db/shop/products/committed', value: object }] }),
        ])
        const expected = isFine(JSON.parse(JSON.stringify(object)))
        if (expected) fine++
        expect(answers.map(({ ok, status }) => ok || status !== 422)).toEqual(answers.map(() => expected))
      }),
      { numRuns: 200, examples: [[{ name: 'Tea', price: 0 }], [{ name: 'Tea', price: -1 }]] },
    )
    expect(fine).toBeGreaterThan(0)
  })

  test('is refused by a schema that was set while it was under way', async () => {
    const store = createMemoryStore()
    let onCommit: (() => Promise<unknown>) | undefined
    const server = await startServer({
      store: withMethods(store, {
        commit: async commit => {
          const [write] = commit.writes
          if (write?.key === 'shop/racing/a') {
            const first = onCommit
            onCommit = undefined
            await first?.()
          }
          return store.commit(commit)
        },
      }),
    })
    await server.put('/db/shop/racing', { kind: 'object' })
    // Between the check of the write and its commit.
    onCommit = () => server.put('/db/shop/racing', { kind: 'object', schema: { required: ['b'] } })
    const answer = await server.fetch('/db/shop/racing/a', jsonRequest('PUT', { a: 1 }))
    expect(onCommit).toBeUndefined()
    expect(await problemOf(answer)).toMatchObject({ code: 'SCHEMA_VIOLATED', schemaVersion: 1 })
    expect((await server.fetch('/db/shop/racing/a')).status).toBe(404)
    await server.stop()
  })
})

describe('a schema', () => {
  test.each([
    ['an unknown type', { type: 'text' }, /at \/type/],
    ['an unknown keyword', { requried: ['a'] }, /requried/],
    ['a dangling reference', { $ref: '#/$defs/none' }, /none/],
    ['a reference to another document', { $ref: 'https://example.com/schema' }, /example\.com/],
    ['an invalid pattern', { properties: { a: { pattern: '(' } } }, /regular expression/i],
    ['another dialect', { $schema: 'http://json-schema.org/draft-07/schema#' }, /2020-12/],
    ['asynchronous validation', { $async: true }, /\$async/],
    ['too many bytes', { description: 'x'.repeat(70_000) }, /65536/],
    ['a malformed reference', { properties: { a: { 'x-reference': 7 } } }, /x-reference/],
    ['a reference that names no bucket', { properties: { a: { 'x-reference': 'customers' } } }, /namespace\/bucket/],
    [
      'a checked reference in an alternative',
      { anyOf: [{ properties: { a: { 'x-reference': { bucket: 'a/b', check: true } } } }] },
      /cannot be followed/,
    ],
  ])('with %s is refused', async (_, schema, message) => {
    const problem = await problemOf(await send('PUT', '/db/shop/invalid', { kind: 'object', schema }))
    expect(problem).toMatchObject({ status: 400, code: 'SCHEMA_INVALID', detail: expect.stringMatching(message) })
  })

  test.each([
    [{ kind: 'kv', schema: {} }],
    [{ kind: 'object', schema: true }],
    [{ kind: 'object', migration: { steps: [] } }],
    [{ kind: 'object', schema: {}, migration: { steps: [{ rename: 'a', to: 'b' }] } }],
    [{ kind: 'object', schema: {}, migration: { by: 'client' } }],
  ])('in settings such as %j is refused', async settings => {
    expect(await problemOf(await send('PUT', '/db/shop/invalid', settings))).toMatchObject({ code: 'BODY_INVALID' })
  })

  test('can have custom formats and keywords, which check nothing', async () => {
    const schema = { properties: { mail: { type: 'string', format: 'email', 'x-label': 'Mail' } } }
    await running.put('/db/shop/people', { kind: 'object', schema })
    await running.put('/db/shop/people/a', { mail: 'not checked' })
  })

  test('requires own fields of the object, not inherited ones', async () => {
    await running.put('/db/shop/own', { kind: 'object', schema: { required: ['constructor'] } })
    expect((await send('PUT', '/db/shop/own/a', {})).status).toBe(422)
    expect((await send('PUT', '/db/shop/own/a', { constructor: 1 })).status).toBe(201)
  })

  test('has a version that grows with each change, and every version can be read', async () => {
    const path = '/db/shop/versions'
    await running.put(path, { kind: 'object', schema: { required: ['a'] } })
    await running.put(path, { kind: 'object', schema: { required: ['a'] }, lifetimeMs: 5 })
    expect(await settingsOf(path)).toEqual({
      kind: 'object',
      lifetimeMs: 5,
      schema: { required: ['a'] },
      schemaVersion: 1,
    })
    const { version } = await running.put(path, { ...(await settingsOf(path)), schema: { required: ['b'] } })
    await running.put(path, { kind: 'object' })
    expect(await settingsOf(path)).toEqual({ kind: 'object', schemaVersion: 3 })
    expect(await (await running.fetch(`${path}?schemas`)).json()).toEqual({
      schemas: [
        { version: 1, schema: { required: ['a'] }, position: expect.any(Number) },
        { version: 2, schema: { required: ['b'] }, position: version },
        { version: 3, schema: null, position: expect.any(Number) },
      ],
    })
    const outdated = await send('PUT', path, { kind: 'object', schema: {}, schemaVersion: 2 })
    expect(await problemOf(outdated)).toMatchObject({ code: 'VERSION_CONFLICT' })
  })

  test('that stored objects violate is refused, and the answer names them', async () => {
    await running.put('/db/shop/filled/fine', { a: 1 })
    await running.put('/db/shop/filled/poor', {})
    const answer = await send('PUT', '/db/shop/filled', { kind: 'object', schema: { required: ['a'] } })
    expect(await problemOf(answer)).toMatchObject({
      status: 409,
      code: 'SCHEMA_MISFIT',
      violations: [{ path: '/db/shop/filled/poor', at: '', expected: "have required property 'a'" }],
    })
    expect(await settingsOf('/db/shop/filled')).toEqual({ kind: 'object' })
    await running.put('/db/shop/filled/poor', { a: 2 })
    await running.put('/db/shop/filled', { kind: 'object', schema: { required: ['a'] } })
  })

  test('is refused also if such an object is written between the check and the commit', async () => {
    const late = { key: 'shop/filled/late', contentType: 'application/json', body: Buffer.from('{}') }
    const store = interruptedAt(createMemoryStore(), /^_freshet\/schemas\//, late)
    const server = await startServer({ store })
    await server.put('/db/shop/filled/fine', { a: 1 })
    const change = { kind: 'object', schema: { required: ['a'] } }
    const problem = await problemOf(await server.fetch('/db/shop/filled', jsonRequest('PUT', change)))
    expect(problem).toMatchObject({ code: 'SCHEMA_MISFIT', violations: [{ path: '/db/shop/filled/late' }] })
    await server.stop()
  })

  test('prevents a change of the kind of its bucket', async () => {
    await running.put('/db/shop/kinds', { kind: 'object', schema: {} })
    expect(await problemOf(await send('PUT', '/db/shop/kinds', { kind: 'kv' }))).toMatchObject({
      code: 'BUCKET_EXISTS',
    })
  })
})

describe('a checked reference', () => {
  const customer = { type: 'string', 'x-reference': { bucket: 'shop/customers', check: true } }
  const schema = {
    properties: { customer, lines: { type: 'array', items: { $ref: '#/$defs/line' } } },
    $defs: { line: { properties: { product: { 'x-reference': { bucket: 'shop/goods', check: true } } } } },
  }

  beforeAll(async () => {
    await running.put('/db/shop/orders', { kind: 'object', schema })
    await running.put('/db/shop/customers/ann', {})
    await running.put('/db/shop/goods/tea', {})
  })

  test('must name an object that exists, or that the same commit writes', async () => {
    await running.put('/db/shop/orders/1', { customer: 'ann', lines: [{ product: 'tea' }] })
    const missing = await send('PUT', '/db/shop/orders/2', { customer: 'ann', lines: [{}, { product: 'mug' }] })
    expect(await problemOf(missing)).toMatchObject({
      status: 422,
      code: 'REFERENCE_MISSING',
      path: '/db/shop/orders/2',
      at: '/lines/1/product',
      bucket: 'shop/goods',
      id: 'mug',
    })
    const order = { path: '/db/shop/orders/2', value: { customer: 'bob' } }
    const both = { writes: [order, { path: '/db/shop/customers/bob', value: {} }] }
    expect((await send('POST', '/commit', both)).status).toBe(200)
    const removed = { writes: [order, { path: '/db/shop/customers/bob', delete: true }] }
    expect(await problemOf(await send('POST', '/commit', removed))).toMatchObject({ code: 'REFERENCE_MISSING' })
    const impossible = await send('PUT', '/db/shop/orders/3', { customer: 'a/b' })
    expect(await problemOf(impossible)).toMatchObject({ code: 'REFERENCE_MISSING' })
  })

  test('is not written if its object is deleted between the check and the commit', async () => {
    const store = interruptedAt(createMemoryStore(), 'shop/orders/1', { key: 'shop/customers/ann', delete: true })
    const server = await startServer({ store })
    await server.put('/db/shop/orders', { kind: 'object', schema })
    await server.put('/db/shop/customers/ann', {})
    const answer = await server.fetch('/db/shop/orders/1', jsonRequest('PUT', { customer: 'ann' }))
    expect(await problemOf(answer)).toMatchObject({ code: 'REFERENCE_MISSING' })
    await server.stop()
  })
})

describe('patterns', () => {
  test('of strings and of names are matched in linear time', async () => {
    const schema = {
      properties: { name: { pattern: '^(a+)+$' } },
      patternProperties: { '^(b+)+$': { type: 'number' } },
    }
    await running.put('/db/shop/patterns', { kind: 'object', schema })
    // A separate validator checks a large object up to its first mistake. With backtracking, 28 letters take 13 s.
    for (const [letters, text] of [
      [28, ''],
      [28, 'x'.repeat(70_000)],
      [50_000, ''],
    ] as const) {
      const evil = { name: `${'a'.repeat(letters)}!`, [`${'b'.repeat(letters)}!`]: 'x', text }
      const startMs = performance.now()
      expect(await problemOf(await send('PUT', '/db/shop/patterns/evil', evil))).toMatchObject({
        code: 'SCHEMA_VIOLATED',
        violations: [{ at: '/name' }],
      })
      expect(performance.now() - startMs).toBeLessThan(5000)
    }
    expect((await send('PUT', '/db/shop/patterns/good', { name: 'aa', bb: 1 })).status).toBe(201)
    expect((await send('PUT', '/db/shop/patterns/bad', { bb: 'x' })).status).toBe(422)
  })

  test('that are invalid are refused with the reason', async () => {
    for (const schema of [
      { properties: { name: { pattern: '^(?=.*a)b$' } } },
      { patternProperties: { '^(.)\\1$': { type: 'number' } } },
    ]) {
      expect(await problemOf(await send('PUT', '/db/shop/refused', { kind: 'object', schema }))).toMatchObject({
        code: 'SCHEMA_INVALID',
        detail: expect.stringContaining('linear time'),
      })
    }
  })

  test('that are stored but can no longer be used are reported when a server starts', async () => {
    const store = createMemoryStore()
    const record = {
      kind: 'object',
      schemaVersion: 1,
      schema: { properties: { name: { pattern: '(?=a)' } } },
      past: [],
    }
    const body = Buffer.from(JSON.stringify(record))
    await store.commit({ writes: [{ key: 'shop/old', contentType: 'application/json', body }] })
    const lines: { readonly message: string; readonly bucket?: unknown }[] = []
    const log = {
      level: 'error' as const,
      write: (_level: string, message: string, more?: object) => void lines.push({ message, ...more }),
    }
    const server = await startServer({ store, log })
    expect(lines).toContainEqual(expect.objectContaining({ bucket: 'shop/old', code: 'SCHEMA_INVALID' }))
    expect(await problemOf(await server.fetch('/db/shop/old/x', jsonRequest('PUT', { name: 'a' })))).toMatchObject({
      code: 'SCHEMA_INVALID',
      detail: expect.stringContaining('shop/old'),
    })
    await server.stop()
  })
})
