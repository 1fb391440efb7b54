import { connect, type Fetch } from '@freshet/client'
import type { IdempotencyAnswer } from '@freshet/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FreshetProcess, serveFolder } from './freshet-process.js'
import { type MemoryServer, startMemoryServer } from './memory-server.js'
import { useFolder } from './test-folder.js'

/** Of every ten writes, three take effect without an answer, one is delivered twice, and one is lost on its way. */
function createLossyFetch(): Fetch {
  let n = 0
  return async (url, init) => {
    if ((init.method ?? 'GET') === 'GET') return fetch(url, init)
    const turn = n++ % 10
    if (turn === 7) throw lost()
    const response = await fetch(url, init)
    if (turn === 3) return fetch(url, init)
    if (turn % 4 !== 1) return response
    await response.text()
    throw lost()
  }
}

function lost(): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' }) })
}

test('sums and the largest counters are current, whichever client added', async () => {
  const server = await startMemoryServer()
  try {
    const [db, other] = await Promise.all([connect(server.url), connect(server.url, { staleness: 0 })])
    const views = db.counter('shop/views')
    expect([await views.sum(), await views.top()]).toEqual([0, []])
    await views.configure({ decimals: 1 })
    await views.addMany([{ id: 'a', by: 2.5 }, { id: 'b', by: 7 }, { id: 'c' }])
    expect(await views.sum()).toBe(10.5)
    expect(await other.counter('shop/views').sum()).toBe(10.5)
    await views.add('a', 5)
    expect(await other.counter('shop/views').top(2)).toEqual([
      { id: 'a', value: 7.5 },
      { id: 'b', value: 7 },
    ])
    expect(await other.counter('shop/views').sum()).toBe(15.5)
    db.close()
    other.close()
  } finally {
    await server.stop()
  }
})

describe('over a network that loses and repeats', () => {
  let server: MemoryServer
  beforeEach(async () => {
    server = await startMemoryServer()
  })
  afterEach(() => server.stop())

  test('every kind of write takes effect once, and a retry gets the first answer', async () => {
    const db = await connect(server.url, { fetch: createLossyFetch(), random: () => 0.1 })
    const views = db.counter('shop/views')
    await views.configure({ decimals: 2 })
    const positions = new Set<number>()
    await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const { version } = await db.bucket('shop/products').put(`${i}`, { i }, { ifVersion: 'absent' })
        positions.add(version)
        positions.add((await db.bucket('shop/products').patch(`${i}`, { n: 1 }, { ifVersion: version })).version)
        positions.add((await db.bucket('shop/orders').create({ i })).version)
        positions.add((await views.add('one', 0.25)).version)
        const results = await views.addMany([{ id: 'one', by: 0.5 }, { id: `${i}` }])
        for (const result of results) expect(result).toHaveProperty('value')
        const { values, position } = await db.commit([
          { bucket: 'shop/products', id: `${i}`, delete: true },
          { bucket: 'shop/views', id: 'one', add: 1 },
        ])
        expect(values).toHaveLength(1)
        positions.add(position)
      }),
    )
    expect(await views.get('one', { read: 'current' })).toBe(40 * 1.75)
    expect(await views.getMany(['0', '39'])).toEqual([1, 1])
    expect((await db.bucket('shop/products').page()).items).toHaveLength(0)
    expect((await db.bucket('shop/orders').page({ limit: 100 })).items).toHaveLength(40)
    expect(positions.size).toBe(5 * 40)
    const { replays, clients } = (await (await fetch(`${server.url}/idempotency`)).json()) as IdempotencyAnswer
    expect(replays).toBeGreaterThan(50)
    expect(clients).toBe(1)
    db.close()
  })

  test('the next page sends the rest of an outbox, under the old ids', async () => {
    const items = new Map<string, string>()
    const storage = {
      get length() {
        return items.size
      },
      key: (i: number) => [...items.keys()][i] ?? null,
      getItem: (name: string) => items.get(name) ?? null,
      setItem: (name: string, value: string) => void items.set(name, value),
      removeItem: (name: string) => void items.delete(name),
    }
    const first = await connect(server.url)
    await first.counter('shop/views').configure()
    // From here on, answers are lost.
    const before = await connect(server.url, {
      outbox: storage,
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        if (init.method === 'POST') throw lost()
        return response
      },
    })
    const ends = Promise.allSettled([
      before.counter('shop/views').add('a', 3),
      before.counter('shop/views').addMany([{ id: 'b', by: 4 }]),
    ])
    await expect.poll(() => first.counter('shop/views').getMany(['a', 'b'], { read: 'current' })).toEqual([3, 4])
    before.close()
    await ends
    const after = await connect(server.url, { outbox: storage })
    const { done, left } = await after.outbox!.flush()
    expect([done.length, left, items.size]).toEqual([2, 0, 0])
    expect(await after.counter('shop/views').getMany(['a', 'b'])).toEqual([3, 4])
    for (const db of [first, after]) db.close()
  })
})

describe('with a server that is killed', () => {
  const folder = useFolder('operations', 'test')
  let server: FreshetProcess
  beforeEach(async () => {
    server = await serveFolder(folder())
  })

  test('counts exactly the additions, and no conditional write conflicts with itself', async () => {
    const db = await connect(server.url, { timeoutMs: 60_000, retriesMax: 100 })
    const views = db.counter('shop/views')
    await views.configure()
    let isOver = false
    let added = 0
    const values = new Set<number>()
    const adders = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const { value } = await views.add('hot')
        added++
        values.add(value)
      }
    })
    const chains = Array.from({ length: 4 }, async (_, i) => {
      let version: number | 'absent' = 'absent'
      for (let n = 0; !isOver; n++) {
        version = (await db.bucket('shop/chains').put(`${i}`, { n }, { ifVersion: version })).version
      }
    })
    for (let round = 0; round < 3; round++) {
      const seen = added
      await expect.poll(() => added).toBeGreaterThan(seen + 200)
      await server.kill()
      server = await serveFolder(folder(), server.port)
    }
    isOver = true
    await Promise.all([...adders, ...chains])
    expect(await views.get('hot', { read: 'current' })).toBe(added)
    // Each answer had its own value: the one that the operation itself reached.
    expect(values.size).toBe(added)
    db.close()
  }, 300_000)
})
