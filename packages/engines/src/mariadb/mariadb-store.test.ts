import { randomBytes } from 'node:crypto'
import { createConnection } from 'mariadb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endMariadb, type RunningMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { testFleetStore } from '../under-test/test-fleet-store.js'
import { testSqlUpkeep } from '../under-test/test-sql-upkeep.js'
import { openMariadbStore } from './open-mariadb-store.js'

const MIB = 1024 * 1024
let mariadb: RunningMariadb

beforeAll(async () => {
  mariadb = await startMariadb()
})

afterAll(endMariadb)

testFleetStore(() => {
  const options = { url: mariadb.url, prefix: aPrefix() }
  return () => openMariadbStore(options)
})

test('keys are compared byte by byte: blanks at the end count, and the order is that of UTF-8', async () => {
  const store = await openMariadbStore({ url: mariadb.url, prefix: aPrefix() })
  const ids = [
    'a',
    'a ',
    'a  ',
    'A',
    'ä',
    'ａ',
    '\u{10000}',
    '\u{1f600}',
    '%',
    '_',
    "'",
    '\\',
    'é',
    'e\u0301',
    'x'.repeat(512),
  ]
  for (const id of ids) {
    await store.commit({ writes: [{ key: `a/b/${id}`, contentType: 'text/plain', body: Buffer.from(id) }] })
  }
  const { entries } = await store.scan('a/b')
  expect(entries.map(({ id }) => id)).toEqual([...ids].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
  for (const { id, body } of entries) expect(Buffer.from(body).toString()).toBe(id)
  await store.close()
})

test('a commit larger than a packet goes in several; a value larger than any is refused, and fails no other commit', async () => {
  const store = await openMariadbStore({ url: mariadb.url, prefix: aPrefix() })
  // Each byte must be escaped.
  const large = () => Buffer.alloc(3 * MIB, '\\')
  const write = (id: string, body: Buffer) => ({ key: `a/b/${id}`, contentType: 'text/plain', body })
  const writes = Array.from({ length: 7 }, (_, i) => write(`${i}`, large()))
  const results = await Promise.allSettled([
    store.commit({ writes }),
    store.commit({ writes: [write('small', Buffer.from('1')), write('huge', Buffer.alloc(17 * MIB))] }),
    store.commit({ writes: [write('small too', Buffer.from('1'))] }),
  ])
  expect(results[1]).toMatchObject({ status: 'rejected', reason: { code: 'LIMIT_EXCEEDED' } })
  expect(results[0]).toMatchObject({ status: 'fulfilled', value: { committed: true } })
  expect(results[2]).toMatchObject({ status: 'fulfilled', value: { committed: true } })
  const { value } = await store.getMany([...writes.map(({ key }) => key), 'a/b/small', 'a/b/small too'])
  for (const found of value.slice(0, 7)) expect(large().equals(found!.body)).toBe(true)
  expect(value.slice(7).map(found => found?.body.length)).toEqual([undefined, 1])
  await store.close()
})

testSqlUpkeep({
  open: async options => {
    const prefix = aPrefix()
    const store = await openMariadbStore({ url: mariadb.url, prefix, ...options })
    const client = await createConnection({ host: '127.0.0.1', port: mariadb.port, user: 'root', database: 'freshet' })
    return {
      store,
      countEntries: async () => Number((await client.query(`SELECT count(*) AS count FROM ${prefix}entries`))[0].count),
      indexNumbers: async () => `${(await client.query(`SELECT index_numbers FROM ${prefix}head`))[0].index_numbers}`,
      close: async () => {
        await client.end()
        await store.close()
      },
    }
  },
})

function aPrefix(): string {
  return `test_${randomBytes(6).toString('hex')}_`
}
