/** Sessions that get pushed changes from a real server, over real connections that break. */
import { type ConnectOptions, connect, type Database } from '@freshet/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

let server: MemoryServer
let open: Database[] = []

beforeEach(async () => {
  server = await startMemoryServer({ heartbeatMs: 50 })
})

afterEach(async () => {
  for (const db of open) db.close()
  open = []
  await server.stop()
})

interface Watched {
  readonly db: Database
  readonly asked: string[]
}

/** A session with push, and all its requests. */
async function connectWatched(options: ConnectOptions = {}): Promise<Watched> {
  const asked: string[] = []
  const watched: ConnectOptions['fetch'] = (url, init) => {
    asked.push(url.slice(server.url.length))
    return fetch(url, init)
  }
  const db = await connect(server.url, { refresh: 'push', staleness: 2000, fetch: watched!, ...options })
  open.push(db)
  await vi.waitUntil(() => asked.some(target => target.startsWith('/coherence/events')), { timeout: 30_000 })
  return { db, asked }
}

async function write(count = 1): Promise<number> {
  const db = await connect(server.url)
  open.push(db)
  let position = 0
  for (let i = 0; i < count; i++) ({ position } = await db.bucket('shop/items').put(`${i}`, { i }))
  return position
}

function headsIn(asked: readonly string[]): number {
  return asked.filter(target => target.startsWith('/coherence?')).length
}

test("others' writes are known without a request, and reads stay fresh longer than the staleness without a head", async () => {
  const stalls = countStalls()
  const { db, asked } = await connectWatched({ staleness: 1000 })
  const position = await write(3)
  await vi.waitUntil(() => db.session.position >= position, { timeout: 30_000 })
  const untilMs = performance.now() + 4000
  while (performance.now() < untilMs) {
    expect(await db.bucket('shop/items').get('1')).toEqual({ i: 1 })
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  // One head at the start; without push it would be one a second. A machine that stalls may need one each time.
  expect(headsIn(asked)).toBeLessThanOrEqual(2 + stalls.end())
})

/** How often nothing ran here for a time in which the known changes may have become too old. */
function countStalls(): { end(): number } {
  let stalls = 0
  let lastMs = performance.now()
  const look = () => {
    if (performance.now() - lastMs > 200) stalls++
    lastMs = performance.now()
  }
  const timer = setInterval(look, 10)
  return {
    end: () => {
      clearInterval(timer)
      look()
      return stalls
    },
  }
}

test('a hot object that changes is fetched before a read needs it, and is then in memory for all reads', async () => {
  const writer = await connect(server.url)
  open.push(writer)
  await writer.bucket<{ n: number }>('shop/items').put('hot', { n: 0 })
  const { db } = await connectWatched()
  const hot = db.bucket<{ n: number }>('shop/items')
  await hot.get('hot', { read: 'current' })
  let fromMemory = 0
  for (let n = 1; n <= 10; n++) {
    await writer.bucket<{ n: number }>('shop/items').put('hot', { n })
    for (;;) {
      const found = (await hot.get('hot'))!
      expect(found.n).toBeGreaterThanOrEqual(n - 1)
      if (found.n === n && found.served.from === 'memory') fromMemory++
      if (found.n === n) break
      await new Promise(resolve => setTimeout(resolve, 2))
    }
  }
  // On a machine that stalls, the change may not be held back long enough.
  expect(fromMemory).toBeGreaterThanOrEqual(5)
})

test('a list does not contradict an object that was fetched ahead and shown', async () => {
  const writer = await connect(server.url)
  open.push(writer)
  await writer.bucket<{ n: number }>('shop/items').put('hot', { n: 0 })
  const slowLists: ConnectOptions['fetch'] = async (url, init) => {
    // Requests that fetch ahead take longer than the change is held back.
    if (url.includes('shop/items?') && url.includes('at=')) await new Promise(resolve => setTimeout(resolve, 600))
    return fetch(url, init)
  }
  const db = await connect(server.url, { refresh: 'push', staleness: 2000, fetch: slowLists! })
  open.push(db)
  const hot = db.bucket<{ n: number }>('shop/items')
  await hot.get('hot', { read: 'current' })
  await hot.page()
  for (let n = 1; n <= 5; n++) {
    await writer.bucket<{ n: number }>('shop/items').put('hot', { n })
    await vi.waitUntil(async () => (await hot.get('hot'))!.n === n, { timeout: 30_000, interval: 2 })
    expect((await hot.page()).items).toEqual([{ n }])
  }
})

test('a session survives a restart of the server, and learns of later writes', async () => {
  const { db } = await connectWatched()
  await write()
  await server.restart()
  const position = await write(5)
  await vi.waitUntil(() => db.session.position >= position, { timeout: 30_000 })
  expect(await db.bucket('shop/items').get('4')).toEqual({ i: 4 })
})

test('without a stream, the client polls', async () => {
  const refusing: ConnectOptions['fetch'] = async (url, init) =>
    url.includes('/coherence/events') ? new Response('no streams here', { status: 501 }) : fetch(url, init)
  const db = await connect(server.url, { refresh: 'push', staleness: 200, fetch: refusing! })
  open.push(db)
  const position = await write()
  await vi.waitUntil(() => db.session.position >= position, { timeout: 30_000 })
})

test('a closed connection leaves nothing behind that keeps the server waiting', async () => {
  const { db } = await connectWatched()
  db.close()
  const beganAtMs = performance.now()
  await server.restart()
  expect(performance.now() - beganAtMs).toBeLessThan(5000)
})
