/** Tables of PostgreSQL as buckets: what all databases share, and what only PostgreSQL has. */
import { expect, test } from 'vitest'
import { postgresTables } from '../../under-test/postgres-tables.js'
import { aPut, BUCKET, objectOf, put, textOf } from '../../under-test/tables.js'
import { testTables, useTables } from '../../under-test/test-shared-tables.js'

const using = useTables(postgresTables)

testTables(using)

test('values of all types come back as they were', async () => {
  const { own } = using
  const where = await own.aTable(
    `id bigint PRIMARY KEY, big bigint, price numeric, wide numeric(40, 20), at timestamptz, local timestamp, day date, bytes bytea,
     document jsonb, tags text[], flag boolean, ratio double precision, span interval, uid uuid`,
  )
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  await own.sql.query(`SET TimeZone = 'America/New_York'; SET DateStyle = 'German'`)
  await own.sql.query(`
    INSERT INTO ${where.table} VALUES (9007199254740993, 9007199254740993, 9.50, 12345678901234567.25, '2026-11-16 10:00:00+01', '2026-11-16 10:00',
      '2026-11-16', '\\xdeadbeef', '{"a": [1, null]}', '{x,"y z"}', true, 0.1, '1 day 02:00', '0b0f3a1e-4c8e-4a51-9d1b-0123456789ab'),
      (1, 5, 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'NaN', NULL, NULL)`)
  await own.sql.query('RESET TimeZone; RESET DateStyle')
  const object = await objectOf(store, '9007199254740993')
  expect(object).toEqual({
    id: '9007199254740993',
    big: '9007199254740993',
    price: 9.5,
    wide: '12345678901234567.25000000000000000000',
    at: '2026-11-16T09:00:00+00:00',
    local: '2026-11-16T10:00:00',
    day: '2026-11-16',
    bytes: '\\xdeadbeef',
    document: { a: [1, null] },
    tags: ['x', 'y z'],
    flag: true,
    ratio: 0.1,
    span: 'P1DT2H',
    uid: '0b0f3a1e-4c8e-4a51-9d1b-0123456789ab',
  })
  expect(await objectOf(store, 1)).toMatchObject({ id: 1, big: 5, price: 1, at: null, document: null, ratio: 'NaN' })
  const rows = () =>
    own.sql.query(
      `SELECT to_jsonb(t) AS row, t.big::text AS big, t.wide::text AS wide FROM ${where.table} t ORDER BY id`,
    )
  const before = (await rows()).rows
  const position = await put(store, '9007199254740993', object)
  await put(store, 1, await objectOf(store, 1))
  expect((await rows()).rows).toEqual(before)
  expect((await store.get(`${BUCKET}/9007199254740993`))!.version).toBe(position)
})

test('a json column that holds what jsonb cannot is still written', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY, document json')
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  await own.sql.query(`INSERT INTO ${where.table} VALUES (1, '{"a" : "\\u0000", "n": 1e9999}')`)
  expect(await textOf(store, 1)).toBe('{"id":1,"document":{"a" : "\\u0000", "n": 1e9999}}')
  await put(store, 2, { document: { b: 1 } })
  expect(await objectOf(store, 2)).toEqual({ id: 2, document: { b: 1 } })
  await own.sql.query(`UPDATE ${where.table} SET document = '[]'`)
  expect(await objectOf(store, 1)).toEqual({ id: 1, document: [] })
})

test('the effects of a write, in other tables too, are in the log with it', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY, name text')
  const children = `${where.table}_children`
  await own.sql.query(
    `CREATE TABLE ${children} (id integer PRIMARY KEY, parent integer REFERENCES ${where.table} ON DELETE CASCADE)`,
  )
  await own.engine.expose({ ...where, bucket: BUCKET })
  await own.engine.expose({ ...where, table: children, bucket: 'shop/children' })
  const [store, other] = await own.openBoth(where)
  await store.commit({ writes: [aPut(`${BUCKET}/1`, { name: 'a' }), aPut('shop/children/5', { parent: 1 })] })
  expect(await objectOf(other, '5', 'shop/children')).toEqual({ id: 5, parent: 1 })
  await store.commit({ writes: [{ key: `${BUCKET}/1`, delete: true }] })
  expect(await other.get('shop/children/5')).toBe(undefined)
  expect((await store.scan('shop/children')).entries).toEqual([])
  expect((await own.engine.exposed(where)).map(({ bucket }) => bucket)).toEqual([BUCKET, 'shop/children'])
})

test('TRUNCATE is noted', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY')
  await own.sql.query(`INSERT INTO ${where.table} VALUES (1), (2)`)
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  expect((await store.scan(BUCKET)).entries.length).toBe(2)
  await own.sql.query(`TRUNCATE ${where.table}`)
  expect((await store.scan(BUCKET)).entries).toEqual([])
  expect(await store.get(`${BUCKET}/1`)).toBe(undefined)
})

test('a row is refused by a constraint that is checked at the end only', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY, later integer')
  await own.sql.query(
    `ALTER TABLE ${where.table} ADD FOREIGN KEY (later) REFERENCES ${where.table} DEFERRABLE INITIALLY DEFERRED`,
  )
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  const writes = [aPut(`${BUCKET}/1`, { later: 99 }), aPut('a/b/c', {})]
  await expect(store.commit({ writes })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
  expect((await own.sql.query(`SELECT id FROM ${where.table}`)).rows).toEqual([])
  expect(await store.get('a/b/c')).toBe(undefined)
})
