/** Queries against a model that is written here, plainly, and that knows nothing of indexes. */
import type { Commit, Query, Store } from '../store.js'
import { type ConformanceOptions, codeOf, commitOrThrow, errorOf, ready, remove, testWith, write } from './kit.js'
import { testQueryWalk } from './query-walk.js'

const BUCKET = 'shop/products'

export function testQueries(options: ConformanceOptions): void {
  testFinding(options)
  testIndexes(options)
  testTags(options)
  testRelying(options)
  testQueryWalk(options)
}

function testFinding(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'a query finds the matching objects, in order', async under => {
    const { store } = under
    await write(store, declare(['category', 'price']))
    await write(
      store,
      ...[5, 3, 9, 3, 7].map((price, i) => object(String(i), { category: i === 2 ? 'tea' : 'books', price })),
    )
    for (const way of [store, under.peer ?? store]) {
      const query: Query = { where: { category: 'books' }, sort: [{ field: 'price', descending: true }], limit: 2 }
      const first = await way.query(BUCKET, query)
      expect(first.entries.map(({ id }) => id)).toEqual(['4', '0'])
      const second = await way.query(BUCKET, { ...query, after: first.next! })
      expect(second.entries.map(({ id }) => id)).toEqual(['3', '1'])
      expect(second.next).toBe(undefined)
      expect(first.dependsOn).toEqual([`${BUCKET}?category=["books"]`])
      expect(await way.queryVersion(BUCKET, query)).toEqual({
        version: first.version,
        position: first.position,
        dependsOn: first.dependsOn,
      })
      const byId: Query = { ...query, sort: [{ field: 'price', descending: true }, { field: '$id' }], limit: 4 }
      expect((await way.query(BUCKET, byId)).entries.map(({ id }) => id)).toEqual(['4', '0', '1', '3'])
      expect((await way.query('shop/none', query)).entries).toEqual([])
      expect(await codeOf(() => way.query(BUCKET, { where: { a: { $nonsense: 1 } as object } }))).toBe('QUERY_INVALID')
      expect(await codeOf(() => way.query(BUCKET, { after: 'x' }))).toBe('QUERY_INVALID')
    }
  })

  testWith(options, 'a value that is not a JSON object has no fields', async ({ store }) => {
    await write(store, declare(['a']))
    const bodies = ['{"a":1', '[{"a":1}]', '1', '', '{"a":1}'].map(text => new TextEncoder().encode(text))
    await write(store, ...bodies.map((body, i) => ({ key: `${BUCKET}/${i}`, contentType: 'application/json', body })), {
      key: `${BUCKET}/text`,
      contentType: 'text/plain',
      body: new TextEncoder().encode('{"a":1}'),
    })
    await ready(options, store, BUCKET)
    expect(await ids(store, { where: { a: 1 } })).toEqual(['4'])
    expect(await ids(store, { where: { a: { $exists: false } } })).toEqual(['0', '1', '2', '3', 'text'])
  })

  testWith(
    options,
    'a query that looks at too much is refused, and the error names the index it needs',
    async ({ store }) => {
      const count = 10_001
      await write(store, ...Array.from({ length: count }, (_, i) => object(String(i), { kind: i % 1000, price: i })))
      const query: Query = { where: { kind: 7 }, sort: [{ field: 'price' }], limit: 5 }
      const error = (await errorOf(() => store.query(BUCKET, query))) as { code?: string; details?: object } | undefined
      expect(error?.code).toBe('QUERY_TOO_BROAD')
      expect(error?.details).toMatchObject({ index: { fields: ['kind', 'price'] } })
      expect((await store.query(BUCKET, { limit: 5 })).examined).toBe(6)
      await write(store, declare(['kind', 'price']))
      await ready(options, store, BUCKET)
      const [state] = await store.indexes(BUCKET)
      expect(state).toMatchObject({ isReady: true, done: count, total: count })
      const page = await store.query(BUCKET, query)
      expect(page.entries.map(({ id }) => id)).toEqual(['7', '1007', '2007', '3007', '4007'])
      expect(page.examined).toBe(6)
      const last = await store.query(BUCKET, { ...query, sort: [{ field: 'price', descending: true }], limit: 2 })
      expect(last.entries.map(({ id }) => id)).toEqual(['9007', '8007'])
      expect(last.examined).toBe(3)
    },
  )
}

