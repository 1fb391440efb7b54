import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/stores/memory'
import { expect, test } from 'vitest'
import { differingKeys } from './compare-stores.js'
import { copyStore, followStore } from './copy-store.js'

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

test('all is copied, with its indexes, and compared', async () => {
  const [from, to] = [await filled(), createMemoryStore()]
  const report = await copyStore({ from, to, onProgress })
  expect(report).toMatchObject({ repaired: 0, position: await from.position() })
  expect(report.compared).toBeGreaterThan(1500)
  expect(await differences(from, to)).toEqual([])
  expect((await to.indexes('shop/products')).map(({ name, fields }) => ({ name, fields }))).toEqual([
    { name: 'by-n', fields: ['n'] },
  ])
})

test('what is written meanwhile is copied, too', async () => {
  const [from, to] = [await filled(), createMemoryStore()]
  let writes = 0
  const writing = async () => {
    const i = writes++
    await from.commit({ writes: [put(`shop/products/${(i * 37) % 1500}`, { n: -i }), put('shop/other/x', i)] })
    await from.commit({ writes: [{ key: `shop/products/${(i * 53) % 1500}`, delete: true }] })
  }
  // At every step, but not for ever.
  await copyStore({ from, to, onProgress: () => void (writes < 40 && writing()) })
  expect(writes).toBeGreaterThan(10)
  await followStore({ from, to, onProgress })
  expect(await differences(from, to)).toEqual([])
})

test('stopped at any step, it goes on from there', async () => {
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

test('where the log does not go back far enough any more, the comparison finds what is missing', async () => {
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

test('a target with something else in it is refused', async () => {
  const [from, to] = [await filled(10), await filled(1)]
  await expect(copyStore({ from, to, onProgress })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  const other = createMemoryStore()
  await copyStore({ from, to: other, onProgress })
  await expect(copyStore({ from: to, to: other, onProgress })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
})
