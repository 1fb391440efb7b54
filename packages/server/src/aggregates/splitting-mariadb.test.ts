import { openGlobalLog, openShard } from '@freshet/stores/shards'
import { endMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { afterAll, beforeAll, test } from 'vitest'
import { mariadbDatabases } from './under-test/engine-databases.js'
import { fillShards, type ShardedEngine } from './under-test/sharded-engine.js'
import { testSplitting } from './under-test/test-splitting.js'

let started: ShardedEngine

beforeAll(async () => {
  const settings = { innodb_flush_log_at_trx_commit: '0', character_set_server: 'utf8mb4' }
  const databases = await mariadbDatabases(await startMariadb({ settings }))
  const placement = { kind: 'ranges', from: [0, 20, 40] } as const
  started = await fillShards(databases, { openShard, openGlobalLog }, 'mariadb', placement)
})

afterAll(async () => {
  await started?.close()
  await endMariadb()
})

test('shards answer random queries as one MariaDB does, or refuse them with a reason', () =>
  testSplitting('MariaDB', started))
