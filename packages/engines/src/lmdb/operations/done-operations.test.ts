/** What the store itself adds to the memory of operations: it forgets all that are too old, and does not know refused ones. */
import { setTimeout as delay } from 'node:timers/promises'
import { type ClientWindow, emptyWindow, rememberOperation, rememberOwn } from '@freshet/core/counters'
import type { OperationId, OwnOperationId } from '@freshet/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openEmbeddedStore } from '../embedded-store.js'
import { createFakeEnvironment } from '../under-test/fake-environment.js'
import { temporaryFolder } from '../under-test/temporary-folder.js'
import { DoneOperations } from './done-operations.js'

/** Settled to 5, last at 0, nothing under way. */
const A_WINDOW = Buffer.from([5, 0, 0, 0, 0, 0, 0, 0, 0, 0])
const CLIENTS = ['a', 'b', 'c'] as const
const TRANSACTION = fc.record({
  clients: fc.array(fc.constantFrom(...CLIENTS), { maxLength: 6 }),
  // Large ones make a checkpoint.
  noteBytes: fc.constantFrom(0, 10, 50_000),
  isRefused: fc.boolean(),
})

test('all foreign ids that are too old are forgotten, even without any client of ours', async () => {
  const folder = await temporaryFolder()
  const store = await openEmbeddedStore({ path: folder.path, durability: 'relaxed', retentionMs: 1 })
  try {
    for (let first = 0; first < 3000; first += 600) {
      const ids = Array.from({ length: 600 }, (_, i) => `id-${first + i}`)
      const operations = ids.map(id => ({ id: { kind: 'foreign', id }, fingerprint: id }) as const)
      const adds = [{ key: 'lab/counters/a', by: 1, decimals: 0 }]
      await Promise.all(operations.map(operation => store.commit({ writes: [], adds, operation })))
    }
    expect((await store.operationCounts()).foreign).toBe(3000)
    const lastMs = store.nowMs()
    while (store.nowMs() <= lastMs + 2) await delay(1)
    await store.forgetOperations()
    expect(store.operationCounts()).toMatchObject({ foreign: 0, clients: 0 })
  } finally {
    await store.close()
    await folder.remove()
  }
})

const sequencesOf = (operations: DoneOperations, client: string) =>
  [...(operations.window(client)?.done ?? [])].map(([sequence]) => sequence)

/** Private fields are not compared. */
const contentOf = (window: ClientWindow | undefined) => window && { ...window, done: [...window.done] }
const own = (client: string, sequence: number): OwnOperationId => ({
  ...{ kind: 'own', client, sequence, settledTo: sequence - 1, madeMs: 0 },
})

function does(operations: DoneOperations, id: OperationId, timeMs: number, position = 11): void {
  rememberOperation({ id, fingerprint: 'print', note: '' }, { position, units: [1] }, operations, timeMs)
}

test('operations of a refused transaction are not known', () => {
  const environment = createFakeEnvironment()
  const operations = new DoneOperations({ tables: environment, retentionMs: 100, seed: 1n })
  operations.begin(0, 10)
  does(operations, own('a', 1), 0)
  operations.apply(1)
  operations.end()
  operations.begin(1, 11)
  does(operations, own('a', 2), 1)
  does(operations, own('b', 1), 1)
  // The transaction is not even applied.
  operations.begin(2, 11)
  expect(operations.window('b')).toBeUndefined()
  expect(sequencesOf(operations, 'a')).toEqual([1])
  expect(operations.counts().clients).toBe(1)
})

