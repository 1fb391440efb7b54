/** Transactions of concurrent clients against a real server: the anomalies that each must prevent, tried a few hundred times. */
import { connect, type Database, idOf, type Transaction } from '@freshet/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

interface Account {
  readonly balance: number
}

let server: MemoryServer
let clients: Database[]

beforeAll(async () => {
  server = await startMemoryServer()
  clients = await Promise.all(Array.from({ length: 6 }, () => connect(server.url)))
})

afterAll(async () => {
  for (const db of clients) db.close()
  await server.stop()
})

/** All clients at once, each `times` times. */
async function everyone(times: number, work: (db: Database, i: number) => Promise<unknown>): Promise<void> {
  await Promise.all(
    clients.map(async (db, client) => {
      for (let i = 0; i < times; i++) await work(db, client * times + i)
    }),
  )
}

test('money is moved, never created or lost, and every read of all accounts adds up', async () => {
  const [db] = clients
  const ids = ['a', 'b', 'c', 'd']
  await db!.commit(ids.map(id => ({ bucket: 'bank/accounts', id, value: { balance: 100 } })))
  await everyone(20, async (client, i) => {
    const [from, to] = [ids[i % 4]!, ids[(i * 7 + 1) % 4]!]
    if (i % 5 === 0) {
      const total = await client.transaction(tx => totalOf(tx, ids))
      expect(total).toBe(400)
    } else if (from !== to) {
      await client.transaction(tx => transfer(tx, from, to, 1 + (i % 30)), { retriesMax: 200 })
    }
  })
  expect(await db!.transaction(tx => totalOf(tx, ids))).toBe(400)
})

async function totalOf(tx: Transaction, ids: readonly string[]): Promise<number> {
  const accounts = await tx.bucket<Account>('bank/accounts').getMany(ids)
  return accounts.reduce((sum, account) => sum + account!.balance, 0)
}

async function transfer(tx: Transaction, from: string, to: string, amount: number): Promise<void> {
  const accounts = tx.bucket<Account>('bank/accounts')
  const [giver, taker] = await accounts.getMany([from, to])
  if (giver!.balance < amount) return
  accounts.put(from, { balance: giver!.balance - amount })
  accounts.put(to, { balance: taker!.balance + amount })
}

test('no update is lost', async () => {
  await everyone(15, db =>
    db.transaction(
      async tx => {
        const counters = tx.bucket<{ n: number }>('bank/counters')
        counters.put('hits', { n: ((await counters.get('hits'))?.n ?? 0) + 1 })
      },
      { retriesMax: 500 },
    ),
  )
  expect(await clients[0]!.bucket('bank/counters').get('hits', { read: 'current' })).toEqual({ n: 90 })
})

test('no write skew: of two doctors on call, one stays', async () => {
  for (let round = 0; round < 20; round++) {
    const shift = `hospital/shift-${round}`
    await clients[0]!.commit(['alice', 'bob'].map(id => ({ bucket: shift, id, value: { onCall: true } })))
    await Promise.all(
      ['alice', 'bob'].map((me, i) =>
        clients[i]!.transaction(async tx => {
          const doctors = tx.bucket<{ onCall: boolean }>(shift)
          const both = await doctors.getMany(['alice', 'bob'])
          if (both.filter(doctor => doctor?.onCall).length > 1) doctors.put(me, { onCall: false })
        }),
      ),
    )
    const left = await clients[2]!.bucket<{ onCall: boolean }>(shift).getMany(['alice', 'bob'], { read: 'current' })
    expect(left.filter(doctor => doctor?.onCall)).toHaveLength(1)
  }
})

test('no phantom: a table is booked once, although the booking does not exist when it is read', async () => {
  for (let round = 0; round < 20; round++) {
    const bookings = `inn/bookings-${round}`
    await Promise.all(
      clients.map((db, i) =>
        db.transaction(async tx => {
          const table = tx.bucket<{ guest: number }>(bookings)
          if ((await table.page({ prefix: 'table-1-' })).items.length === 0) table.put(`table-1-${i}`, { guest: i })
        }),
      ),
    )
    expect((await clients[0]!.bucket(bookings).page({ read: 'current' })).items).toHaveLength(1)
  }
})