function testIndexes(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'indexes are those last declared with the bucket; an unchanged index is kept', async under => {
    const { store } = under
    expect(await store.indexes(BUCKET)).toEqual([])
    const first = await write(store, declare(['a'], ['b', 'c']))
    expect((await store.indexes(BUCKET)).map(({ fields, declaredAt }) => ({ fields, declaredAt }))).toEqual([
      { fields: ['a'], declaredAt: first },
      { fields: ['b', 'c'], declaredAt: first },
    ])
    const second = await write(store, declare(['a'], ['c']))
    await write(store, { key: BUCKET, contentType: 'application/json', body: new Uint8Array() })
    for (const way of [store, under.peer ?? store]) {
      expect((await way.indexes(BUCKET)).map(({ fields, declaredAt }) => ({ fields, declaredAt }))).toEqual([
        { fields: ['a'], declaredAt: first },
        { fields: ['c'], declaredAt: second },
      ])
    }
    await write(store, remove(BUCKET))
    expect(await store.indexes(BUCKET)).toEqual([])
  })

  testWith(options, 'impossible indexes, and indexes on anything but a bucket, are a TypeError', async ({ store }) => {
    const wrong = [
      { ...declare([]), key: BUCKET },
      declare(['a', 'a']),
      declare(['$id']),
      declare(['a,b']),
      declare(['a', 'b', 'c', 'd', 'e']),
      { ...declare(['a']), key: `${BUCKET}/1` },
    ]
    for (const one of wrong) {
      expect((await errorOf(() => store.commit({ writes: [one] }))) instanceof TypeError).toBe(true)
    }
    expect(await store.get(BUCKET)).toBe(undefined)
  })

  testWith(options, 'indexes and the progress of their builds survive reopening', async under => {
    const { store } = under
    if (!under.reopen) return
    await write(store, ...Array.from({ length: 1500 }, (_, i) => object(String(i), { a: i % 3 })))
    const position = await write(store, declare(['a']))
    const again = await under.reopen()
    await ready(options, again, BUCKET)
    expect(await again.indexes(BUCKET)).toMatchObject([{ fields: ['a'], declaredAt: position, done: 1500 }])
    const page = await again.query(BUCKET, { where: { a: 1 }, limit: 1000 })
    expect(page.plan.index).toBe('by-a')
    expect(page.entries.length).toBe(500)
  })
}

function testTags(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'the log has the tags of a write under each index, before and after', async ({ store }) => {
    await write(store, object('1', { a: 1, b: 'x' }))
    const start = await write(store, declare(['a', 'b']))
    await write(store, object('1', { a: 2 }))
    await write(store, remove(`${BUCKET}/1`))
    await write(store, object('2', { a: [1], b: 1 }))
    await write(store, remove(`${BUCKET}/none`))
    expect((await store.changes(start)).map(({ tags }) => [...tags].sort())).toEqual([
      [`${BUCKET}?a,b=[1,"x"]`, `${BUCKET}?a,b=[2,missing]`, `${BUCKET}?a=[1]`, `${BUCKET}?a=[2]`],
      [`${BUCKET}?a,b=[2,missing]`, `${BUCKET}?a=[2]`],
      [],
      [],
    ])
  })
}

