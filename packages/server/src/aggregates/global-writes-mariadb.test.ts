import { openGlobalLog, openShard } from '@freshet/stores/shards'
import { endMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { afterAll, beforeAll } from 'vitest'
import { mariadbDatabases } from './under-test/engine-databases.js'
import { fillShards, type ShardedEngine } from './under-test/sharded-engine.js'
import { testGlobalWrites } from './under-test/test-global-writes.js'

let started: ShardedEngine

beforeAll(async () => {
  const databases = await mariadbDatabases(await startMariadb({ settings: { character_set_server: 'utf8mb4' } }))
  const placement = { kind: 'ranges', from: [0, 20, 40] } as const
  started = await fillShards(databases, { openShard, openGlobalLog }, 'mariadb', placement)
})

afterAll(async () => {
  await started?.close()
  await endMariadb()
})

testGlobalWrites(() => started)
