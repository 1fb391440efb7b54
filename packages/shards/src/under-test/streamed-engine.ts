/** For tests: servers over shards of any engine with a table of many rows, `pages`. */
import type { Store } from '@freshet/core/store'
import { type RunningServer, startServer } from '@freshet/server/testing/running-server'
import { joinShards } from '../routes/sql-routes.js'
import type { ShardedEngine } from './sharded-engine.js'

/** What differs between the engines. */
export interface StreamedEngine {
  started(): ShardedEngine
  /** The store for a server's own data. */
  createStore(): Store
  /**
   * The statement that fills `pages`: n goes from 0 to `count`, `id` and `shelf` are expressions of n; words are in no order, and
   * bodies are a word 15 times.
   */
  fillPages(count: number, shelf: string, id: string): string
  /** How many shards wait for the reader of a stream. */
  waiting(): Promise<number>
  /** How many transactions are open on the shards, without those of the test. */
  openTransactions(): Promise<number>
  /** Ends the connection of an open transaction on a shard, as an administrator would. */
  endTransaction(shard: string): Promise<void>
}

/** On each shard, in addition to the tables of `sharded-data.ts`. */
const PAGES =
  'CREATE TABLE pages (shelf INT NOT NULL, id INT NOT NULL, gen INT NOT NULL, word VARCHAR(32), body VARCHAR(600), PRIMARY KEY (shelf, id))'
const PAGES_PER_SHARD = 40_000
export const PAGES_COUNT: number = 3 * PAGES_PER_SHARD
const servers: RunningServer[] = []

export interface ServerOptions {
  readonly hasLocalWrites?: boolean
  readonly settings?: object
}

export async function startOver(
  engine: Pick<StreamedEngine, 'started' | 'createStore'>,
  options: ServerOptions = {},
): Promise<RunningServer> {
  const started = engine.started()
  const { hasLocalWrites = false, settings = {} } = options
  const map = { ...started.map, sharded: { ...started.map.sharded, pages: 'shelf' } }
  const database = { map, ...started.openAgain(), hasLocalWrites }
  const server = await startServer({
    store: engine.createStore(),
    capabilities: [joinShards(database)],
    settings: { globalIntervalMs: 20, ...settings },
  })
  servers.push(server)
  return server
}

export async function stopServers(): Promise<void> {
  await Promise.all(servers.splice(0).map(server => server.stop()))
}

/** Pages with consecutive ids are on different shards. */
export async function createPages({ started, fillPages }: StreamedEngine): Promise<void> {
  const { databases, map } = started()
  for (const [i, shard] of map.shards.entries()) {
    await databases.run(shard, PAGES)
    await databases.run(shard, fillPages(PAGES_PER_SHARD, `${20 * i + 1} + n % 10`, `3 * n + ${i}`))
  }
}

export type Start = (options?: ServerOptions) => Promise<RunningServer>

export async function metric(server: RunningServer, name: string): Promise<number> {
  const text = await (await server.fetch('/metrics')).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}
