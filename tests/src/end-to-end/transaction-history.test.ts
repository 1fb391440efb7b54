/**
 * Histories of concurrent transactions, checked for anomalies. With a store that skips part of the validation, the same check
 * must find some, or it proves nothing.
 */
import { connect } from '@freshet/client'
import type { Commit, Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { createRandom } from '@freshet/lab/dist/harness/random.js'
import { runTransactions } from '@freshet/lab/dist/transaction-load/run-transactions.js'
import { createFreshetServer } from '@freshet/server'
import { expect, test } from 'vitest'

const seed = Math.floor(Math.random() * 2 ** 32)

async function withServer<Result>(
  careless: (commit: Commit) => Commit,
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const store = createMemoryStore()
  const planted = new Proxy<Store>(store, {
    get: (target, name) => {
      if (name === 'commit') return (commit: Commit) => target.commit(careless(commit))
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const server = createFreshetServer({ store: planted })
  try {
    return await use((await server.listen({ port: 0 })).url)
  } finally {
    await server.close({ graceMs: 100 })
    await store.close()
  }
}

function runHistory(careless: (commit: Commit) => Commit, queryShare = 0) {
  const load = { fetch, random: createRandom(seed), clients: 8, commits: 600, lists: 5, read: 'session' } as const
  return withServer(careless, url => runTransactions({ ...load, url, queryShare }))
}

const isObject = (key: string) => key.split('/').length === 3

test(`transactions are serialisable (seed ${seed})`, async () => {
  const { committed, conflicts, anomalies } = await runHistory(commit => commit)
  expect(anomalies).toEqual([])
  expect(committed).toBeGreaterThanOrEqual(600)
  expect(conflicts).toBeGreaterThan(0)
})

test('a store that does not validate reads is detected', async () => {
  const { anomalies } = await runHistory(({ reads = [], ...commit }) => ({
    ...commit,
    reads: reads.filter(({ key }) => !isObject(key)),
  }))
  expect(anomalies.length).toBeGreaterThan(0)
})

test('a store that validates only written objects is detected', async () => {
  const { anomalies } = await runHistory(({ reads = [], ...commit }) => ({
    ...commit,
    reads: reads.filter(({ key }) => !isObject(key) || commit.writes.some(write => write.key === key)),
  }))
  expect(anomalies.map(({ name }) => name)).toContain('G2')
})

test('a store that does not validate lists is detected: a table is booked twice', async () => {
  expect(await bookTables(commit => commit)).toBe(0)
  // One that found its table booked has nothing but its list.
  const withoutLists = ({ lists: _, ...commit }: Commit) => commit
  expect(await bookTables(commit => (commit.writes.length === 0 ? commit : withoutLists(commit)))).toBeGreaterThan(0)
})

test('transactions over queries are serialisable, too', async () => {
  const { committed, conflicts, anomalies } = await runHistory(commit => commit, 0.4)
  expect(anomalies).toEqual([])
  expect(committed).toBeGreaterThanOrEqual(600)
  expect(conflicts).toBeGreaterThan(0)
})

test('a store that does not validate queries is detected: write skew over objects that they did not find', async () => {
  const { anomalies } = await runHistory(
    ({ lists = [], ...commit }) => ({ ...commit, lists: lists.filter(({ tags }) => tags === undefined) }),
    0.4,
  )
  expect(anomalies.map(({ name }) => name)).toContain('G2')
})

/** How many tables were booked more than once. */
function bookTables(careless: (commit: Commit) => Commit): Promise<number> {
  return withServer(careless, async url => {
    const clients = await Promise.all([1, 2, 3, 4].map(() => connect(url)))
    let twice = 0
    for (let round = 0; round < 15; round++) {
      const prefix = `table-${round}-`
      await Promise.all(
        clients.map((db, i) =>
          db.transaction(async tx => {
            const bookings = tx.bucket('inn/bookings')
            if ((await bookings.page({ prefix })).items.length === 0) bookings.put(prefix + i, { guest: i })
          }),
        ),
      )
      const { items } = await clients[0]!.bucket('inn/bookings').page({ prefix, read: 'current' })
      if (items.length > 1) twice++
    }
    for (const db of clients) db.close()
    return twice
  })
}
