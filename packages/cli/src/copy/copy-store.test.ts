import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { FreshetError } from '@freshet/protocol'
import { expect, test } from 'vitest'
import { differingKeys } from './compare-stores.js'
import { type CopyProgress, copyStore, StoreCopy } from './copy-store.js'

const onProgress = () => {}

function put(key: string, value: unknown) {
  return { key, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) }
}

async function filled(objects = 1500): Promise<Store> {
  const store = createMemoryStore()
  const indexes = [{ name: 'by-n', fields: ['n'] }]
  await store.commit({ writes: [{ ...put('shop/products', { kind: 'object' }), indexes }] })
  for (let i = 0; i < objects; i++) await store.commit({ writes: [put(`shop/products/${i}`, { n: i })] })
  await store.commit({ writes: [put('lab/ä/ü', 'text'), { key: 'lab/ä/gone', delete: true }] })
  return store
}

async function differences(a: Store, b: Store): Promise<string[]> {
  const keys: string[] = []
  for await (const { differing } of differingKeys(a, b)) keys.push(...differing)
  return keys
}

test('everything is copied, with its indexes, and compared', async () => {
  const [from, to] = [await filled(), createMemoryStore()]
  const report = await copyStore({ from, to, onProgress })
  expect(report).toMatchObject({ repaired: 0, position: await from.position() })
  expect(report.compared).toBeGreaterThan(1500)
  expect(await differences(from, to)).toEqual([])
  expect((await to.indexes('shop/products')).map(({ name, fields }) => ({ name, fields }))).toEqual([
    { name: 'by-n', fields: ['n'] },
  ])
})

test('writes made meanwhile are copied, too', async () => {
  const [from, to] = [await filled(), createMemoryStore()]
  let writes = 0
  const writing = async () => {
    const i = writes++
    await from.commit({ writes: [put(`shop/products/${(i * 37) % 1500}`, { n: -i }), put('shop/other/x', i)] })
    await from.commit({ writes: [{ key: `shop/products/${(i * 53) % 1500}`, delete: true }] })
  }
  // At every step, until everything has been compared.
  let isBusy = true
  const copy = new StoreCopy({ from, to, onProgress: () => void (isBusy && writing()) })
  await copy.run()
  isBusy = false
  expect(writes).toBeGreaterThan(10)
  await copy.follow()
  expect(await differences(from, to)).toEqual([])
})

test('a copy stopped at any step continues from there', async () => {
  const [from, to] = [await filled(), createMemoryStore()]
  let stops = 0
  for (let isDone = false; !isDone; stops++) {
    const stopping = new AbortController()
    let steps = 0
    const stop = () => {
      if (++steps > 3) stopping.abort()
    }
    isDone = await copyStore({ from, to, onProgress: stop, signal: stopping.signal }).then(
      () => true,
      () => stops > 50,
    )
    await from.commit({ writes: [put(`shop/products/new-${stops}`, { n: 1 })] })
    if (stops > 2) break
  }
  await copyStore({ from, to, onProgress })
  expect(stops).toBeGreaterThan(1)
  expect(await differences(from, to)).toEqual([])
})

test('if the log no longer goes back far enough, the comparison finds what is missing', async () => {
  const [from, to] = [await filled(), createMemoryStore()]
  const stopping = new AbortController()
  let steps = 0
  const stop = () => {
    if (++steps === 4) stopping.abort()
  }
  await expect(copyStore({ from, to, onProgress: stop, signal: stopping.signal })).rejects.toThrow()
  await from.commit({ writes: [{ key: 'shop/products/0', delete: true }, put('shop/products/1', { n: 'new' })] })
  await from.trim(await from.position())
  const { repaired } = await copyStore({ from, to, onProgress })
  expect(repaired).toBe(2)
  expect(await differences(from, to)).toEqual([])
})

