import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { testFleetStore } from '../under-test/test-fleet-store.js'
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

test('operations of others are forgotten when they are too old to matter, and counted until then', async () => {
  const store = await openPostgresStore({ url: postgres.url, schema: aSchema(), retentionMs: 2000 })
  const commitUnder = (id: string) =>
    store.commit({
      writes: [],
      adds: [{ key: 'a/n/x', by: 1, decimals: 0 }],
      operation: { id: { kind: 'foreign', id }, fingerprint: id },
    })
  await Promise.all(['one', 'two', 'three'].map(commitUnder))
  expect(await store.operationCounts()).toMatchObject({ clients: 0, foreign: 3 })
  const doneMs = store.nowMs()
  while (store.nowMs() <= doneMs + 2000) await setImmediate()
  await commitUnder('four')
  await store.forgetOperations()
  expect(await store.operationCounts()).toMatchObject({ foreign: 1 })
  expect(await commitUnder('one')).toMatchObject({ units: [5] })
  await store.close()
})

test('what a dropped index leaves behind is removed', async () => {
  const schema = aSchema()
  const store = await openPostgresStore({ url: postgres.url, schema })
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const body = Buffer.from('{"a":1}')
  const declare = (fields: string[]) =>
    store.commit({
      writes: [
        { key: 'a/b', contentType: 'application/json', body, indexes: fields.map(name => ({ name, fields: [name] })) },
      ],
    })
  await declare(['a'])
  const writes = Array.from({ length: 1200 }, (_, i) => ({ key: `a/b/${i}`, contentType: 'application/json', body }))
  await store.commit({ writes })
  const entries = async () => Number((await client.query(`SELECT count(*) FROM ${schema}.entries`)).rows[0].count)
  expect(await entries()).toBe(1200)
  await declare([])
  while ((await entries()) > 0) await setImmediate()
  const numbers = async () => (await client.query(`SELECT index_numbers FROM ${schema}.head`)).rows[0].index_numbers
  while ((await numbers()) !== '{"last":1,"dropped":[]}') await setImmediate()
  await client.end()
  await store.close()
})

test('what no text of a database can hold is a mistake, and takes nobody with it', async () => {
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
