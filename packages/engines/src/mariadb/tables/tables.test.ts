/** Tables of MariaDB as buckets: what all databases share, and what only MariaDB has. */
import { describe, expect, test } from 'vitest'
import { eventually } from '../../under-test/eventually.js'
import { mariadbTables } from '../../under-test/mariadb-tables.js'
import { startMariadb } from '../../under-test/start-mariadb.js'
import { aPut, BUCKET, objectOf, put, textOf } from '../../under-test/tables.js'
import { testTables, useTables } from '../../under-test/test-shared-tables.js'
import { openMariadbStore } from '../open-mariadb-store.js'

const using = useTables(mariadbTables)

testTables(using)

test('values of all types come back as they were', async () => {
  const { own } = using
  const where = await own.aTable(
    `id bigint unsigned PRIMARY KEY, big bigint, price decimal(20, 2), wide decimal(40, 20), at timestamp(3) NULL, local datetime, day date,
     bytes varbinary(10), document json, flag boolean, ratio double, small float, hours time, uid uuid, bits bit(10), size enum('s', 'l'),
     tags set('x', 'y'), padded int zerofill, latin varchar(20) CHARACTER SET latin1, made year`,
  )
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  await own.sql.query(`SET time_zone = '-05:00', sql_mode = 'ANSI,PIPES_AS_CONCAT'`)
  await own.sql.query(`
    INSERT INTO ${where.table} VALUES (18446744073709551615, -9007199254740993, 9.50, 12345678901234567.25, '2026-11-16 04:00:00.5',
      '2026-11-16 10:00', '2026-11-16', x'deadbeef', '{"a" : [1, null], "n": 1e999}', true, 1e300, 16777217.5, '10:00:01',
      '0B0F3A1E-4C8E-4A51-9D1B-0123456789AB', 5, 'l', 'x,y', 42, 'Größe', 2026),
      (1, 5, 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, 0.1, 0.1, NULL, NULL, NULL, NULL, NULL, NULL, 'a"\\\\b', NULL)`)
  await own.sql.query(`SET time_zone = DEFAULT, sql_mode = DEFAULT`)
  const text = await textOf(store, '18446744073709551615')
  expect(text).toContain('"document":{"a" : [1, null], "n": 1e999}')
  expect(JSON.parse(text!)).toEqual({
    id: '18446744073709551615',
    big: '-9007199254740993',
    price: 9.5,
    wide: '12345678901234567.25000000000000000000',
    at: '2026-11-16T09:00:00.500+00:00',
    local: '2026-11-16T10:00:00',
    day: '2026-11-16',
    bytes: '\\xdeadbeef',
    document: { a: [1, null], n: Number.POSITIVE_INFINITY },
    flag: 1,
    ratio: 1e300,
    small: 16777218,
    hours: '10:00:01',
    uid: '0b0f3a1e-4c8e-4a51-9d1b-0123456789ab',
    bits: 5,
    size: 'l',
    tags: 'x,y',
    padded: 42,
    latin: 'Größe',
    made: 2026,
  })
  expect(await objectOf(store, 1)).toMatchObject({
    id: 1,
    price: 1,
    wide: 2,
    at: null,
    ratio: 0.1,
    small: 0.1,
    latin: 'a"\\b',
  })
  const rows = async () =>
    (
      await own.sql.query(
        `SELECT t.*, HEX(bytes), CAST(big AS CHAR), CAST(wide AS CHAR), small + 0e0 FROM ${where.table} t ORDER BY id`,
      )
    ).rows
  const before = await rows()
  const body = Buffer.from(text!)
  const key = `${BUCKET}/18446744073709551615`
  const written = await store.commit({ writes: [{ key, contentType: 'application/json', body }] })
  await put(store, 1, await objectOf(store, 1))
  expect(await rows()).toEqual(before)
  expect((await store.get(key))!.version).toBe(written.committed && written.position)
  // Digits that no double holds, and other time zones.
  const own2 = { ...JSON.parse(text!), document: null, at: '2026-11-16T10:00:00.500+01:00', flag: true }
  const spelled = JSON.stringify({ ...own2, id: undefined }).replace('"-9007199254740993"', '9007199254740995')
  await store.commit({ writes: [{ key, contentType: 'application/json', body: Buffer.from(spelled) }] })
  expect(await objectOf(store, '18446744073709551615')).toMatchObject({
    big: '9007199254740995',
    at: '2026-11-16T09:00:00.500+00:00',
    flag: 1,
  })
})