test('windows are the same from memory, from the journal, and after checkpoints, whichever transactions were refused', () => {
  fc.assert(
    fc.property(fc.array(TRANSACTION, { minLength: 1, maxLength: 12 }), transactions => {
      const environment = createFakeEnvironment()
      const options = { tables: environment, retentionMs: 1000, seed: 1n }
      const operations = new DoneOperations(options)
      const model = new Map<string, ClientWindow>()
      let position = 10
      for (const [number, { clients, noteBytes, isRefused }] of transactions.entries()) {
        operations.begin(number, position)
        const before = environment.snapshot()
        for (const [i, client] of clients.entries()) {
          const sequence = (operations.window(client)?.settledTo ?? 0) + 2
          const id = { ...own(client, sequence), settledTo: sequence - 1 }
          const operation = { id, fingerprint: `${number}`, note: 'x'.repeat(noteBytes) }
          const done = { position: position + 1 + i, units: [i] }
          rememberOperation(operation, done, operations, number)
          if (isRefused) continue
          const known = model.get(client) ?? emptyWindow()
          rememberOwn(known, id, { ...done, units: i, fingerprint: `${number}`, note: operation.note }, number)
          model.set(client, known)
        }
        operations.apply(1)
        if (isRefused) environment.restore(before)
        else {
          position += clients.length
          operations.end()
        }
      }
      operations.begin(99, position)
      const reopened = new DoneOperations(options)
      reopened.begin(99, position)
      for (const client of CLIENTS) {
        expect(contentOf(operations.window(client))).toEqual(contentOf(model.get(client)))
        expect(contentOf(reopened.window(client))).toEqual(contentOf(model.get(client)))
      }
    }),
    { numRuns: 300, seed: 6 },
  )
})

test('however many windows are read, few are kept in memory, and those that are not on disk are not lost', () => {
  const environment = createFakeEnvironment()
  const operations = new DoneOperations({ tables: environment, retentionMs: 100, seed: 1n })
  for (let i = 0; i < 25_000; i++) environment.clients.put(`${i}`, A_WINDOW)
  operations.begin(0, 10)
  does(operations, own('a', 1), 0)
  operations.apply(1)
  operations.end()
  let most = 0
  for (let i = 0; i < 25_000; i += 100) {
    operations.begin(1, 11)
    for (let k = 0; k < 100; k++) expect(operations.window(`${i + k}`)!.settledTo).toBe(5)
    most = Math.max(most, operations.counts().memoryBytes)
    operations.end()
  }
  expect(most).toBeLessThan(3_000_000)
  expect(sequencesOf(operations, 'a')).toEqual([1])
})

test('a client that returns is not forgotten in the same transaction', () => {
  const environment = createFakeEnvironment()
  const operations = new DoneOperations({ tables: environment, retentionMs: 100, seed: 1n })
  environment.clients.put('a', A_WINDOW)
  operations.begin(10_000_000, 10)
  expect(operations.forget(undefined)).toBeUndefined()
  does(operations, own('a', 6), 10_000_000)
  operations.apply(1)
  operations.end()
  operations.begin(10_000_001, 11)
  expect(sequencesOf(operations, 'a')).toEqual([6])
})

test.each([undefined, {}])(
  'an id of a transaction that was refused after it was applied is still new, compact %j',
  compact => {
    const environment = createFakeEnvironment()
    const operations = new DoneOperations({ tables: environment, retentionMs: 100, seed: 1n, compact })
    const before = environment.snapshot()
    operations.begin(0, 10)
    does(operations, { kind: 'foreign', id: 'a' }, 0)
    operations.apply(1)
    environment.restore(before)
    operations.begin(1, 10)
    expect(operations.foreign('a')).toBeUndefined()
    does(operations, { kind: 'foreign', id: 'a' }, 1)
    operations.apply(1)
    operations.end()
    operations.begin(2, 11)
    expect(operations.foreign('a')).toBeDefined()
    expect(operations.counts().foreign + environment.operations.getStats().entryCount).toBe(1)
  },
)

test('an id that is used again after it expired is not forgotten with its first use', () => {
  const environment = createFakeEnvironment()
  const operations = new DoneOperations({ tables: environment, retentionMs: 100, seed: 1n })
  const foreign = (id: string) => ({ kind: 'foreign', id }) as const
  operations.begin(0, 10)
  does(operations, foreign('a'), 0, 11)
  does(operations, foreign('b'), 0, 12)
  operations.apply(1)
  operations.end()
  operations.begin(1000, 12)
  expect(operations.foreign('b')).toBeUndefined()
  does(operations, foreign('b'), 1000, 13)
  operations.apply(1)
  operations.end()
  operations.begin(1001, 13)
  operations.forget(undefined)
  operations.apply(1)
  operations.end()
  operations.begin(1002, 13)
  expect(operations.foreign('b')).toMatchObject({ position: 13 })
  expect(environment.operations.get('a')).toBeUndefined()
})
