import { openGlobalLog, openShard } from '@freshet/stores/shards'
import { endPostgres, startPostgres } from '@freshet/stores/under-test/start-postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
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

test('what is known of columns is exact, and of collations whether equal text has equal bytes', async () => {
  const { run } = started.databases
  const loose = "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
  await run('whole', loose)
  await run('whole', 'CREATE TABLE odd (a numeric(8,2) NOT NULL, b varchar(5) COLLATE loose, c text[], d bigint)')
  expect((await started.whole.catalog()).tables.get('odd')).toEqual([
    { name: 'a', type: 'decimal', declared: 'numeric(8,2) not null' },
    { name: 'b', type: 'text', isUnordered: true, isLoose: true, declared: 'character varying(5) collate loose' },
    { name: 'c', type: 'unknown', declared: 'text[]' },
    { name: 'd', type: 'integer', declared: 'bigint' },
  ])
})