test('a text key is spelled exactly as in the row, whichever texts its collation makes equal', async () => {
  const { own } = using
  const where = await own.aTable('name varchar(20) COLLATE utf8mb4_general_ci PRIMARY KEY, n integer')
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  await own.sql.query(`INSERT INTO ${where.table} VALUES ('Ann', 1)`)
  expect(await objectOf(store, 'Ann')).toEqual({ name: 'Ann', n: 1 })
  expect(await objectOf(store, 'ann')).toBe(undefined)
  await expect(put(store, 'ann', { n: 2 })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
  await expect(put(store, 'Ann ', { n: 2 })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
  await store.commit({ writes: [{ key: `${BUCKET}/ann`, delete: true }] })
  const both = [aPut(`${BUCKET}/bob`, { n: 1 }), aPut(`${BUCKET}/BOB`, { n: 2 })]
  await expect(store.commit({ writes: both })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
  await put(store, 'Ann', { n: 3 })
  expect((await own.sql.query(`SELECT * FROM ${where.table}`)).rows).toEqual([{ name: 'Ann', n: 3 }])
  await own.sql.query(`UPDATE ${where.table} SET name = 'ANN'`)
  expect(await objectOf(store, 'Ann')).toBe(undefined)
  expect(await objectOf(store, 'ANN')).toEqual({ name: 'ANN', n: 3 })
  expect((await store.scan(BUCKET)).entries.length).toBe(1)
})

test('a unique key other than the primary one refuses, and no other row is touched', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY, code varchar(20) UNIQUE')
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  await put(store, 1, { id: 1, code: 'a' })
  const error = await put(store, 2, { id: 2, code: 'a' }).catch(failure => failure)
  expect(error).toMatchObject({ code: 'ROW_REFUSED', details: { sqlState: '23000', constraint: 'code' } })
  expect((await own.sql.query(`SELECT * FROM ${where.table}`)).rows).toEqual([{ id: 1, code: 'a' }])
  // A key of 0 is 0, not the next number.
  await put(store, 0, { id: 0, code: 'zero' })
  expect(await objectOf(store, 0)).toEqual({ id: 0, code: 'zero' })
})

test('what triggers of other programs do to other tables is in the log with the write', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY, name varchar(20)')
  const children = `${where.table}_children`
  await own.sql.query(`CREATE TABLE ${children} (id integer PRIMARY KEY, parent integer)`)
  await own.sql.query(
    `CREATE TRIGGER ${where.table}_remove AFTER DELETE ON ${where.table} FOR EACH ROW DELETE FROM ${children} WHERE parent = OLD.id`,
  )
  await own.engine.expose({ ...where, bucket: BUCKET })
  await own.engine.expose({ ...where, table: children, bucket: 'shop/children' })
  const [store, other] = await own.openBoth(where)
  await store.commit({ writes: [aPut(`${BUCKET}/1`, { name: 'a' }), aPut('shop/children/5', { parent: 1 })] })
  expect(await objectOf(other, '5', 'shop/children')).toEqual({ id: 5, parent: 1 })
  await store.commit({ writes: [{ key: `${BUCKET}/1`, delete: true }] })
  expect(await other.get('shop/children/5')).toBe(undefined)
  expect((await own.engine.exposed(where)).map(({ bucket }) => bucket)).toEqual([BUCKET, 'shop/children'])
})

test('statements that replace, or change several tables, are noted', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY, code integer UNIQUE')
  const { table } = where
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  const objects = async () =>
    (await store.scan(BUCKET)).entries.map(({ body }) => JSON.parse(Buffer.from(body).toString()))
  await own.sql.query(`INSERT INTO ${table} VALUES (1, 10), (2, 20), (3, 30)`)
  expect((await objects()).length).toBe(3)
  // This removes two rows, by two keys.
  await own.sql.query(`REPLACE INTO ${table} VALUES (1, 20)`)
  expect(await objects()).toEqual([
    { id: 1, code: 20 },
    { id: 3, code: 30 },
  ])
  await own.sql.query(`INSERT INTO ${table} VALUES (4, 30) ON DUPLICATE KEY UPDATE id = 5`)
  expect(await objects()).toEqual([
    { id: 1, code: 20 },
    { id: 5, code: 30 },
  ])
  await own.sql.query(`UPDATE ${table} a JOIN ${table} b ON b.id = 5 SET a.code = 40 WHERE a.id = 1`)
  expect(await objects()).toEqual([
    { id: 1, code: 40 },
    { id: 5, code: 30 },
  ])
  await own.sql.query(`DELETE a FROM ${table} a JOIN ${table} b ON a.id < b.id`)
  expect(await objects()).toEqual([{ id: 5, code: 30 }])
})

