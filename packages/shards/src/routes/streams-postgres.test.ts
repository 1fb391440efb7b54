import { createMemoryStore } from '@freshet/engines/memory'
import { expect, test } from 'vitest'
import { startOver } from '../under-test/streamed-engine.js'
import { askForLines } from '../under-test/streamed-lines.js'
import { testStreams } from '../under-test/test-streams.js'
import { usePostgresShards } from '../under-test/use-shards.js'

const started = usePostgresShards({ settings: { fsync: 'off', max_connections: '500' } })

// Without the transactions of autovacuum, which the many new rows wake up.
const OPEN =
  "datname IN ('a', 'b', 'c') AND backend_type = 'client backend' AND xact_start IS NOT NULL AND pid <> pg_backend_pid()"

testStreams({
  started,
  createStore: () => createMemoryStore({ positionsAfter: 0 }),
  fillPages: (count, shelf, id) =>
    `INSERT INTO pages SELECT ${shelf}, ${id}, 1, md5(n::text), repeat(md5(n::text), 15) FROM generate_series(0, ${count - 1}) AS n`,
  waiting: async () => {
    const isWaiting = "state = 'idle in transaction' AND wait_event = 'ClientRead'"
    const rows = await started().databases.run(
      'a',
      `SELECT datname FROM pg_stat_activity WHERE ${OPEN} AND ${isWaiting}`,
    )
    return rows.length
  },
  openTransactions: async () => {
    const rows = await started().databases.run('a', `SELECT COUNT(*) AS n FROM pg_stat_activity WHERE ${OPEN}`)
    return Number(rows[0]!.n)
  },
  endTransaction: async shard => {
    await started().databases.run(
      'a',
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${shard}' AND ${OPEN}`,
    )
  },
})

test('rows that suddenly exceed the memory limit end a stream, instead of being held', async () => {
  const engine = { started, createStore: () => createMemoryStore({ positionsAfter: 0 }) }
  const server = await startOver(engine, { settings: { sqlBytesMax: 4_000_000 } })
  const large = `INSERT INTO visits SELECT 1, 1000 + n, 'x', NULL, NULL FROM generate_series(1, 600) AS n`
  await started().databases.run('a', `ALTER TABLE visits ALTER COLUMN place TYPE TEXT; ${large}`)
  await started().databases.run('a', "UPDATE visits SET place = repeat('x', 1000000) WHERE number > 1400")
  const streamed = await askForLines(server, 'select number, place from visits where person = 1 and number > 1000')
  const { lines, isWhole } = await streamed.rest()
  expect(isWhole).toBe(false)
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ error: { code: 'LIMIT_EXCEEDED', bytesMax: 4_000_000 } })
  expect(lines.length).toBeGreaterThan(100)
})
