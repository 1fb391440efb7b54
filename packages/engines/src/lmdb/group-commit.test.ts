/** What becomes of commits when LMDB fails: retried, refused, or the end of the store, but never half done. */

import { tmpdir } from 'node:os'
import type { Commit } from '@freshet/core/store'
import { encodeIndexes } from '@freshet/store/indexes'
import { decodeLogBatch, versionOf } from '@freshet/store/records'
import { expect, test } from 'vitest'
import { DurableMark } from './durable-mark.js'
import { GroupCommit } from './group-commit.js'
import { DoneOperations } from './operations/done-operations.js'
import { encodeHead } from './records.js'
import { createFakeEnvironment, type FakeEnvironment } from './under-test/fake-environment.js'

const MDB_BAD_TXN = -30782
const ENOSPC = 28
const EIO = 5

test('commits of one turn share a transaction; each has its own position', async () => {
  const { environment, commit, mark } = setUp()
  const results = await Promise.all([commit('a'), commit('b'), commit('c')])
  expect(results.map(result => result.committed && result.position)).toEqual([1, 2, 3])
  expect(environment.transactions).toBe(1)
  expect(mark.position).toBe(3)
})

test('a batch that LMDB refuses without a trace is retried, and answered once', async () => {
  const { environment, commit, durable, failures } = setUp()
  environment.failures.push({ kind: 'refuse', code: MDB_BAD_TXN }, { kind: 'refuse', code: MDB_BAD_TXN })
  const results = await Promise.all([commit('a'), commit('b')])
  expect(results.map(result => result.committed && result.position)).toEqual([1, 2])
  expect(environment.transactions).toBe(3)
  // The limit counts refusals in a row, and the count starts again.
  environment.failures.push({ kind: 'refuse', code: MDB_BAD_TXN }, { kind: 'refuse', code: MDB_BAD_TXN })
  expect(await commit('c')).toEqual({ committed: true, position: 3 })
  expect(durable).toEqual([2, 3])
  expect(failures).toEqual([])
})

test('three refusals in a row end the store, also for those who wait', async () => {
  const { environment, commit, mark, failures } = setUp()
  for (let i = 0; i < 3; i++) environment.failures.push({ kind: 'refuse', code: MDB_BAD_TXN })
  const waiting = mark.reached(1)
  const outcomes = await Promise.allSettled([commit('a'), commit('b'), waiting])
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_DAMAGED' } })
  await expect(commit('c')).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  expect(failures.length).toBe(1)
  expect(environment.transactions).toBe(3)
  expect(mark.position).toBe(0)
})

test('a batch that was written but not flushed is never acknowledged, and never retried', async () => {
  const { environment, commit, mark } = setUp()
  for (const code of [EIO, ENOSPC]) {
    environment.failures.push({ kind: 'not-flushed', code })
    await expect(commit('a')).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
    environment.failures.length = 0
  }
  expect(environment.transactions).toBe(1)
  expect(mark.position).toBe(0)
})

test('an error in deciding one commit fails only that commit', async () => {
  const { environment, commit, group, failures } = setUp()
  const mistake = group.submit(() => {
    throw new TypeError('No such thing.')
  })
  const outcomes = await Promise.allSettled([commit('a'), mistake, commit('b')])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: { message: 'No such thing.' } })
  expect(await commit('c')).toEqual({ committed: true, position: 3 })
  expect([environment.transactions, failures]).toEqual([2, []])
})

test('an error in the middle of writing ends the store: a part may have been committed', async () => {
  const { environment, commit } = setUp()
  environment.failures.push({ kind: 'throw-half-way' })
  const outcomes = await Promise.allSettled([commit('a'), commit('b'), commit('c')])
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'STORE_DAMAGED' } })
  expect(environment.transactions).toBe(1)
})

test('commits refused together on a full disk are tried one by one; then batches form again', async () => {
  const { environment, commit } = setUp()
  environment.failures.push({ kind: 'refuse', code: ENOSPC }, { kind: 'refuse', code: ENOSPC })
  const outcomes = await Promise.allSettled([commit('a'), commit('b'), commit('c')])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(outcomes[0]).toMatchObject({ reason: { code: 'STORE_FULL' } })
  expect(environment.transactions).toBe(4)
  await Promise.all([commit('d'), commit('e')])
  expect(environment.transactions).toBe(5)
})

test('after another process has begun an epoch, commits are refused', async () => {
  const { environment, commit, failures } = setUp()
  environment.meta.put('head', encodeHead({ epoch: 2, position: 9, timeMs: 0 }), 2)
  await expect(commit('a')).rejects.toMatchObject({ code: 'STORE_TAKEN_OVER' })
  expect(failures).toMatchObject([{ code: 'STORE_TAKEN_OVER' }])
  expect(environment.values.get('a/b/a')).toBe(undefined)
})