test('a change in another part of the bucket is not a conflict', async () => {
  const [db, other] = clients
  await db!.bucket('inn/rooms').put('1-a', { free: true })
  const tx = await db!.begin()
  const rooms = tx.bucket('inn/rooms')
  expect((await rooms.page({ prefix: '1-' })).items).toHaveLength(1)
  await other!.bucket('inn/rooms').put('2-a', { free: true })
  rooms.put('1-b', { free: true })
  await tx.commit()
  const again = await db!.begin()
  await again.bucket('inn/rooms').page({ prefix: '1-' })
  await other!.bucket('inn/rooms').put('1-c', { free: true })
  again.bucket('inn/rooms').put('1-d', { free: true })
  await expect(again.commit()).rejects.toMatchObject({
    code: 'COMMIT_CONFLICT',
    details: { conflicts: [{ path: '/db/inn/rooms' }] },
  })
})

test('a transaction sees its own writes, and no other client does before it commits', async () => {
  const [db, other] = clients
  const notes = db!.bucket('inn/notes')
  await db!.commit(['a', 'b', 'id'].map(id => ({ bucket: 'inn/notes', id, value: { id: `own ${id}`, n: 1 } })))
  const tx = await db!.begin()
  const mine = tx.bucket<Record<string, unknown>>('inn/notes')
  mine.put('c', { n: 2 })
  mine.delete('a')
  const changed = { n: 3 }
  mine.put('b', changed)
  changed.n = 4
  expect(await mine.getMany(['a', 'b', 'c'])).toEqual([undefined, { n: 3 }, { n: 2 }])
  expect((await mine.page()).items.map(item => [idOf(item), item.n])).toEqual([
    ['b', 3],
    ['c', 2],
    ['id', 1],
  ])
  expect(await other!.bucket('inn/notes').get('c', { read: 'current' })).toBeUndefined()
  const { position } = await tx.commit()
  expect(await other!.bucket('inn/notes').getMany(['a', 'b', 'c'], { read: 'current' })).toEqual([
    undefined,
    { n: 3 },
    { n: 2 },
  ])
  expect((await notes.get('c'))!.version).toBe(position)
})

test('a read-only transaction is certified as a whole, or reports what has changed', async () => {
  const [db, other] = clients
  await db!.commit(['x', 'y'].map(id => ({ bucket: 'inn/pairs', id, value: { n: 1 } })))
  const before = await other!.bucket('inn/pairs').put('z', { n: 1 })
  const tx = await db!.begin()
  await tx.bucket('inn/pairs').getMany(['x', 'y'])
  expect((await tx.commit()).position).toBeGreaterThanOrEqual(before.position)
  const torn = await db!.begin()
  await torn.bucket('inn/pairs').get('x')
  await other!.commit(['x', 'y'].map(id => ({ bucket: 'inn/pairs', id, value: { n: 2 } })))
  await torn.bucket('inn/pairs').get('y')
  await expect(torn.commit()).rejects.toMatchObject({ code: 'COMMIT_CONFLICT' })
})

