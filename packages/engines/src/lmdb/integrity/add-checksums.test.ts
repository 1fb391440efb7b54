import { afterEach, beforeEach, expect, test } from 'vitest'
import { openEmbeddedSnapshot } from '../embedded-snapshot.js'
import { type EmbeddedStore, openEmbeddedStore } from '../embedded-store.js'
import { makeEarlierFormat } from '../under-test/earlier-format.js'
import { temporaryFolder } from '../under-test/temporary-folder.js'
import { examineFile } from './examine-file.js'

const OBJECTS = 5000

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())

async function makeStore(): Promise<EmbeddedStore> {
  const store = await openEmbeddedStore({ path: folder.path, durability: 'relaxed' })
  const indexes = [{ name: 'n', fields: ['n'] }]
  await store.commit({ writes: [{ key: 'a/b', contentType: 'application/json', body: Buffer.from('{}'), indexes }] })
  for (let i = 0; i < OBJECTS; i += 500) {
    const numbers = Array.from({ length: 500 }, (_, j) => i + j)
    const writes = numbers.map(n => ({
      key: `a/b/${n}`,
      contentType: 'application/json',
      body: Buffer.from(JSON.stringify({ n })),
    }))
    const id = { kind: 'foreign', id: `order-${i}` } as const
    await store.commit({ writes, operation: { id, fingerprint: 'f' } })
  }
  await store.remember('note', Buffer.from('remembered'))
  return store
}

async function contentOf(store: Pick<EmbeddedStore, 'scan'>): Promise<readonly string[]> {
  const entries: string[] = []
  for (let after: string | undefined, isEnd = false; !isEnd; ) {
    const page = await store.scan('a/b', { limit: 1000, ...(after === undefined ? {} : { after }) })
    entries.push(...page.entries.map(({ id, version, body }) => `${id} ${version} ${Buffer.from(body).toString()}`))
    after = page.next
    isEnd = after === undefined
  }
  return entries
}

test('a store of an earlier format keeps all its data, and has checksums once a writer has opened it', async () => {
  const made = await makeStore()
  const before = await contentOf(made)
  expect(before.length).toBe(OBJECTS)
  await made.close()
  await makeEarlierFormat(folder.path)
  expect(await examineFile({ path: folder.path })).toMatchObject({ hasChecksums: false, damages: [] })
  const snapshot = await openEmbeddedSnapshot(folder.path)
  expect(await contentOf(snapshot)).toEqual(before)
  await snapshot.close()
  expect(await examineFile({ path: folder.path })).toMatchObject({ hasChecksums: false })

  const store = await openEmbeddedStore({ path: folder.path })
  expect(await contentOf(store)).toEqual(before)
  expect(Buffer.from((await store.recall('note'))!).toString()).toBe('remembered')
  const { entries } = await store.query('a/b', { where: { n: 77 } } as never)
  expect(entries.map(({ id }) => id)).toEqual(['77'])
  const id = { kind: 'foreign', id: 'order-0' } as const
  const again = { writes: [{ key: 'a/b/0', delete: true }], operation: { id, fingerprint: 'f' } } as const
  expect(await store.commit(again)).toMatchObject({ committed: true, replayed: { note: '' } })
  await store.close()
  expect(await examineFile({ path: folder.path })).toMatchObject({ hasChecksums: true, damages: [] })
})
