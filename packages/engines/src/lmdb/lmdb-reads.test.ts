/** Nothing is visible before it is durable: in these tests the mark is moved by hand, and LMDB is ahead of it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Batch } from './batch.js'
import { DurableMark } from './durable-mark.js'
import { type Environment, openEnvironment } from './environment.js'
import { LmdbReads } from './lmdb-reads.js'
import { DoneOperations } from './operations/done-operations.js'
import { RecordArena } from './record-arena.js'
import { type TemporaryFolder, temporaryFolder } from './under-test/temporary-folder.js'

let folder: TemporaryFolder
let environment: Environment
let mark: DurableMark

beforeEach(async () => {
  folder = await temporaryFolder()
  environment = await openEnvironment({ path: folder.path, mode: 'flushing', inspect: () => {} })
  mark = new DurableMark(1)
  let head = { epoch: 1, position: 0, timeMs: 0 }
  const deletion = { key: 'a/b/deleted', delete: true } as const
  for (const writes of [
    [put('a/b/old'), put('a/b/changed'), put('a/b/deleted')],
    [put('a/b/changed'), deletion, put('c/d/new')],
  ]) {
    await environment.transaction(() => {
      const operations = new DoneOperations({ tables: environment, retentionMs: 1, seed: 1n })
      const batch = new Batch({ tables: environment, arena: new RecordArena(), head, nowMs: 0, operations })
      batch.commit({ writes })
      batch.apply(1)
      head = { ...head, position: batch.position }
    })
  }
})

afterEach(async () => {
  await environment.close()
  await folder.remove()
})

for (const isShared of [false, true]) {
  const where = isShared ? 'in a reader' : 'in the writer'

  test(`${where}, durable data is returned at once`, () => {
    const reads = readsOf(isShared)
    expect(reads.get('a/b/old')).toMatchObject({ version: 1 })
  })

  test(`${where}, a read waits for a value, a deletion and a state that are not durable yet`, async () => {
    const reads = readsOf(isShared)
    const waiting = [
      reads.get('a/b/changed'),
      reads.get('a/b/deleted'),
      reads.get('c/d/new'),
      reads.inOneState(SUBJECT, async view => view.values(['a/b/old'])),
      readPage(reads),
      reads.buckets(),
    ]
    const settled: number[] = []
    for (const [i, read] of waiting.entries()) Promise.resolve(read).then(() => settled.push(i))
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(settled).toEqual([])
    mark.advance(2)
    const [changed, deleted, created, many, page, buckets] = await Promise.all(waiting)
    expect(changed).toMatchObject({ version: 2 })
    expect(deleted).toBe(undefined)
    expect(created).toMatchObject({ version: 2 })
    expect(many).toMatchObject({ position: 2 })
    expect(page).toMatchObject({ version: 2, position: 2 })
    expect(buckets).toEqual([
      { bucket: 'a/b', version: 2 },
      { bucket: 'c/d', version: 2 },
    ])
  })

  test(`${where}, a read that waits for data that will never be durable fails with the reason`, async () => {
    const reads = readsOf(isShared)
    const waiting = reads.get('a/b/changed')
    mark.fail(new Error('lost'))
    await expect(waiting).rejects.toThrow('lost')
    await expect(readPage(reads)).rejects.toThrow('lost')
    expect(reads.get('a/b/old')).toMatchObject({ version: 1 })
  })
}

test('the writer knows the durable position; a reader finds a newer state, and waits', async () => {
  const writer = readsOf(false)
  expect(writer.position()).toBe(1)
  expect((await writer.changes(0, 100)).entries.map(({ position }) => position)).toEqual([1])
  const reader = readsOf(true)
  const waiting = Promise.all([reader.position(), reader.changes(0, 100)])
  mark.advance(2)
  const [position, { entries }] = await waiting
  expect(position).toBe(2)
  expect(entries.map(entry => entry.position)).toEqual([1, 2])
})

const SUBJECT = { isOneRead: true }

function readsOf(isShared: boolean): LmdbReads {
  return new LmdbReads({ path: folder.path, environment, log: 'log', mark, isShared })
}

function readPage(reads: LmdbReads) {
  const [low, high] = ['a/b/', 'a/b0'].map(key => ({ key, isIncluded: true }))
  const range = { low: low!, high: high!, isDescending: false, limit: 100 }
  return reads.inOneState(SUBJECT, async view => view.page('a/b', range))
}

function put(key: string) {
  return { key, contentType: 'text/plain', body: Buffer.from(key) }
}