test('an error from outdated reads leads to a retry; one from true reads is thrown', async () => {
  const [db, other] = clients
  await db!.commit(['x', 'y'].map(id => ({ bucket: 'inn/sums', id, value: { n: 1 } })))
  let runs = 0
  const sum = await db!.transaction(async tx => {
    runs++
    const x = (await tx.bucket<{ n: number }>('inn/sums').get('x'))!.n
    if (runs === 1) await other!.commit(['x', 'y'].map(id => ({ bucket: 'inn/sums', id, value: { n: 2 } })))
    const y = (await tx.bucket<{ n: number }>('inn/sums').get('y'))!.n
    if (x !== y) throw new Error('torn')
    return x + y
  })
  expect([sum, runs]).toEqual([4, 2])
  await expect(
    db!.transaction(async tx => {
      await tx.bucket('inn/sums').getMany(['x', 'y'])
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
})

test('a transaction that has ended, or takes too long, cannot be used', async () => {
  const [db] = clients
  const tx = await db!.begin()
  tx.bucket('inn/ends').put('a', { n: 1 })
  tx.rollback()
  await expect(tx.commit()).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' })
  expect(await db!.bucket('inn/ends').get('a', { read: 'current' })).toBeUndefined()
  const slow = await db!.begin({ timeoutMs: 1 })
  await new Promise(resolve => setTimeout(resolve, 20))
  expect(() => slow.bucket('inn/ends').put('a', { n: 1 })).toThrow(/exceeded its timeoutMs/)
  let late: Transaction | undefined
  await db!.transaction(async tx => {
    late = tx
  })
  await expect(late!.bucket('inn/ends').get('a')).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' })
})

test('with leases no update is lost either, and no client needs many attempts', async () => {
  let attempts = 0
  await everyone(15, db =>
    db.transaction(
      async tx => {
        attempts++
        const counters = tx.bucket<{ n: number }>('bank/counters')
        counters.put('leased', { n: ((await counters.get('leased'))?.n ?? 0) + 1 })
      },
      { lease: true },
    ),
  )
  expect(await clients[0]!.bucket('bank/counters').get('leased', { read: 'current' })).toEqual({ n: 90 })
  // A refused transaction gets the next turn, and the data that it needs.
  expect(attempts).toBeLessThan(3 * 90)
})

test('a leased transaction works on the data in its lease, without further reads', async () => {
  const reads: string[] = []
  const db = await connect(server.url, { onRead: ({ path }) => reads.push(path) })
  const accounts = clients[0]!.bucket<Account>('bank/leased')
  await accounts.put('a', { balance: 1 })
  const seen: number[] = []
  await db.transaction(
    async tx => {
      const bucket = tx.bucket<Account>('bank/leased')
      const { balance } = (await bucket.get('a'))!
      seen.push(balance)
      if (seen.length === 1) await accounts.put('a', { balance: 10 })
      bucket.put('a', { balance: balance + 1 })
    },
    { lease: true },
  )
  expect(seen).toEqual([1, 10])
  expect(reads).toEqual(['/db/bank/leased/a'])
  expect(await accounts.get('a', { read: 'current' })).toEqual({ balance: 11 })
  db.close()
})

test('a leased transaction with nothing left to do returns its lease', async () => {
  const commits: { readonly leaseId?: string }[] = []
  const recorded: typeof fetch = (url, init) => {
    if (String(url).endsWith('/commit')) commits.push(JSON.parse(String(init?.body)))
    return fetch(url, init)
  }
  const db = await connect(server.url, { fetch: (url, init) => recorded(url, init) })
  const accounts = clients[0]!.bucket<Account>('bank/given-back')
  await accounts.put('a', { balance: 1 })
  await db.transaction(
    async tx => {
      const bucket = tx.bucket<Account>('bank/given-back')
      if ((await bucket.get('a'))!.balance === 0) return
      await accounts.put('a', { balance: 0 })
      bucket.put('a', { balance: 2 })
    },
    { lease: true },
  )
  expect(commits).toHaveLength(2)
  expect(commits[0]).not.toHaveProperty('leaseId')
  expect(commits[1]).toMatchObject({ leaseId: expect.any(String), writes: [] })
  db.close()
})

/** A cache that keeps everything it has seen forever, under each URL. */
function createHoarder(): { readonly fetch: (url: string, init: RequestInit) => Promise<Response> } {
  const kept = new Map<string, { readonly text: string; readonly status: number; readonly headers: Headers }>()
  return {
    fetch: async (url, init) => {
      if ((init.method ?? 'GET') !== 'GET' || !url.includes('/db/')) return fetch(url, init)
      let copy = kept.get(url)
      if (copy === undefined) {
        const answer = await fetch(url, init)
        copy = { text: await answer.text(), status: answer.status, headers: answer.headers }
        kept.set(url, copy)
      }
      return new Response(copy.text, copy)
    },
  }
}

test('a refused classic transaction reads outdated data again: an object, a deleted object, a list', async () => {
  const { fetch } = createHoarder()
  const db = await connect(server.url, { fetch, memoryBytesMax: 0 })
  const [other] = clients
  const items = other!.bucket<{ n: number }>('classic/items')
  await items.put('a', { n: 1 })
  await items.put('gone', { n: 1 })
  const attempts = { n: 0 }
  const look = () =>
    db.transaction(
      async tx => {
        attempts.n++
        const seen = tx.bucket<{ n: number }>('classic/items')
        const [a, gone] = await seen.getMany(['a', 'gone'])
        const ids = (await seen.page({ prefix: 'x' })).items.map(({ id }) => id)
        return { a: a?.n, gone: gone?.n, ids }
      },
      { read: 'any' },
    )
  expect(await look()).toEqual({ a: 1, gone: 1, ids: [] })
  await items.put('a', { n: 2 })
  await items.delete('gone')
  await items.put('x1', { n: 1 })
  attempts.n = 0
  expect(await look()).toEqual({ a: 2, gone: undefined, ids: ['x1'] })
  expect(attempts.n).toBeLessThanOrEqual(3)
  attempts.n = 0
  expect(await look()).toEqual({ a: 2, gone: undefined, ids: ['x1'] })
  expect(attempts.n).toBe(1)
  db.close()
})
