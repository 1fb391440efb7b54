import { setTimeout } from 'node:timers/promises'
import { candidateOf, matches } from '@freshet/core/queries'
import type { Query, Store } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { type EmbeddedStore, openEmbeddedStore } from '../embedded-store.js'
import { openEnvironment } from '../environment.js'
import { BUCKET, INDEXES } from '../under-test/indexing-writer.js'
import { startProcess } from '../under-test/start-process.js'
import { temporaryFolder } from '../under-test/temporary-folder.js'

const KILLS = 6
const OBJECTS = 40_000
/** The kill comes after at most this much further progress. */
const STRETCH = 3000
const DEADLINE_MS = 60_000
const indexingWriter = new URL('../under-test/indexing-writer.js', import.meta.url)

interface Progress {
  readonly done: number
  readonly isReady: boolean
}
const isProgress = (message: unknown): message is Progress =>
  typeof message === 'object' && message !== null && 'done' in message

const isFurther =
  (done: number) =>
  (message: unknown): message is Progress =>
    isProgress(message) && (message.done > done || message.isReady)

test(`an index whose build is killed ${KILLS} times continues where it was, and equals a full scan in the end`, async () => {
  const folder = await temporaryFolder()
  const opened: Progress[] = []
  for (let kill = 0; kill < KILLS; kill++) {
    const writer = startProcess(indexingWriter, [folder.path, String(OBJECTS)])
    const progress = await writer.message(isProgress)
    opened.push(progress)
    await writer.message(isFurther(progress.done + Math.random() * STRETCH))
    // A random time, not a wait for a condition: the kill may come at any moment.
    await setTimeout(Math.random() * 5)
    await writer.kill()
  }
  const done = opened.map(progress => progress.done)
  expect(done).toEqual([...done].sort((a, b) => a - b))
  expect(opened.filter(({ done: count, isReady }) => count > 0 && !isReady).length).toBeGreaterThanOrEqual(2)
  const store = await openEmbeddedStore({ path: folder.path, scanMax: 100_000 })
  await until(async () => (await store.indexes(BUCKET)).every(({ isReady }) => isReady))
  await checkAgainstScan(store)
  const { entries } = await store.scan(BUCKET, { limit: 1_000_000 })
  await store.close()
  expect(await countEntries(folder.path)).toBe(entries.length * INDEXES.length)
  await folder.remove()
})

async function checkAgainstScan(store: Store): Promise<void> {
  const { entries } = await store.scan(BUCKET, { limit: 1_000_000 })
  const queries: Query[] = [0, 1, 2, 3, 4, 5, 6].flatMap(a => [{ where: { a } }, { where: { a, b: null } }])
  for (const query of queries) {
    const expected = entries.filter(entry => matches(query.where, candidateOf(entry))).map(({ id }) => id)
    const found: string[] = []
    let after: string | undefined
    do {
      const page = await store.query(BUCKET, { ...query, limit: 1000, ...(after !== undefined && { after }) })
      expect(page.plan.index).toBe('b' in query.where! ? 'by-b-a' : 'by-a')
      found.push(...page.entries.map(({ id }) => id))
      after = page.next
    } while (after !== undefined)
    expect(found).toEqual(expected)
  }
}

async function countEntries(path: string): Promise<number> {
  const environment = await openEnvironment({ path, mode: 'reading', inspect: () => {} })
  const count = environment.entries.getKeysCount({ start: Buffer.alloc(4), end: Buffer.alloc(4, 0xff) })
  await environment.close()
  return count
}

test('nothing is left of a dropped index, even if the store was closed in the meantime', async () => {
  const folder = await temporaryFolder()
  let store = await openEmbeddedStore({ path: folder.path, durability: 'relaxed' })
  const bodies = Array.from({ length: 3000 }, (_, i) => Buffer.from(JSON.stringify({ a: i })))
  const writes = bodies.map((body, i) => ({ key: `${BUCKET}/${i}`, contentType: 'application/json', body }))
  await declare(store, INDEXES)
  await store.commit({ writes })
  await declare(store, [])
  await store.close()
  store = await openEmbeddedStore({ path: folder.path, durability: 'relaxed' })
  await until(async () => (await countEntries(folder.path)) === 0)
  await declare(store, INDEXES)
  await until(async () => (await store.indexes(BUCKET)).every(({ isReady }) => isReady))
  expect(await countEntries(folder.path)).toBe(writes.length * INDEXES.length)
  await store.close()
  await folder.remove()
})

async function declare(store: EmbeddedStore, indexes: typeof INDEXES | undefined): Promise<void> {
  const body = Buffer.from('{}')
  await store.commit({ writes: [{ key: BUCKET, contentType: 'application/json', body, ...(indexes && { indexes }) }] })
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('The condition was not met in time.')
    await setTimeout(5)
  }
}
