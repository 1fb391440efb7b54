import type { Store } from '../store.js'
import {
  bytes,
  type ConformanceOptions,
  commitOrThrow,
  errorOf,
  plain,
  put,
  remove,
  type StoreUnderTest,
  testWith,
  write,
} from './kit.js'

export function testCommits(options: ConformanceOptions): void {
  testWriting(options)
  testValidation(options)
  testDeletion(options)
  testSeveralKeys(options)
}

function testWriting(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'a value is read as it was written, and its version is the position of its commit', async under => {
    const body = Uint8Array.from({ length: 256 }, (_, i) => i)
    const position = await write(under.store, { key: 'a/b/c', contentType: 'image/png', body: body.slice() })
    expect(position).toBeGreaterThan(0)
    for (const store of everyWayIn(under)) {
      expect(plain(await store.get('a/b/c'))).toEqual({
        version: position,
        contentType: 'image/png',
        body: [...body],
      })
    }
  })

  testWith(options, 'a body may be empty or large, a content type unusual, a key not plain', async ({ store }) => {
    const large = Uint8Array.from({ length: 300_000 }, (_, i) => i * 7)
    const contentType = 'application/vnd.freshet.test; profile="a b"'
    await write(store, put('a/b/empty'))
    await write(store, { key: 'a/b/large', contentType, body: large.slice() })
    await write(store, put('a/b/ä & 漢 😀', 1))
    expect(plain(await store.get('a/b/empty'))).toMatchObject({ body: [] })
    const found = await store.get('a/b/large')
    expect(found?.contentType).toBe(contentType)
    expect(found?.body.length).toBe(large.length)
    expect(found?.body.every((byte, i) => byte === large[i])).toBe(true)
    expect(plain(await store.get('a/b/ä & 漢 😀'))).toMatchObject({ body: [1] })
  })

  testWith(options, 'a key that was never written is undefined, even next to one that was', async ({ store }) => {
    await write(store, put('a/b/c', 1))
    for (const key of ['a/b/d', 'a/b/', 'a/b/cc', 'a/b', 'a', '', `a/b/${'c'.repeat(5000)}`]) {
      expect(await store.get(key)).toBe(undefined)
    }
  })

  testWith(options, 'the reader owns the bytes it got', async ({ store }) => {
    await write(store, put('a/b/c', 1, 2, 3))
    const first = await store.get('a/b/c')
    first?.body.fill(9)
    expect(plain(await store.get('a/b/c'))).toMatchObject({ body: [1, 2, 3] })
    const many = await store.getMany(['a/b/c'])
    many.value[0]?.body.fill(9)
    const page = await store.scan('a/b')
    page.entries[0]?.body.fill(9)
    expect(plain(await store.get('a/b/c'))).toMatchObject({ body: [1, 2, 3] })
  })

  testWith(options, 'versions and positions grow', async ({ store }) => {
    const start = await store.position()
    const first = await write(store, put('a/b/c', 1))
    const second = await write(store, put('a/b/d', 1))
    const third = await write(store, put('a/b/c', 2))
    expect(first).toBeGreaterThan(start)
    expect(second).toBeGreaterThan(first)
    expect(third).toBeGreaterThan(second)
    expect((await store.get('a/b/c'))?.version).toBe(third)
    expect((await store.get('a/b/d'))?.version).toBe(second)
    expect(await store.position()).toBe(third)
  })

  testWith(options, 'a bucket has a value of its own', async ({ store }) => {
    const position = await write(store, put('a/b', 1))
    expect(plain(await store.get('a/b'))).toMatchObject({ version: position, body: [1] })
    expect((await store.scan('a/b')).entries.length).toBe(0)
    expect(await store.buckets()).toEqual([{ bucket: 'a/b', version: position }])
  })

  testWith(options, 'a commit that writes nothing, or a key twice, is a mistake and changes nothing', async under => {
    const start = await under.store.position()
    for (const store of everyWayIn(under)) {
      expect((await errorOf(() => store.commit({ writes: [] }))) instanceof TypeError).toBe(true)
      const twice = { writes: [put('a/b/c', 1), remove('a/b/c')] }
      expect((await errorOf(() => store.commit(twice))) instanceof TypeError).toBe(true)
      expect(await store.position()).toBe(start)
      expect(await store.get('a/b/c')).toBe(undefined)
    }
  })
}

