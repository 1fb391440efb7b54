/**
 * How the clients of table 12 come to know that a profile has changed, with Varnish before the server in each case:
 *
 * - smart client: reads whatever the cache has; the server validates every transaction when it ends, and if something was
 *   outdated, the transaction is run again at once, with a request that makes the cache fetch anew. This Varnish lets
 *   clients do so, as in the thesis; the shipped one does not.
 * - filter: asks for what has changed when a transaction begins.
 * - server invalidation: reads whatever the cache has; the server purges what is written.
 * - pushed filter (not in the thesis): is told what has changed. A read that finds nothing new is then answered from the
 *   client's own memory, so that it can look twenty times as often and still ask less.
 */
import { type ConnectOptions, connect, type Database, type Fetch, versionOf } from '@freshet/client'
import { parseEtag, type Version } from '@freshet/protocol'
import { createFreshetServer, type ServerSettings } from '@freshet/server'
import { createMemoryStore } from '@freshet/stores/memory'
import type { RunningCache } from '../../caches/cache-process.js'
import { freePort } from '../../caches/free-port.js'
import { startVarnish } from '../../caches/varnish.js'

export const BUCKET = 'orestes/profiles'

export interface Wall {
  /** Of the write, by which the history knows it. */
  readonly number: number
  readonly posts: readonly number[]
}

export interface SeenWall {
  readonly posts: readonly number[]
  readonly version: Version
}

export interface ChainClient {
  readonly db: Database
  begin(): Promise<void>
  /** `isAgain`: the transaction was rolled back. */
  read(id: string, isAgain: boolean): Promise<SeenWall>
}

export interface Strategy {
  readonly name: string
  /** Undefined: not in the thesis. */
  readonly thesis:
    | { min: number; mean: number; max: number; total: number; transactions: number; rollbacks: number }
    | undefined
  /** Whether also transactions that write nothing are validated. */
  readonly validatesAll: boolean
  readonly pollIntervalS: number
  /** How old a read may be, as promised by the client; 0 also where nothing is promised. */
  readonly stalenessS: number
  /** Undefined: the shipped configuration. */
  readonly vcl?: string
  readonly isPurging?: boolean
  connect(url: string, fetch: Fetch, staleness: number): Promise<ChainClient>
}

const CLIENTS_MAY_RENEW = `
  sub vcl_recv {
    if (req.http.Cache-Control ~ "no-cache") { set req.hash_always_miss = true; }
  }
  sub vcl_backend_response { set beresp.grace = 0s; }`

const POLL_INTERVAL_S = 5

export const STRATEGIES: readonly Strategy[] = [
  {
    name: 'smart client',
    thesis: { min: 0.59, mean: 6.69, max: 182.02, total: 160.68, transactions: 2405, rollbacks: 243 },
    validatesAll: true,
    pollIntervalS: POLL_INTERVAL_S,
    stalenessS: 0,
    vcl: CLIENTS_MAY_RENEW,
    connect: async (url, fetch) => {
      const db = await connectAs(url, { fetch, read: 'any' })
      const read = (id: string, isAgain: boolean) => (isAgain ? readAnew(url, fetch, id) : readWall(db, id))
      return { db, begin: async () => {}, read }
    },
  },
  {
    name: 'filter',
    thesis: { min: 0.48, mean: 3.07, max: 9.74, total: 73.56, transactions: 2654, rollbacks: 0 },
    validatesAll: false,
    pollIntervalS: POLL_INTERVAL_S,
    stalenessS: 0,
    connect: async (url, fetch) => {
      // Nothing is asked for again during a transaction.
      const db = await connectAs(url, { fetch, staleness: 60_000 })
      return { db, begin: () => db.session.refresh(), read: id => readWall(db, id) }
    },
  },
  {
    name: 'server invalidation',
    thesis: { min: 0.3, mean: 3.11, max: 30.07, total: 74.75, transactions: 2601, rollbacks: 0 },
    validatesAll: false,
    pollIntervalS: POLL_INTERVAL_S,
    stalenessS: 0,
    isPurging: true,
    connect: async (url, fetch) => {
      const db = await connectAs(url, { fetch, read: 'any' })
      return { db, begin: async () => {}, read: id => readWall(db, id) }
    },
  },
  {
    name: 'pushed filter',
    thesis: undefined,
    validatesAll: false,
    pollIntervalS: POLL_INTERVAL_S / 20,
    stalenessS: 1,
    connect: async (url, fetch, staleness) => {
      const db = await connect(url, { fetch, refresh: 'push', staleness })
      return { db, begin: async () => {}, read: id => readWall(db, id) }
    },
  },
]

/** Without a memory of its own, as in the thesis. */
function connectAs(url: string, options: ConnectOptions): Promise<Database> {
  return connect(url, { ...options, memoryBytesMax: 0 })
}

async function readWall(db: Database, id: string): Promise<SeenWall> {
  const wall = await db.bucket<Wall>(BUCKET).get(id)
  return wall === undefined ? { posts: [], version: 0 } : { posts: wall.posts, version: versionOf(wall) }
}

async function readAnew(url: string, fetch: Fetch, id: string): Promise<SeenWall> {
  const response = await fetch(`${url}/db/${BUCKET}/${id}`, { headers: { 'cache-control': 'no-cache' } })
  const { posts } = (await response.json()) as Wall
  return { posts, version: parseEtag(response.headers.get('etag') ?? '') ?? 0 }
}

export interface ChainSite {
  readonly url: string
  stop(): Promise<void>
}

/** Varnish, and a server in this process. The cache comes first, for the server must know where to send its purges. */
export async function startChainSite(strategy: Strategy, settings: Partial<ServerSettings>): Promise<ChainSite> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const { vcl, isPurging } = strategy
  const varnish = await startVarnish(vcl === undefined ? { origin } : { origin, rules: vcl })
  const server = createFreshetServer({
    store: createMemoryStore(),
    settings,
    caches: isPurging ? [purged(varnish)] : [],
  })
  const stop = async () => {
    await server.close({ graceMs: 0 })
    await varnish.stop()
  }
  try {
    await server.listen({ port })
    return { url: varnish.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function purged({ url, secret }: RunningCache) {
  return { name: 'varnish', kind: 'varnish' as const, url, secret }
}
