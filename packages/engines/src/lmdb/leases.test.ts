import { once } from 'node:events'
import type { Commit, CommitResult, GrantedLease, Store } from '@freshet/core/store'
import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../memory/memory-store.js'
import { type FromWriter, ipcChannel, type ToWriter } from './channel.js'
import { openEmbeddedReader } from './embedded-reader.js'
import { openEmbeddedStore } from './embedded-store.js'
import { startProcess } from './under-test/start-process.js'
import { temporaryFolder } from './under-test/temporary-folder.js'

interface Opened {
  readonly store: Store
  dispose(): Promise<void>
}

const KEY = 'shop/products/1'
const OTHER = 'shop/products/2'
const LONG_MS = 60_000

async function openEmbedded(): Promise<Opened> {
  const folder = await temporaryFolder()
  const store = await openEmbeddedStore({ path: folder.path, durability: 'relaxed' })
  const dispose = async () => {
    await store.close()
    await folder.remove()
  }
  return { store, dispose }
}

/** As in a worker: the queue is in the other process. */
async function openReader(): Promise<Opened> {
  const folder = await temporaryFolder()
  const writer = startProcess(new URL('./under-test/writer-process.js', import.meta.url), [folder.path])
  await writer.message((message): message is 'open' => message === 'open')
  const channel = ipcChannel<FromWriter, ToWriter>(writer.child)
  const store = await openEmbeddedReader({ path: folder.path, channel })
  const dispose = async () => {
    await store.close()
    writer.child.send('close')
    await once(writer.child, 'exit')
    await folder.remove()
  }
  return { store, dispose }
}

function put(key: string, version: number | undefined, lease?: Commit['lease']): Commit {
  const reads = version === undefined ? [] : [{ key, version }]
  const writes = [{ key, contentType: 'application/json', body: Buffer.from('{}') }]
  return { reads, writes, ...(lease === undefined ? {} : { lease }) }
}

/** A commit that read too early, and requests a lease of the key. */
async function refused(store: Store, ms = LONG_MS): Promise<GrantedLease> {
  const result = await store.commit(put(KEY, 0, { ms, keys: [KEY] }))
  return leaseOf(result)
}

function leaseOf(result: CommitResult): GrantedLease {
  if (result.committed || result.lease === undefined) throw new Error(`There is no lease in ${JSON.stringify(result)}.`)
  return result.lease
}

async function versionOf(store: Store, key: string): Promise<number> {
  return (await store.get(key))?.version ?? 0
}

describe.each([
  [
    'in memory',
    async (): Promise<Opened> => {
      const store = createMemoryStore()
      return { store, dispose: () => store.close() }
    },
  ],
  ['embedded', openEmbedded],
  ['embedded, from another process', openReader],
])('leases of a store %s', (_name, open) => {
  async function withStore(act: (store: Store) => Promise<void>): Promise<void> {
    const { store, dispose } = await open()
    try {
      await store.commit(put(KEY, undefined))
      await act(store)
    } finally {
      await dispose()
    }
  }

  test('are granted only with a refusal, and only for the requested keys', () =>
    withStore(async store => {
      const ask = { ms: LONG_MS, keys: [OTHER] }
      expect(await store.commit(put(OTHER, 0, ask))).toMatchObject({ committed: true })
      expect(await store.commit(put(KEY, 0, ask))).not.toHaveProperty('lease')
      expect(await store.commit(put(KEY, 0))).not.toHaveProperty('lease')
      expect(await refused(store)).toMatchObject({ ms: LONG_MS, keys: [KEY] })
    }))

  test('make other writers of the key wait, and no one else', () =>
    withStore(async store => {
      const { id } = await refused(store)
      const done: string[] = []
      const waiting = store.commit(put(KEY, undefined)).then(() => done.push('writer'))
      expect(await store.commit(put(OTHER, undefined))).toMatchObject({ committed: true })
      const version = await versionOf(store, KEY)
      expect(await store.commit({ reads: [{ key: KEY, version }], writes: [] })).toMatchObject({ committed: true })
      expect(done).toEqual([])
      const own = await store.commit(put(KEY, version, { id, keys: [KEY] }))
      expect(own).toMatchObject({ committed: true })
      await waiting
      expect(await versionOf(store, KEY)).toBeGreaterThan((own as { position: number }).position)
    }))

  test('are granted in the order of the requests, so that each client needs one more try', () =>
    withStore(async store => {
      const order: number[] = []
      const clients = Array.from({ length: 8 }, async (_, i) => {
        const { id } = await refused(store)
        const version = await versionOf(store, KEY)
        expect(await store.commit(put(KEY, version, { id, keys: [KEY] }))).toMatchObject({ committed: true })
        order.push(i)
      })
      await Promise.all(clients)
      expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    }))

  test('that are not used end by themselves', () =>
    withStore(async store => {
      const { id } = await refused(store, 30)
      expect(await store.commit(put(KEY, undefined))).toMatchObject({ committed: true })
      const version = await versionOf(store, KEY)
      expect(await store.commit(put(KEY, version, { id, keys: [KEY] }))).toMatchObject({ committed: true })
    }))

  test('do not make an outdated commit valid', () =>
    withStore(async store => {
      const { id } = await refused(store)
      const result = await store.commit(put(KEY, 0, { id, ms: LONG_MS, keys: [KEY] }))
      expect(leaseOf(result).id).not.toBe(id)
    }))
})

test('closing a store ends all waits', async () => {
  const { store, dispose } = await openEmbedded()
  await store.commit(put(KEY, undefined))
  await refused(store)
  const waiting = store.commit(put(KEY, undefined))
  const asking = refused(store)
  const outcomes = Promise.allSettled([waiting, asking])
  await dispose()
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
