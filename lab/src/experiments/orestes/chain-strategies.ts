/**
 * How the clients of table 12 learn that a profile has changed, with Varnish in front of the server in each case:
 *
 * - smart client: classic transactions, which read whatever the cache has. The server validates each when it ends. If something
 *   was outdated, the client reruns the transaction at once, and requests what has changed by its version.
 * - filter: coherent transactions; the client fetches the changes when a transaction begins.
 * - server invalidation: classic transactions; the server purges what is written.
 * - pushed filter (not in the thesis): the server pushes the changes. The client's own memory then answers a read that finds
 *   nothing new, so the client can look twenty times as often and still send fewer requests.
 */
import { type ConnectOptions, connect, type Database, type Fetch, type ReadMode } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { freePort } from '@freshet/engines/under-test/free-port'
import { createFreshetServer } from '@freshet/server'
import type { ServerSettings } from '@freshet/server/configuration'
import type { RunningCache } from '../../caches/cache-process.js'
import { startVarnish } from '../../caches/varnish.js'

export const BUCKET = 'orestes/profiles'

export interface Wall {
  /** The number of the write, by which the history identifies it. */
  readonly number: number
  readonly posts: readonly number[]
}

export interface ChainClient {
  readonly db: Database
  /** The read mode of the strategy's transactions. */
  readonly read: ReadMode
  /** Called before a transaction. */
  begin(): Promise<void>
}

export interface Strategy {
  readonly name: string
  /** Undefined: not in the thesis. */
  readonly thesis:
    | { min: number; mean: number; max: number; total: number; transactions: number; rollbacks: number }
    | undefined
  /** Whether transactions that write nothing are validated too. */
  readonly validatesAll: boolean
  readonly pollIntervalS: number
  /** How old a read may be, as the client promises; 0 also where there is no promise. */
  readonly stalenessS: number
  readonly isPurging?: boolean
  connect(url: string, fetch: Fetch, staleness: number): Promise<ChainClient>
}

const POLL_INTERVAL_S = 5

export const STRATEGIES: readonly Strategy[] = [
  {
    name: 'smart client',
    thesis: { min: 0.59, mean: 6.69, max: 182.02, total: 160.68, transactions: 2405, rollbacks: 243 },
    validatesAll: true,
    pollIntervalS: POLL_INTERVAL_S,
    stalenessS: 0,
    connect: async (url, fetch) => ({ db: await connectAs(url, { fetch }), read: 'any', begin: async () => {} }),
  },
  {
    name: 'filter',
    thesis: { min: 0.48, mean: 3.07, max: 9.74, total: 73.56, transactions: 2654, rollbacks: 0 },
    validatesAll: false,
    pollIntervalS: POLL_INTERVAL_S,
    stalenessS: 0,
    connect: async (url, fetch) => {
      // The client fetches no changes during a transaction.
      const db = await connectAs(url, { fetch, staleness: 60_000 })
      return { db, read: 'session', begin: () => db.session.refresh() }
    },
  },
  {
    name: 'server invalidation',
    thesis: { min: 0.3, mean: 3.11, max: 30.07, total: 74.75, transactions: 2601, rollbacks: 0 },
    validatesAll: false,
    pollIntervalS: POLL_INTERVAL_S,
    stalenessS: 0,
    isPurging: true,
    connect: async (url, fetch) => ({ db: await connectAs(url, { fetch }), read: 'any', begin: async () => {} }),
  },
  {
    name: 'pushed filter',
    thesis: undefined,
    validatesAll: false,
    pollIntervalS: POLL_INTERVAL_S / 20,
    stalenessS: 1,
    connect: async (url, fetch, staleness) => {
      const db = await connect(url, { fetch, refresh: 'push', staleness })
      return { db, read: 'session', begin: async () => {} }
    },
  },
]

/** Without a memory in the client, as in the thesis. */
function connectAs(url: string, options: ConnectOptions): Promise<Database> {
  return connect(url, { ...options, memoryBytesMax: 0 })
}

export interface ChainSite {
  readonly url: string
  stop(): Promise<void>
}

/** Varnish, and a server in this process. The cache starts first, because the server must know where to send its purges. */
export async function startChainSite(strategy: Strategy, settings: Partial<ServerSettings>): Promise<ChainSite> {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const { isPurging } = strategy
  const varnish = await startVarnish({ origin })
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