test('TRUNCATE is not noticed until the table is added again', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY')
  await own.sql.query(`INSERT INTO ${where.table} VALUES (1), (2)`)
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  await own.sql.query(`TRUNCATE ${where.table}`)
  expect((await store.scan(BUCKET)).entries.length).toBe(2)
  await own.engine.expose({ ...where, bucket: BUCKET })
  expect((await store.scan(BUCKET)).entries).toEqual([])
})

test('a row too large for an object counts as missing, and all others are there', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY, body longtext, bytes longblob')
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  await own.sql.query(`
    INSERT INTO ${where.table} VALUES (1, 'a', NULL), (2, REPEAT('a', 9000000), NULL), (3, NULL, REPEAT('a', 5000000)), (4, REPEAT('a', 5000000), 'b')`)
  await own.sql.query(
    `UPDATE ${where.table} SET body = REPEAT('b', 12000000), bytes = REPEAT('b', 12000000) WHERE id = 2`,
  )
  expect((await store.scan(BUCKET)).entries.map(({ id }) => id)).toEqual(['1', '4'])
  await own.sql.query(`UPDATE ${where.table} SET body = NULL, bytes = x'00ff' WHERE id > 1`)
  expect((await store.scan(BUCKET)).entries.map(({ id }) => id)).toEqual(['1', '2', '3', '4'])
  expect(await objectOf(store, 2)).toEqual({ id: 2, body: null, bytes: '\\x00ff' })
})

test('a table renamed in place of another has no triggers: opening the store warns, and adding it again mends it', async () => {
  const { own } = using
  const where = await own.aTable('id integer PRIMARY KEY')
  await own.sql.query(`INSERT INTO ${where.table} VALUES (1), (2)`)
  await own.engine.expose({ ...where, bucket: BUCKET })
  await own.sql.query(
    `CREATE TABLE ${where.table}_new LIKE ${where.table}; INSERT INTO ${where.table}_new VALUES (2), (3)`,
  )
  await own.sql.query(`RENAME TABLE ${where.table} TO ${where.table}_old, ${where.table}_new TO ${where.table}`)
  const warnings: string[] = []
  const open = () =>
    openMariadbStore({ url: where.url, prefix: `${where.name}_`, onWarning: text => warnings.push(text) })
  await (await open()).close()
  expect(warnings).toEqual([expect.stringMatching(/has lost triggers.*freshet tables add/)])
  await own.engine.expose({ ...where, bucket: BUCKET })
  await (await open()).close()
  expect(warnings.length).toBe(1)
  const [store] = await own.openBoth(where)
  expect((await store.scan(BUCKET)).entries.map(({ id }) => id)).toEqual(['2', '3'])
  await own.sql.query(`INSERT INTO ${where.table} VALUES (4); INSERT INTO ${where.table}_old VALUES (5)`)
  expect((await store.scan(BUCKET)).entries.map(({ id }) => id)).toEqual(['2', '3', '4'])
})