function testValidation(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'a commit whose reads still hold succeeds', async under => {
    for (const store of everyWayIn(under)) {
      await write(store, remove('a/b/c'))
      const created = await commitOrThrow(store, { reads: [{ key: 'a/b/c', version: 0 }], writes: [put('a/b/c', 1)] })
      const changed = await commitOrThrow(store, {
        reads: [{ key: 'a/b/c', version: created }],
        writes: [put('a/b/c', 2)],
      })
      expect(plain(await store.get('a/b/c'))).toMatchObject({ version: changed, body: [2] })
    }
  })

  testWith(options, 'a conflict names the versions that hold, and changes nothing', async under => {
    for (const store of everyWayIn(under)) {
      const first = await write(store, put('a/b/c', 1))
      const start = await store.position()
      const reads = [
        { key: 'a/b/c', version: 0 },
        { key: 'a/b/none', version: 0 },
        { key: 'a/b/gone', version: 7 },
      ]
      const result = await store.commit({ reads: reads.slice(0, 1), writes: [put('a/b/c', 2)] })
      expect(result).toEqual({ committed: false, conflicts: [{ key: 'a/b/c', version: first }] })
      expect(plain(await store.get('a/b/c'))).toMatchObject({ version: first, body: [1] })
      expect(await store.position()).toBe(start)
      expect(await store.changes(start)).toEqual([])
      const several = await store.commit({ reads, writes: [put('a/b/d', 2)] })
      const conflicts = [
        { key: 'a/b/c', version: first },
        { key: 'a/b/gone', version: 0 },
      ]
      expect(several).toEqual({ committed: false, conflicts })
      expect(await store.get('a/b/d')).toBe(undefined)
    }
  })
}

function testDeletion(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'a deleted object is gone; one that is created again is newer than it ever was', async under => {
    const { store } = under
    const created = await write(store, put('a/b/c', 1))
    const deleted = await write(store, remove('a/b/c'))
    expect(deleted).toBeGreaterThan(created)
    for (const way of everyWayIn(under)) expect(await way.get('a/b/c')).toBe(undefined)
    const again = await write(store, put('a/b/c', 1))
    expect(again).toBeGreaterThan(deleted)
    expect((await store.get('a/b/c'))?.version).toBe(again)
    const stale = await store.commit({ reads: [{ key: 'a/b/c', version: created }], writes: [put('a/b/c', 2)] })
    expect(stale).toEqual({ committed: false, conflicts: [{ key: 'a/b/c', version: again }] })
  })

  testWith(options, 'deleting an absent object is a change like any other', async ({ store }) => {
    const start = await store.position()
    const position = await write(store, remove('a/b/never'))
    expect(position).toBeGreaterThan(start)
    expect((await store.changes(start)).map(({ keys }) => keys)).toEqual([['a/b/never']])
    expect((await store.scan('a/b')).version).toBe(position)
  })
}

function testSeveralKeys(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'a commit of several keys takes effect as one', async ({ store }) => {
    const writes = [put('a/b/1', 1), put('c/d/2', 2), remove('a/b/3')]
    await write(store, put('a/b/3', 3))
    const before = await store.position()
    const position = await write(store, ...writes)
    expect((await store.get('a/b/1'))?.version).toBe(position)
    expect((await store.get('c/d/2'))?.version).toBe(position)
    expect(await store.get('a/b/3')).toBe(undefined)
    expect((await store.changes(before)).map(entry => ({ position: entry.position, keys: entry.keys }))).toEqual([
      { position, keys: ['a/b/1', 'c/d/2', 'a/b/3'] },
    ])
  })

  testWith(options, 'many keys are read from one state, in the requested order', async under => {
    const first = await write(under.store, put('a/b/1', 1))
    const second = await write(under.store, put('a/b/2', 2))
    for (const store of everyWayIn(under)) {
      const { value, position } = await store.getMany(['a/b/2', 'a/b/none', 'a/b/1', 'a/b/2'])
      expect(value.map(found => found?.version)).toEqual([second, undefined, first, second])
      expect(value[0]?.body.length).toBe(bytes(2).length)
      expect(position).toBe(second)
      expect((await store.getMany([])).value).toEqual([])
    }
  })
}

function everyWayIn({ store, peer }: StoreUnderTest): Store[] {
  return peer ? [store, peer] : [store]
}
