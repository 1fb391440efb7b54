import { expect, test } from 'vitest'
import { testSplitting } from '../under-test/test-splitting.js'
import { usePostgresShards } from '../under-test/use-shards.js'

// Any hash will do, as long as rows are placed by it.
const hashOf = (key: number) => (Math.abs(key) * 7919) % 1009
const started = usePostgresShards({ settings: { fsync: 'off' }, placement: { kind: 'hash', hashOf } })

test('shards answer random queries as one PostgreSQL does, or refuse them with a reason', () =>
  testSplitting('PostgreSQL', started()))

test('the catalog has the exact types of columns, and whether a collation gives equal text equal bytes', async () => {
  const { run } = started().databases
  const loose = "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
  await run('whole', loose)
  await run('whole', 'CREATE TABLE odd (a numeric(8,2) NOT NULL, b varchar(5) COLLATE loose, c text[], d bigint)')
  expect((await started().whole.catalog()).tables.get('odd')).toEqual([
    { name: 'a', type: 'decimal', declared: 'numeric(8,2) not null' },
    { name: 'b', type: 'text', isUnordered: true, isLoose: true, declared: 'character varying(5) collate loose' },
    { name: 'c', type: 'unknown', declared: 'text[]' },
    { name: 'd', type: 'integer', declared: 'bigint' },
  ])
})