test('a commit that became visible late is logged again, with a time at which it was visible', async () => {
  const { environment, group, commit, clock, entries } = setUp()
  takeLong(environment, clock, 20_000)
  const results = await Promise.all([commit('a'), commit('b')])
  expect(results.map(result => result.committed && result.position)).toEqual([1, 2])
  await group.idle()
  // A copy of the earlier value may have been read until 20,000, and lives from then on.
  expect(entries()).toEqual([
    { position: 1, timeMs: 0, keys: ['a/b/a'], tags: [] },
    { position: 2, timeMs: 0, keys: ['a/b/b'], tags: [] },
    { position: 3, timeMs: 20_000, keys: ['a/b/a', 'a/b/b'], tags: [] },
  ])
  expect(['a', 'b'].map(id => versionOf(environment.values.get(`a/b/${id}`)!))).toEqual([1, 2])
  expect(await commit('c')).toEqual({ committed: true, position: 4 })
})

test('a commit that is logged again keeps its tags', async () => {
  const { environment, group, commit, clock, entries } = setUp()
  const index = { number: 1, name: 'by-x', fields: ['x'], declaredAt: 0, isReady: true, done: 0, total: 0 }
  environment.indexes.put('a/b', encodeIndexes([index]))
  takeLong(environment, clock, 20_000)
  await commit('a')
  await group.idle()
  expect(entries()).toEqual([
    { position: 1, timeMs: 0, keys: ['a/b/a'], tags: ['a/b?x=[missing]'] },
    { position: 2, timeMs: 20_000, keys: ['a/b/a'], tags: ['a/b?x=[missing]'] },
  ])
})

test('logging again may take any time: the entry is true from its own time on', async () => {
  const { environment, group, commit, clock, entries } = setUp()
  takeLong(environment, clock, 20_000)
  await commit('a')
  takeLong(environment, clock, 30_000)
  const second = commit('b')
  await group.idle()
  expect(await second).toEqual({ committed: true, position: 3 })
  expect(entries()).toEqual([
    { position: 1, timeMs: 0, keys: ['a/b/a'], tags: [] },
    { position: 2, timeMs: 20_000, keys: ['a/b/a'], tags: [] },
    { position: 3, timeMs: 20_000, keys: ['a/b/b'], tags: [] },
    { position: 4, timeMs: 50_000, keys: ['a/b/b'], tags: [] },
  ])
})

test('a commit that could not be logged again is logged with the next write', async () => {
  const { environment, group, commit, clock, entries } = setUp()
  takeLong(environment, clock, 20_000)
  await commit('a')
  environment.failures.push({ kind: 'refuse', code: ENOSPC })
  await group.idle()
  expect(entries().length).toBe(1)
  await group.submit(batch => batch.checkpoint())
  expect(entries().at(-1)).toEqual({ position: 2, timeMs: 20_000, keys: ['a/b/a'], tags: [] })
})

test('a batch of conflicts alone writes nothing', async () => {
  const { environment, group } = setUp()
  const commit: Commit = { reads: [{ key: 'a/b/c', version: 5 }], writes: [{ key: 'a/b/c', delete: true }] }
  const result = await group.submit(batch => batch.commit(commit))
  expect(result).toEqual({ committed: false, conflicts: [{ key: 'a/b/c', version: 0 }] })
  expect(environment.transactions).toBe(0)
})

function setUp() {
  const environment = createFakeEnvironment()
  environment.meta.put('head', encodeHead({ epoch: 1, position: 0, timeMs: 0 }), 1)
  const mark = new DurableMark(0)
  const clock = { nowMs: 0 }
  const durable: number[] = []
  const failures: unknown[] = []
  const group = new GroupCommit({
    path: tmpdir(),
    environment,
    epoch: 1,
    mark,
    nowMs: () => clock.nowMs,
    operations: new DoneOperations({ tables: environment, retentionMs: 1000, seed: 1n }),
    onDurable: position => durable.push(position),
    onFailed: error => failures.push(error),
  })
  const commit = (id: string) => {
    const writes = [{ key: `a/b/${id}`, contentType: 'x/y', body: Buffer.from(id) }]
    return group.submit(batch => batch.commit({ writes }))
  }
  const entries = () =>
    [...environment.log.getRange({ start: 0 })].flatMap(({ key, value }) => decodeLogBatch(key, value))
  return { environment, mark, durable, failures, group, commit, clock, entries }
}

/** Makes the next transaction take that long. */
function takeLong(environment: FakeEnvironment, clock: { nowMs: number }, durationMs: number): void {
  environment.onFlush = () => {
    clock.nowMs += durationMs
    environment.onFlush = () => {}
  }
}
