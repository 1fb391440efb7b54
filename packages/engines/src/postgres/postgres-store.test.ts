import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { testFleetStore } from '../under-test/test-fleet-store.js'
import { testSqlUpkeep } from '../under-test/test-sql-upkeep.js'
import { openPostgresStore } from './open-postgres-store.js'

let postgres: RunningPostgres

beforeAll(async () => {
  postgres = await startPostgres()
})

afterAll(endPostgres)

testFleetStore(() => {
  const options = { url: postgres.url, schema: aSchema() }
  return () => openPostgresStore(options)
})

testSqlUpkeep({
  open: async options => {
    const schema = aSchema()
    const store = await openPostgresStore({ url: postgres.url, schema, ...options })
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    return {
      store,
      countEntries: async () => Number((await client.query(`SELECT count(*) FROM ${schema}.entries`)).rows[0].count),
      indexNumbers: async () => (await client.query(`SELECT index_numbers FROM ${schema}.head`)).rows[0].index_numbers,
      close: async () => {
        await client.end()
        await store.close()
      },
    }
  },
})

test('a text that a database cannot hold is a TypeError, and fails no other commit', async () => {
  const store = await openPostgresStore({ url: postgres.url, schema: aSchema() })
  const body = Buffer.from('1')
  const results = await Promise.allSettled([
    store.commit({ writes: [{ key: 'a/b/1', contentType: 'text/plain', body }] }),
    store.commit({ writes: [{ key: 'a/b/2', contentType: 'text/\0', body }] }),
    store.commit({ writes: [{ key: 'a/b/\0', contentType: 'text/plain', body }] }),
    store.commit({ reads: [{ key: 'a/b/\0', version: 0 }], writes: [] }),
  ])
  expect(results.map(result => (result.status === 'rejected' ? result.reason.name : 'done'))).toEqual([
    'done',
    'TypeError',
    'TypeError',
    'TypeError',
  ])
  expect(await store.get('a/b/\0')).toBe(undefined)
  expect((await store.scan('a\0/b')).entries).toEqual([])
  expect((await store.query('a\0/b', {})).entries).toEqual([])
  await store.close()
})

function aSchema(): string {
  return `test_${randomBytes(6).toString('hex')}`
}
