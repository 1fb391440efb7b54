import { openGlobalLog, openShard } from '@freshet/stores/shards'
import { endPostgres, startPostgres } from '@freshet/stores/under-test/start-postgres'
import { afterAll, beforeAll, test } from 'vitest'
import { postgresDatabases } from './under-test/engine-databases.js'
import { fillShards, type ShardedEngine } from './under-test/sharded-engine.js'
import { testSplitting } from './under-test/test-splitting.js'

let started: ShardedEngine

beforeAll(async () => {
  const databases = await postgresDatabases(await startPostgres({ settings: { fsync: 'off' } }))
  // Any will do, as long as rows are put where it says.
  const placement = { kind: 'hash', hashOf: (key: number) => (Math.abs(key) * 7919) % 1009 } as const
  started = await fillShards(databases, { openShard, openGlobalLog }, 'postgres', placement)
})

afterAll(async () => {
  await started?.close()
  await endPostgres()
})

test('shards answer random queries as one PostgreSQL does, or refuse them with a reason', () =>
  testSplitting('PostgreSQL', started))
