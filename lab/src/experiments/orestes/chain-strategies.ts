/**
 * How the clients of table 12 come to know that a profile has changed, with Varnish before the server in each case:
 *
 * - smart client: classic transactions, which read whatever the cache has; the server validates every one when it ends, and if
 *   something was outdated it is run again at once, with what has changed asked for by its version.
 * - filter: coherent transactions; asks for what has changed when one begins.
 * - server invalidation: classic transactions; the server purges what is written.
 * - pushed filter (not in the thesis): is told what has changed. A read that finds nothing new is then answered from the
 *   client's own memory, so that it can look twenty times as often and still ask less.
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
  /** Of the write, by which the history knows it. */
  readonly number: number
  readonly posts: readonly number[]
}

export interface ChainClient {
  readonly db: Database
  /** Of its transactions. */
  readonly read: ReadMode
  /** Before one. */
  begin(): Promise<void>
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
      // Nothing is asked for again during a transaction.
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

/** Without a memory of its own, as in the thesis. */
function connectAs(url: string, options: ConnectOptions): Promise<Database> {
  return connect(url, { ...options, memoryBytesMax: 0 })
}

export interface ChainSite {
  readonly url: string
  stop(): Promise<void>
}

/** Varnish, and a server in this process. The cache comes first, for the server must know where to send its purges. */
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
