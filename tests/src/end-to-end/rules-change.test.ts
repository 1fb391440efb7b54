/**
 * A change of rules takes effect as a write does. Copies that were public when they were made are still in the cache, and no
 * session is shown one of them, however it learns of changes, whatever it requests, and whichever server it asks.
 */
import { connect, type Database } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { applyRules, createFreshetServer, type FreshetServer } from '@freshet/server'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type MisbehavingCache, startMisbehavingCache } from './misbehaving-cache.js'

const TOKENS = { secret: 'a secret of at least thirty-two bytes', audience: 'freshet', leewayMs: 0 }
const OPEN = 'bucket shop/products\n  read, list, write\nbucket shop/others\n  read, list, write\n'
const CLOSED = OPEN.replace('read, list, write', 'read, list if claim.sub == "ann"\n  write')
const SESSIONS = { 'on demand': 'on-demand', 'that polls': 'poll', 'with push': 'push' } as const

let store: ReturnType<typeof createMemoryStore>
let servers: FreshetServer[] = []
let cache: MisbehavingCache
let databases: Database[] = []

/** Puts the rules into force, and starts a server. */
async function startServer(rules: string): Promise<string> {
  await applyRules(store, { rules, who: 'a test' })
  const server = createFreshetServer({
    store,
    settings: { lifetimeMs: 600_000, heartbeatMs: 50 },
    access: { rules, tokens: TOKENS },
  })
  servers.push(server)
  return (await server.listen({ port: 0 })).url
}

beforeEach(async () => {
  store = createMemoryStore()
  cache = await startMisbehavingCache({ origin: await startServer(OPEN), graceMs: 600_000, random: () => 0.99 })
})

afterEach(async () => {
  for (const db of databases) db.close()
  await cache.stop()
  for (const server of servers) await server.close({ graceMs: 100 })
  await store.close()
  servers = []
  databases = []
})

test.each(Object.entries(SESSIONS))('a session %s does not use a copy from before the change', async (_, refresh) => {
  const db = await connect(cache.url, { refresh, staleness: 100 })
  databases.push(db)
  const products = db.bucket<{ price: number }>('shop/products')
  const reads = {
    object: () => products.get('tea'),
    list: () => products.list().next(),
    query: () => products.query({ where: { price: { $lt: 9 } } }),
  }
  await db.bucket('shop/others').put('cup', { price: 2 })
  await products.put('tea', { price: 5 })
  for (const read of Object.values(reads)) await read()
  const plain = `${cache.url}/db/shop/products/tea`
  expect(await (await fetch(plain)).json()).toEqual({ price: 5 })

  await startServer(CLOSED)
  for (const read of Object.values(reads)) {
    await vi.waitFor(() => expect(read()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' }), { timeout: 30_000 })
    // And not once more.
    for (let i = 0; i < 20; i++) await expect(read()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  }
  const late = await connect(cache.url, { staleness: 600_000 })
  databases.push(late)
  await expect(late.bucket('shop/products').get('tea')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  // What stayed open is read as before, and the cache still has what it had.
  expect(await db.bucket('shop/others').get('cup')).toEqual({ price: 2 })
  expect(await (await fetch(plain)).json()).toEqual({ price: 5 })
})