test('a user with all privileges on its database suffices; with a binary log, an error says how to allow triggers', async () => {
  const settings = { log_bin: 'binary-log', sync_binlog: '1', server_id: '1' }
  const server = await startMariadb({ settings })
  try {
    const sql = await mariadbTables.connect(server.url)
    await sql.query(
      `CREATE USER shop@'127.0.0.1'; GRANT ALL ON freshet.* TO shop@'127.0.0.1'; CREATE TABLE products (id integer PRIMARY KEY)`,
    )
    const where = { url: server.url.replace('root@', 'shop@'), name: 'of_shop', table: 'products' }
    const error = await mariadbTables.expose({ ...where, bucket: BUCKET }).catch(failure => failure)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
    expect(error.message).toMatch(/log_bin_trust_function_creators/)
    expect(await mariadbTables.exposed(where)).toEqual([])
    await sql.query('SET GLOBAL log_bin_trust_function_creators = 1')
    await mariadbTables.expose({ ...where, bucket: BUCKET })
    const store = await mariadbTables.openStore(where.url, where.name)
    await put(store, 1, { id: 1 })
    await sql.query('INSERT INTO products VALUES (2)')
    expect((await store.scan(BUCKET)).entries.length).toBe(2)
    await store.close()
    await sql.query('CREATE DATABASE other; CREATE TABLE other.things (id integer PRIMARY KEY)')
    await sql.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON other.things TO shop@'127.0.0.1'`)
    const denied = mariadbTables.expose({ ...where, table: 'other.things', bucket: 'shop/things' })
    await expect(denied).rejects.toThrow(/cannot be a bucket.*TRIGGER command denied/)
    expect((await mariadbTables.exposed(where)).length).toBe(1)
    await sql.query(`GRANT TRIGGER ON other.things TO shop@'127.0.0.1'`)
    await mariadbTables.expose({ ...where, table: 'other.things', bucket: 'shop/things' })
    await sql.end()
  } finally {
    await server.stop()
  }
})

describe('refused as a bucket of MariaDB', () => {
  test.each([
    ['a part of a column as the key', 'id text, PRIMARY KEY (id(10))', /only the beginning of id/],
    ['a type that is no field', 'id integer PRIMARY KEY, place point', /place is point.*--columns/],
  ])('%s', async (_, columns, message) => {
    const { own } = using
    const where = await own.aTable(columns)
    await expect(own.engine.expose({ ...where, bucket: BUCKET })).rejects.toThrow(message)
  })

  test('a table of another engine', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY')
    await own.sql.query(`ALTER TABLE ${where.table} ENGINE = MyISAM`)
    await expect(own.engine.expose({ ...where, bucket: BUCKET })).rejects.toThrow(/MyISAM.*InnoDB/)
  })

  test.each(['ON DELETE CASCADE', 'ON DELETE SET NULL', 'ON UPDATE CASCADE'])(
    'rows that InnoDB changes by itself: %s',
    async rule => {
      const { own } = using
      const where = await own.aTable('id integer PRIMARY KEY')
      const child = `${where.table}_child`
      await own.sql.query(
        `CREATE TABLE ${child} (id integer PRIMARY KEY, parent integer, FOREIGN KEY (parent) REFERENCES ${where.table} (id) ${rule})`,
      )
      const error = await own.engine.expose({ ...where, table: child, bucket: BUCKET }).catch(failure => failure)
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
      expect(error.message).toMatch(new RegExp(`has ${rule}.*without firing triggers`))
      // The parent can be a bucket.
      await own.engine.expose({ ...where, bucket: BUCKET })
      const [store] = await own.openBoth(where)
      await eventually('it is used', async () => (await put(store, 1, {})) > 0)
    },
  )
})
