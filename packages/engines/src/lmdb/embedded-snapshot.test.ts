import { once } from 'node:events'
import type { Store } from '@freshet/core/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FromWriter, ipcChannel, type ToWriter } from './channel.js'
import { openEmbeddedReader } from './embedded-reader.js'
import { openEmbeddedSnapshot } from './embedded-snapshot.js'
import { type RunningProcess, startProcess } from './under-test/start-process.js'
import { temporaryFolder } from './under-test/temporary-folder.js'

const writerProcess = new URL('./under-test/writer-process.js', import.meta.url)
const isOpen = (message: unknown): message is 'open' => message === 'open'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let writer: RunningProcess
let store: Store

beforeEach(async () => {
  folder = await temporaryFolder()
  writer = startProcess(writerProcess, [folder.path])
  await writer.message(isOpen)
  store = await openEmbeddedReader({ path: folder.path, channel: ipcChannel<FromWriter, ToWriter>(writer.child) })
})
afterEach(async () => {
  await store.close()
  writer.child.send('close')
  await once(writer.child, 'exit')
  await folder.remove()
})

function put(key: string, value: unknown) {
  return store.commit({
    writes: [{ key, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) }],
  })
}

test('a snapshot stays unchanged while others write, and sees all their writes once it is renewed', async () => {
  for (let i = 0; i < 700; i++) await put(`shop/products/${i}`, i)
  const snapshot = await openEmbeddedSnapshot(folder.path)
  const position = await snapshot.position()
  for (let i = 0; i < 700; i++) await put(`shop/products/${i}`, -i - 1)
  await store.commit({ writes: [{ key: 'shop/products/7', delete: true }] })
  await put('shop/new/x', 1)

  const { entries } = await snapshot.scan('shop/products', { limit: 1000 })
  expect(entries.map(({ id, body }) => [id, Buffer.from(body).toString()])).toEqual(entries.map(({ id }) => [id, id]))
  expect(entries.length).toBe(700)
  expect((await snapshot.buckets()).map(({ bucket }) => bucket)).toEqual(['shop/products'])
  expect(Buffer.from((await snapshot.get('shop/products/7'))!.body).toString()).toBe('7')
  expect((await snapshot.changes(position)).length).toBe(0)
  expect((await snapshot.getMany(['shop/new/x'])).value).toEqual([undefined])

  snapshot.renew()
  expect((await snapshot.changes(position)).length).toBe(702)
  expect(await snapshot.position()).toBe(await store.position())
  expect((await snapshot.scan('shop/products', { limit: 1000 })).entries.length).toBe(699)
  expect(await snapshot.get('shop/products/7')).toBeUndefined()
  await snapshot.close()
})

test('opening a snapshot where there is no store creates nothing, and throws', async () => {
  await expect(openEmbeddedSnapshot(`${folder.path}/none`)).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
})