test('a target that holds something else is refused', async () => {
  const [from, to] = [await filled(10), await filled(1)]
  await expect(copyStore({ from, to, onProgress })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  const other = createMemoryStore()
  await copyStore({ from, to: other, onProgress })
  await expect(copyStore({ from: to, to: other, onProgress })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
})

/** The same store, with some of its methods replaced. */
function intercepted(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get: (_, name) => {
      const member = (Reflect.get(methods, name) ?? Reflect.get(store, name, store)) as unknown
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
}

test('a change after the comparison is copied, even if the log was trimmed before the copy read it', async () => {
  const [store, to] = [await filled(), createMemoryStore()]
  let phase = ''
  let isChanged = false
  const from = intercepted(store, {
    scan: async (bucket, range) => {
      if (!isChanged && phase === 'comparing' && range?.after !== undefined) {
        isChanged = true
        await store.commit({ writes: [put('shop/products/0', { n: 'new' }), { key: 'shop/products/1', delete: true }] })
        await store.trim(await store.position())
      }
      return store.scan(bucket, range)
    },
  })
  const notePhase = (progress: CopyProgress) => {
    phase = progress.phase
  }
  await copyStore({ from, to, onProgress: notePhase })
  expect(await differences(store, to)).toEqual([])
})

test('--follow also copies changes that were trimmed from the log before it read them', async () => {
  const [from, to] = [await filled(), createMemoryStore()]
  const copy = new StoreCopy({ from, to, onProgress })
  await copy.run()
  await from.commit({ writes: [put('shop/products/0', { n: 'new' }), { key: 'shop/products/1', delete: true }] })
  await from.trim(await from.position())
  expect(await copy.follow()).toMatchObject({ repaired: 2 })
  expect(await differences(from, to)).toEqual([])
  expect(await copy.follow()).toBeUndefined()
})

test('the log is read during copying and comparing, so a source that trims it early is copied all the same', async () => {
  const [store, to] = [await filled(), createMemoryStore()]
  let writes = 0
  const lately: number[] = []
  const from = intercepted(store, {
    scan: async (bucket, range) => {
      lately.push(await store.position())
      await store.commit({ writes: [put(`shop/products/${writes++}`, { n: 'new' })] })
      // Trims what was written before the last two pages.
      if (lately.length > 2) await store.trim(lately.at(-3)!)
      return store.scan(bucket, range)
    },
  })
  const phases: CopyProgress['phase'][] = []
  const report = await copyStore({ from, to, onProgress: ({ phase }) => phases.push(phase), catchUpMs: 0 })
  expect(report.repaired).toBe(0)
  expect(report.position).toBe(await store.position())
  // Everything was compared once.
  expect(phases.filter(phase => phase === 'comparing').length).toBeLessThan(10)
  expect(await differences(store, to)).toEqual([])
})

test('an object that is written continuously does not count as a difference', async () => {
  const [store, to] = [await filled(10), createMemoryStore()]
  let writes = 0
  const write = () => store.commit({ writes: [put('shop/products/0', { n: writes++ })] })
  const from = intercepted(store, {
    scan: async (bucket, range) => {
      await write()
      return store.scan(bucket, range)
    },
    getMany: async keys => {
      const found = await store.getMany(keys)
      await write()
      return found
    },
  })
  expect(await copyStore({ from, to, onProgress })).toMatchObject({ repaired: 0 })
  expect(writes).toBeGreaterThan(3)
  await copyStore({ from: store, to, onProgress })
  expect(await differences(store, to)).toEqual([])
})

/** A target that limits the bytes of one commit, as Cassandra and MariaDB do, and a source with objects of a given size. */
async function limited({
  bytesMax,
  objectBytes,
  objects = 300,
}: Record<'bytesMax' | 'objectBytes', number> & { readonly objects?: number }) {
  const [from, store] = [createMemoryStore(), createMemoryStore()]
  for (let i = 0; i < objects; i++) {
    await from.commit({ writes: [put(`shop/pictures/${i}`, `${i}`.padStart(objectBytes))] })
  }
  const to = intercepted(store, {
    commit: async commit => {
      const bytes = commit.writes.reduce((sum, write) => sum + ('body' in write ? write.body.length : 0), 0)
      if (bytes > bytesMax) throw new FreshetError('LIMIT_EXCEEDED', 'The commit is too large.')
      return store.commit(commit)
    },
  })
  return { from, to }
}

test('objects that are too large together for one commit of the target are copied in several', async () => {
  const { from, to } = await limited({ bytesMax: 9.6 * 1024 * 1024, objectBytes: 100_000 })
  const report = await copyStore({ from, to, onProgress })
  expect(report).toMatchObject({ repaired: 0, compared: 301 })
  expect(await differences(from, to)).toEqual([])
})

test('a target that accepts only small commits gets small commits', async () => {
  const { from, to } = await limited({ bytesMax: 2500, objectBytes: 1000 })
  await copyStore({ from, to, onProgress })
  expect(await differences(from, to)).toEqual([])
})

test('an object that the target cannot take is named', async () => {
  const { from, to } = await limited({ bytesMax: 2500, objectBytes: 3000 })
  await expect(copyStore({ from, to, onProgress })).rejects.toThrow('The target cannot store shop/pictures/0: ')
})

test('few large objects are read at once', async () => {
  const { from: store, to } = await limited({ bytesMax: 1e9, objectBytes: 500_000, objects: 80 })
  const sizes: number[] = []
  const from = intercepted(store, {
    scan: async (bucket, range) => {
      const page = await store.scan(bucket, range)
      sizes.push(page.entries.length)
      return page
    },
  })
  await copyStore({ from, to, onProgress })
  expect(Math.max(...sizes)).toBeLessThan(40)
  expect(sizes.filter(size => size > 10).length).toBeLessThanOrEqual(2)
})

test.each([
  ['changed', put('shop/products/1', { n: 'theirs' })],
  ['added', put('shop/products/theirs', { n: 1 })],
  ['deleted', { key: 'shop/products/1', delete: true as const }],
])(
  'an object that another client has %s in the target since is never overwritten: the copy is refused',
  async (_, write) => {
    const [from, to] = [await filled(10), createMemoryStore()]
    await copyStore({ from, to, onProgress })
    await copyStore({ from, to, onProgress })
    await from.commit({ writes: [put('shop/products/2', { n: 'ours' })] })
    await to.commit({ writes: [write] })
    const before = await to.position()
    const refused = { code: 'STORE_UNUSABLE', message: expect.stringContaining(write.key) }
    await expect(copyStore({ from, to, onProgress })).rejects.toMatchObject(refused)
    expect(await to.position()).toBe(before)
  },
)

test('a target in use whose log no longer shows those writes is refused, too', async () => {
  const [from, to] = [await filled(10), createMemoryStore()]
  await copyStore({ from, to, onProgress })
  await to.trim(await to.position())
  await copyStore({ from, to, onProgress })
  await to.commit({ writes: [put('shop/products/1', { n: 'theirs' })] })
  await to.trim(await to.position())
  await expect(copyStore({ from, to, onProgress })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
})

test('writes that other clients make to the target during the comparison are not undone', async () => {
  const [from, to] = [await filled(), createMemoryStore()]
  let phase = ''
  const notePhase = (progress: CopyProgress) => {
    if (phase !== 'comparing' && progress.phase === 'comparing') {
      void to.commit({ writes: [put('shop/products/999', { n: 'theirs' })] })
    }
    phase = progress.phase
  }
  await expect(copyStore({ from, to, onProgress: notePhase })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  expect(Buffer.from((await to.get('shop/products/999'))!.body).toString()).toBe('{"n":"theirs"}')
})

test('a copy killed after any write to the target continues, whatever has changed meanwhile', async () => {
  for (let killedAt = 1; killedAt < 12; killedAt++) {
    const [from, store] = [await filled(100), createMemoryStore()]
    let writes = 0
    const killed = <Result>(done: Promise<Result>): Promise<Result> =>
      done.then(result => {
        if (++writes === killedAt) throw new Error('killed')
        return result
      })
    const to = intercepted(store, {
      commit: commit => killed(store.commit(commit)),
      remember: (name, value) => killed(store.remember(name, value)),
    })
    await copyStore({ from, to, onProgress }).catch(() => undefined)
    const all = Array.from({ length: 100 }, (_, i) => `shop/products/${i}`)
    await from.commit({ writes: all.map((key, i) => (i % 3 === 0 ? { key, delete: true } : put(key, { n: 'new' }))) })
    await copyStore({ from, to: store, onProgress })
    expect(await differences(from, store)).toEqual([])
  }
})

test('a store is not copied into itself, whatever its names', async () => {
  const store = await filled(3)
  const refused = { code: 'CONFIG_INVALID', message: expect.stringContaining('name the same store') }
  await expect(copyStore({ from: store, to: store, onProgress })).rejects.toMatchObject(refused)
})

test('a source that was replaced by another store meanwhile is refused', async () => {
  const [store, to] = [await filled(3), createMemoryStore()]
  let log = store.log
  const from = intercepted(store, {
    get log() {
      return log
    },
  })
  const copy = new StoreCopy({ from, to, onProgress })
  await copy.run()
  log = 'another'
  await expect(copy.follow()).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
})