function testRelying(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(
    options,
    'a commit that relies on a query conflicts with a write that changes its result',
    async ({ store }) => {
      await write(store, declare(['a']))
      await write(store, object('1', { a: 1 }), object('2', { a: 2 }))
      const query: Query = { where: { a: 1 } }
      const seen = await store.query(BUCKET, query)
      const list = { bucket: BUCKET, version: seen.version, tags: seen.dependsOn as readonly string[] }
      const holds = async () => (await store.commit({ lists: [list], writes: [] })).committed
      await write(store, object('2', { a: 2, more: true }), object('3', { a: 3 }))
      expect(await holds()).toBe(true)
      const position = await write(store, object('4', { a: 1 }))
      expect(await store.commit({ lists: [list], writes: [object('5', {})] })).toEqual({
        committed: false,
        conflicts: [],
        changedLists: [{ key: BUCKET, version: position }],
      })
      expect(await store.get(`${BUCKET}/5`)).toBe(undefined)
      const results = await Promise.all([
        store.commit({ lists: [{ ...list, version: position }], writes: [object('6', { a: 1 })] }),
        store.commit({ lists: [{ ...list, version: position }], writes: [object('7', { a: 1 })] }),
      ])
      expect(results.filter(({ committed }) => committed).length).toBe(1)
    },
  )

  testWith(options, 'tags hold only as long as their index is declared', async ({ store }) => {
    await write(store, declare(['a']))
    await write(store, object('1', { a: 1 }))
    const seen = await store.query(BUCKET, { where: { a: 1 } })
    const list = { bucket: BUCKET, version: seen.version, tags: seen.dependsOn as readonly string[] }
    const holds = async () => (await store.commit({ lists: [list], writes: [] })).committed
    await write(store, declare(['a'], ['b']))
    expect(await holds()).toBe(true)
    const dropped = await write(store, declare(['b']))
    expect(await holds()).toBe(false)
    const now = await store.query(BUCKET, { where: { a: 1 } })
    expect(now.dependsOn).toBe('bucket')
    expect(now.version).toBe(dropped)
    await write(store, object('2', { a: 1 }))
    const again = await write(store, declare(['a']))
    expect(await holds()).toBe(false)
    await ready(options, store, BUCKET)
    const afresh = await store.query(BUCKET, { where: { a: 1 } })
    expect(afresh.entries.map(({ id }) => id)).toEqual(['1', '2'])
    expect(afresh.version).toBe(again)
    expect((await store.commit({ lists: [{ ...list, version: afresh.version }], writes: [] })).committed).toBe(true)
    const foreign = { bucket: BUCKET, version: seen.version, tags: ['shop/other?a=[1]'] }
    expect((await store.commit({ lists: [foreign], writes: [] })).committed).toBe(false)
  })

  testWith(options, 'a string of any length can be found, and changes the results that depend on it', async under => {
    const { store } = under
    await write(store, declare(['a', 'b', 'c', 'd']))
    const long = '\u0001é"'.repeat(400)
    const values = { a: `${long}1`, b: `${long}2`, c: long, d: long }
    await write(store, object('1', values), object('2', { ...values, a: `${long}0` }))
    await ready(options, store, BUCKET)
    const query: Query = { where: values }
    expect(await ids(store, query)).toEqual(['1'])
    expect(await ids(store, { sort: [{ field: 'a' }] })).toEqual(['2', '1'])
    await write(store, declare(['a'], ['a', 'b', 'c', 'd']))
    await ready(options, store, BUCKET)
    expect(await ids(store, { sort: [{ field: 'a' }] })).toEqual(['2', '1'])
    expect(await ids(store, { where: { a: { $lt: values.a } } })).toEqual(['2'])
    const position = await commitOrThrow(store, { writes: [remove(`${BUCKET}/1`)] })
    expect((await store.queryVersion(BUCKET, query)).version).toBe(position)
    expect(await ids(store, query)).toEqual([])
  })
}

async function ids(store: Store, query: Query): Promise<readonly string[]> {
  return (await store.query(BUCKET, query)).entries.map(({ id }) => id)
}

function object(id: string, value: object): Commit['writes'][number] {
  return {
    key: `${BUCKET}/${id}`,
    contentType: 'application/json',
    body: new TextEncoder().encode(JSON.stringify(value)),
  }
}

function declare(...indexes: readonly (readonly string[])[]): Commit['writes'][number] {
  return {
    key: BUCKET,
    contentType: 'application/json',
    body: new TextEncoder().encode('{}'),
    indexes: indexes.map(fields => ({ name: `by-${fields.join('-').replace(/[^a-z-]/g, '')}`, fields })),
  }
}
