/**
 * The requests whose code is counted, from a server over an embedded store and a client in one process. Each has run before, so
 * nothing is left to load, learn or set up. Each read is of another object, so that the store is read, and not the memory of the
 * server or the client.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@freshet/client'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { createFreshetServer } from '@freshet/server'
import { type Touched, TouchedCode } from './touched-code.js'

export const REQUESTS = ['get', 'clientGet', 'put', 'transaction', 'addition'] as const
export type RequestName = (typeof REQUESTS)[number]

const PACKAGES = new URL('../../../../packages/', import.meta.url)
const WARM_UPS = 3

/** What each request touches: the minimum over `repeats` runs, since the server's timers may fire during a run. */
export async function followRequests(repeats: number): Promise<Readonly<Record<RequestName, Touched>>> {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-bench-structure-'))
  const store = await openEmbeddedStore({ path: folder })
  const server = createFreshetServer({ store })
  const { url } = await server.listen({ port: 0 })
  const database = await connect(url)
  const code = new TouchedCode(PACKAGES)
  try {
    const requests = await prepareRequests(url, database, 2 * (WARM_UPS + repeats))
    await code.start()
    const touched: Partial<Record<RequestName, Touched>> = {}
    for (const name of REQUESTS) touched[name] = await leastTouched(code, requests[name], repeats)
    return touched as Record<RequestName, Touched>
  } finally {
    code.stop()
    database.close()
    await server.close()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function leastTouched(code: TouchedCode, request: () => Promise<unknown>, repeats: number): Promise<Touched> {
  for (let i = 0; i < WARM_UPS; i++) await request()
  let least = await code.during(request)
  for (let i = 1; i < repeats; i++) {
    const touched = await code.during(request)
    if (touched.files.length < least.files.length) least = touched
  }
  return least
}

type Database = Awaited<ReturnType<typeof connect>>

async function prepareRequests(
  url: string,
  database: Database,
  objects: number,
): Promise<Readonly<Record<RequestName, () => Promise<unknown>>>> {
  const products = database.bucket('shop/products')
  const views = database.counter('shop/views')
  for (let i = 0; i < objects; i++) await products.put(`${i}`, { stock: 1 })
  await fetch(`${url}/db/shop/views`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ kind: 'counter' }),
  })
  let next = 0
  let stock = 1
  return {
    get: async () => (await fetch(`${url}/db/shop/products/${next++}`)).arrayBuffer(),
    clientGet: () => products.get(`${next++}`),
    put: () => products.put('0', { stock: stock++ }),
    transaction: () =>
      database.transaction(async tx => {
        const product = await tx.bucket('shop/products').get('0')
        tx.bucket('shop/products').put('0', { ...product, stock: stock++ })
      }),
    addition: () => views.add('0', 1),
  }
}
