import { openGlobalLog, openShard } from '@freshet/stores/shards'
import { endPostgres, startPostgres } from '@freshet/stores/under-test/start-postgres'
import { afterAll, beforeAll } from 'vitest'
import { postgresDatabases } from './under-test/engine-databases.js'
import { fillShards, type ShardedEngine } from './under-test/sharded-engine.js'
import { testRefusedMove } from './under-test/test-refused-move.js'

let started: ShardedEngine

beforeAll(async () => {
  const databases = await postgresDatabases(await startPostgres())
  const placement = { kind: 'ranges', from: [0, 20, 40] } as const
  started = await fillShards(databases, { openShard, openGlobalLog }, 'postgres', placement)
})

afterAll(async () => {
  await started?.close()
  await endPostgres()
})

testRefusedMove(() => started, openShard)
