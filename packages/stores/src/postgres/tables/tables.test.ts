/** Tables of others as buckets: whatever anybody does to either, both are the same, and the log has it. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../under-test/eventually.js'
import { aPut, BUCKET, objectOf, put, TablesUnderTest, textOf } from '../../under-test/tables.js'
import { exposedTables, exposeTable, unexposeTable } from './expose-tables.js'

let own: TablesUnderTest
let sql: pg.Client

beforeAll(async () => {
  own = await TablesUnderTest.start()
  sql = own.sql
})
afterEach(() => own.close())
afterAll(() => own.end())

test('rows that are there become objects, and so do those that any program writes, at once', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, name text NOT NULL, price numeric(10, 2)')
  await sql.query(`INSERT INTO ${table} SELECT i, 'product ' || i, i / 4.0 FROM generate_series(1, 12000) i`)
  const progress: [number, number][] = []
  const exposure = await exposeTable({ url, schema, table, bucket: BUCKET, onProgress: (...at) => progress.push(at) })
  expect(exposure).toEqual({ bucket: BUCKET, table, columns: ['id', 'name', 'price'], key: ['id'], isGone: false })
  expect(progress[0]).toEqual([0, 12000])
  expect(progress.at(-1)).toEqual([12000, 12000])
  expect(progress.length).toBeGreaterThan(2)
  const [store, other] = await own.openBoth(url, schema)
  expect(await textOf(store, 3)).toBe('{"id":3,"name":"product 3","price":0.75}')
  expect((await store.scan(BUCKET, { limit: 20_000 })).entries.length).toBe(12000)
  const heard: number[] = []
  other.onCommit(position => heard.push(position))
  const before = await store.position()
  await sql.query(`UPDATE ${table} SET price = 9.50 WHERE id IN (1, 2)`)
  // Also those who do not ask for anything hear of it.
  await eventually('it is heard', () => heard.some(position => position > before))
  const entries = await store.changes(before)
  expect(entries.length).toBe(1)
  expect([...entries[0]!.keys].sort()).toEqual([`${BUCKET}/1`, `${BUCKET}/2`])
  expect(await textOf(store, 1)).toBe('{"id":1,"name":"product 1","price":9.5}')
  expect((await store.get(`${BUCKET}/1`))?.version).toBe(entries[0]!.position)
  // A statement that changes nothing is no change.
  await sql.query(`UPDATE ${table} SET price = price`)
  expect(await store.position()).toBe(entries[0]!.position)
  await sql.query(`TRUNCATE ${table}`)
  expect((await store.scan(BUCKET)).entries).toEqual([])
  expect(await store.get(`${BUCKET}/1`)).toBe(undefined)
})

test('what Freshet writes is in the table with it, and what the database makes of that comes after', async () => {
  const { url, schema, table } = await own.aTable(
    `id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, stock integer NOT NULL DEFAULT 7,
     twice integer GENERATED ALWAYS AS (stock * 2) STORED, secret text DEFAULT 'hidden'`,
  )
  await exposeTable({ url, schema, table, bucket: BUCKET, columns: ['name', 'stock', 'twice'] })
  const [store, other] = await own.openBoth(url, schema)
  const whole = { id: 1, name: 'a', stock: 1, twice: 2 }
  const position = await put(store, 1, whole)
  expect((await sql.query(`SELECT * FROM ${table}`)).rows).toEqual([{ ...whole, secret: 'hidden' }])
  // As it was written, byte for byte, and once.
  expect(await textOf(other, 1)).toBe(JSON.stringify(whole))
  expect(await store.position()).toBe(position)
  const first = await put(store, 2, { name: 'b' })
  expect(await objectOf(other, 2)).toEqual({ id: 2, name: 'b', stock: 7, twice: 14 })
  expect((await store.get(`${BUCKET}/2`))!.version).toBeGreaterThan(first)
  await sql.query(`UPDATE ${table} SET secret = 'mine'`)
  await put(store, 1, { name: 'c', stock: 3 })
  expect((await sql.query(`SELECT name, secret FROM ${table} WHERE id = 1`)).rows).toEqual([
    { name: 'c', secret: 'mine' },
  ])
  await store.commit({ writes: [{ key: `${BUCKET}/1`, delete: true }] })
  expect((await sql.query(`SELECT id FROM ${table}`)).rows).toEqual([{ id: 2 }])
  expect(await other.get(`${BUCKET}/1`)).toBe(undefined)
})

test('values of all types come back as they were', async () => {
  const { url, schema, table } = await own.aTable(
    `id bigint PRIMARY KEY, big bigint, price numeric, wide numeric(40, 20), at timestamptz, local timestamp, day date, bytes bytea,
     document jsonb, tags text[], flag boolean, ratio double precision, span interval, uid uuid`,
  )
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(url, schema)
  await sql.query(`SET TimeZone = 'America/New_York'; SET DateStyle = 'German'`)
  await sql.query(`
    INSERT INTO ${table} VALUES (9007199254740993, 9007199254740993, 9.50, 12345678901234567.25, '2026-11-16 10:00:00+01', '2026-11-16 10:00',
      '2026-11-16', '\\xdeadbeef', '{"a": [1, null]}', '{x,"y z"}', true, 0.1, '1 day 02:00', '0b0f3a1e-4c8e-4a51-9d1b-0123456789ab'),
      (1, 5, 1, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'NaN', NULL, NULL)`)
  await sql.query('RESET TimeZone; RESET DateStyle')
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
    sql.query({ text: `SELECT to_jsonb(t), t.big::text, t.wide::text FROM ${table} t ORDER BY id`, rowMode: 'array' })
  const before = (await rows()).rows
  const position = await put(store, '9007199254740993', object)
  await put(store, 1, await objectOf(store, 1))
  expect((await rows()).rows).toEqual(before)
  expect((await store.get(`${BUCKET}/9007199254740993`))!.version).toBe(position)
})

test('a column of json may hold what jsonb does not, and is written all the same', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, document json')
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(url, schema)
  await sql.query(`INSERT INTO ${table} VALUES (1, '{"a" : "\\u0000", "n": 1e9999}')`)
  expect(await textOf(store, 1)).toBe('{"id":1,"document":{"a" : "\\u0000", "n": 1e9999}}')
  await put(store, 2, { document: { b: 1 } })
  expect(await objectOf(store, 2)).toEqual({ id: 2, document: { b: 1 } })
  await sql.query(`UPDATE ${table} SET document = '[]'`)
  expect(await objectOf(store, 1)).toEqual({ id: 1, document: [] })
})

test('keys of several columns, and of any text, are ids', async () => {
  const { url, schema, table } = await own.aTable('a text, b date, c integer, PRIMARY KEY (a, b)')
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(url, schema)
  await sql.query(`INSERT INTO ${table} VALUES ('x,y%2C', '2026-01-02', 1), ('no/slash', '2026-01-02', 2)`)
  expect(await objectOf(store, 'x%2Cy%252C,2026-01-02')).toEqual({ a: 'x,y%2C', b: '2026-01-02', c: 1 })
  // What no URL can name is left out.
  expect((await store.scan(BUCKET)).entries.length).toBe(1)
  await put(store, 'q,2026-01-03', { c: 5 })
  await put(store, 'x%2Cy%252C,2026-01-02', { a: 'x,y%2C', b: '2026-01-02', c: 2 })
  const { rows } = await sql.query(`SELECT a, b::text, c FROM ${table} ORDER BY a COLLATE "C"`)
  expect(rows).toEqual([
    { a: 'no/slash', b: '2026-01-02', c: 2 },
    { a: 'q', b: '2026-01-03', c: 5 },
    { a: 'x,y%2C', b: '2026-01-02', c: 2 },
  ])
  // Another key is another object.
  await sql.query(`UPDATE ${table} SET a = 'r' WHERE a = 'q'`)
  expect(await store.get(`${BUCKET}/q,2026-01-03`)).toBe(undefined)
  expect(await objectOf(store, 'r,2026-01-03')).toEqual({ a: 'r', b: '2026-01-03', c: 5 })
})

describe('what cannot be a row is refused, and nothing of its commit is done', () => {
  test.each([
    ['a field that is no column', '1', { name: 'x', colour: 'red' }, /no column colour/],
    ['a constraint', '1', { name: 'x', stock: -1 }, /stock_check/],
    ['a missing value', '1', { stock: 1 }, /not-null/],
    ['another type', '1', { name: 'x', stock: 'many' }, /many/],
    ['an id that is no key', 'abc', { name: 'x' }, /its key is id, integer/],
    ['an id that is spelled otherwise', '01', { name: 'x' }, /its key is id, integer/],
    ['another key than the id', '1', { id: 2, name: 'x' }, /id must be 1/],
    ['no object', '1', [1], /JSON object/],
    ['a key that is not there', '1', { name: 'x', maker: 99 }, /maker/],
    ['one that is missed at the end only', '1', { name: 'x', later: 99 }, /later/],
    ['one that a trigger does not like', '1', { name: 'forbidden' }, /not this one/],
  ])('%s', async (_, id, object, message) => {
    const { url, schema, table } =
      await own.aTable(`id integer PRIMARY KEY, name text NOT NULL, stock integer CHECK (stock >= 0),
      maker integer, later integer`)
    await sql.query(`ALTER TABLE ${table} ADD FOREIGN KEY (maker) REFERENCES ${table},
      ADD FOREIGN KEY (later) REFERENCES ${table} DEFERRABLE INITIALLY DEFERRED`)
    await sql.query(`CREATE FUNCTION ${table}_check() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.name = 'forbidden' THEN RAISE 'not this one'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER checked BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_check()`)
    await exposeTable({ url, schema, table, bucket: BUCKET })
    const [store] = await own.openBoth(url, schema)
    const position = await store.position()
    const refused = store.commit({
      writes: [aPut(`${BUCKET}/7`, { name: 'fine' }), aPut(`${BUCKET}/${id}`, object), aPut('a/b/c', {})],
    })
    // Together with one that is not refused.
    const fine = store.commit({
      writes: [aPut(`${BUCKET}/8`, { id: 8, name: 'fine', stock: 1, maker: null, later: null })],
    })
    const error = await refused.catch(failure => failure)
    expect(error).toMatchObject({ code: 'ROW_REFUSED' })
    expect(error.message).toMatch(message)
    expect(await fine).toMatchObject({ committed: true })
    expect((await sql.query(`SELECT id FROM ${table}`)).rows).toEqual([{ id: 8 }])
    expect((await store.changes(position)).flatMap(({ keys }) => keys)).toEqual([`${BUCKET}/8`])
    expect(await store.get('a/b/c')).toBe(undefined)
  })

  test('other content, and counters', async () => {
    const { url, schema, table } = await own.aTable('id integer PRIMARY KEY')
    await exposeTable({ url, schema, table, bucket: BUCKET })
    const [store] = await own.openBoth(url, schema)
    const write = { key: `${BUCKET}/1`, contentType: 'text/plain', body: Buffer.from('{}') }
    await expect(store.commit({ writes: [write] })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
    const adds = [{ key: `${BUCKET}/1`, by: 1, decimals: 0 }]
    await expect(store.commit({ writes: [], adds })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
  })
})

test('what follows from a write, in other tables too, is in the log with it', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, name text')
  const children = `${table}_children`
  await sql.query(
    `CREATE TABLE ${children} (id integer PRIMARY KEY, parent integer REFERENCES ${table} ON DELETE CASCADE)`,
  )
  await exposeTable({ url, schema, table, bucket: BUCKET })
  await exposeTable({ url, schema, table: children, bucket: 'shop/children' })
  const [store, other] = await own.openBoth(url, schema)
  await store.commit({ writes: [aPut(`${BUCKET}/1`, { name: 'a' }), aPut('shop/children/5', { parent: 1 })] })
  expect(await objectOf(other, '5', 'shop/children')).toEqual({ id: 5, parent: 1 })
  await store.commit({ writes: [{ key: `${BUCKET}/1`, delete: true }] })
  expect(await other.get('shop/children/5')).toBe(undefined)
  expect((await store.scan('shop/children')).entries).toEqual([])
  expect((await exposedTables({ url, schema })).map(({ bucket }) => bucket)).toEqual([BUCKET, 'shop/children'])
})

test('indexes and queries know of what other programs write', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, colour text, price numeric')
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(url, schema)
  const indexes = [{ name: 'by-colour', fields: ['colour', 'price'] }]
  await store.commit({ writes: [{ ...aPut(BUCKET, {}), indexes }] })
  await eventually('it is built', async () => (await store.indexes(BUCKET)).every(({ isReady }) => isReady))
  const query = { where: { colour: 'red' } }
  const before = await store.query(BUCKET, query)
  expect(before.entries).toEqual([])
  await sql.query(`INSERT INTO ${table} SELECT i, (ARRAY['red', 'blue'])[1 + i % 2], i FROM generate_series(1, 20) i`)
  const after = await store.query(BUCKET, query)
  expect(after.plan.index).toBe('by-colour')
  expect(after.entries.length).toBe(10)
  expect(after.version).toBeGreaterThan(before.version)
  await sql.query(`UPDATE ${table} SET colour = 'blue' WHERE id = 2`)
  expect((await store.query(BUCKET, query)).entries.length).toBe(9)
})

test('a table that becomes another, or goes, does not keep the store from working', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, a integer, b integer')
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(url, schema)
  await sql.query(`INSERT INTO ${table} VALUES (1, 1, 1), (2, 2, 2)`)
  expect(await objectOf(store, 1)).toEqual({ id: 1, a: 1, b: 1 })
  await sql.query(`ALTER TABLE ${table} ADD c integer DEFAULT 5`)
  await sql.query(`UPDATE ${table} SET a = 10 WHERE id = 1`)
  expect(await objectOf(store, 1)).toEqual({ id: 1, a: 10, b: 1 })
  // The new column is there when it is asked for.
  await exposeTable({ url, schema, table, bucket: BUCKET })
  expect(await objectOf(store, 2)).toEqual({ id: 2, a: 2, b: 2, c: 5 })
  await sql.query(`ALTER TABLE ${table} DROP b`)
  await sql.query(`UPDATE ${table} SET a = 11 WHERE id = 1`)
  expect(await objectOf(store, 1)).toEqual({ id: 1, a: 11, c: 5 })
  await put(store, 1, { id: 1, a: 12, c: 6 })
  await sql.query(`UPDATE ${table} SET a = 13 WHERE id = 1`)
  await sql.query(`DROP TABLE ${table} CASCADE`)
  await put(store, 1, { a: 1 }).catch(error => expect(error).toMatchObject({ code: 'ROW_REFUSED' }))
  await store.commit({ writes: [aPut('a/b/c', {})] })
  expect(await store.get('a/b/c')).toBeDefined()
  expect((await exposedTables({ url, schema }))[0]!.isGone).toBe(true)
  await unexposeTable({ url, schema, bucket: BUCKET })
  expect((await store.scan(BUCKET)).entries).toEqual([])
})

test('a bucket that is no table any more is gone, and the table is as it was', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, a integer')
  await sql.query(`INSERT INTO ${table} VALUES (1, 1)`)
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(url, schema)
  await unexposeTable({ url, schema, bucket: BUCKET })
  expect(await store.get(`${BUCKET}/1`)).toBe(undefined)
  await sql.query(`INSERT INTO ${table} VALUES (2, 2)`)
  await put(store, 3, { any: 'thing' })
  expect((await sql.query(`SELECT id FROM ${table} ORDER BY id`)).rows).toEqual([{ id: 1 }, { id: 2 }])
  const { rows } = await sql.query(`SELECT count(*)::int AS n FROM pg_trigger WHERE tgrelid = '${table}'::regclass`)
  expect(rows[0].n).toBe(0)
  await expect(unexposeTable({ url, schema, bucket: BUCKET })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test('a program that may write the table needs no other right', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY')
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(url, schema)
  await sql.query(`CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA public TO clerk; GRANT INSERT ON ${table} TO clerk`)
  const clerk = new pg.Client({ connectionString: url.replace(/\/\/[^@]*@/, '//clerk@') })
  await clerk.connect()
  await clerk.query(`INSERT INTO ${table} VALUES (4)`)
  await clerk.end()
  expect(await objectOf(store, 4)).toEqual({ id: 4 })
})

describe('refused as a bucket', () => {
  test.each([
    ['no primary key', 'id integer', undefined, /no primary key/],
    ['a key of a type with many spellings', 'id double precision PRIMARY KEY', undefined, /double precision/],
    ['a column that is not there', 'id integer PRIMARY KEY', ['colour'], /no column colour/],
  ])('%s', async (_, columns, asked, message) => {
    const { url, schema, table } = await own.aTable(columns)
    const error = await exposeTable({ url, schema, table, bucket: BUCKET, ...(asked && { columns: asked }) }).catch(
      e => e,
    )
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
    expect(error.message).toMatch(message)
  })

  test('no table, a view, a bucket that is used, a table twice', async () => {
    const { url, schema, table } = await own.aTable('id integer PRIMARY KEY')
    const [store] = await own.openBoth(url, schema)
    await sql.query(`CREATE VIEW ${table}_view AS SELECT * FROM ${table}`)
    await store.commit({ writes: [aPut('a/used/1', {})] })
    const expose = (name: string, bucket: string) =>
      exposeTable({ url, schema, table: name, bucket }).catch(e => e.message)
    expect(await expose('public.nothing', BUCKET)).toMatch(/none by that name/)
    expect(await expose(`${table}_view`, BUCKET)).toMatch(/no table/)
    expect(await expose(table, 'a/used')).toMatch(/holds objects/)
    expect(await expose(`${schema}.memory`, BUCKET)).toMatch(/store itself/)
    await exposeTable({ url, schema, table, bucket: BUCKET })
    expect(await expose(table, 'shop/others')).toMatch(/is the bucket shop\/products already/)
  })
})
