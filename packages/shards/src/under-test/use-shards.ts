/** For tests: shards in an engine of their own, started before all tests of a file and stopped after them. */
import { endMariadb, startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { endPostgres, startPostgres } from '@freshet/engines/under-test/start-postgres'
import { afterAll, beforeAll } from 'vitest'
import type { ShardMap } from '../plan/index.js'
import { mariadbDatabases, postgresDatabases } from './engine-databases.js'
import { fillShards, type ShardedEngine } from './sharded-engine.js'

export interface ShardsOptions {
  /** Settings of the engine. */
  readonly settings?: Readonly<Record<string, string>>
  readonly placement?: ShardMap['placement']
}

export const RANGES: ShardMap['placement'] = { kind: 'ranges', from: [0, 20, 40] }

/** The function that is returned may be called once tests run. */
export function useMariadbShards({ settings, placement = RANGES }: ShardsOptions = {}): () => ShardedEngine {
  const start = async () => {
    const running = await startMariadb({ settings: { character_set_server: 'utf8mb4', ...settings } })
    return fillShards(await mariadbDatabases(running), 'mariadb', placement)
  }
  return use(start, endMariadb)
}

export function usePostgresShards({ settings = {}, placement = RANGES }: ShardsOptions = {}): () => ShardedEngine {
  const start = async () =>
    fillShards(await postgresDatabases(await startPostgres({ settings })), 'postgres', placement)
  return use(start, endPostgres)
}

function use(start: () => Promise<ShardedEngine>, end: () => Promise<void>): () => ShardedEngine {
  let started: ShardedEngine | undefined
  beforeAll(async () => {
    started = await start()
  })
  afterAll(async () => {
    await started?.close()
    await end()
  })
  return () => started!
}
