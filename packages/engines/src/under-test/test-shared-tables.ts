/**
 * Tables of other programs as buckets, in any database: table and bucket stay equal, whichever program or server writes to
 * them, and the log has each change.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from './eventually.js'
import { aPut, BUCKET, objectOf, put, type TablesEngine, TablesUnderTest, textOf, type Using } from './tables.js'

/** Returns the environment of the tests, for tests of one database. */
export function useTables(engine: TablesEngine): Using {
  const using = {} as { own: TablesUnderTest }
  beforeAll(async () => {
    using.own = await TablesUnderTest.start(engine)
  })
  afterEach(() => using.own.close())
  afterAll(() => using.own.end())
  return using
}

export function testTables(using: Using): void {
  testBecomingObjects(using)
  testWriting(using)
  testKeys(using)
  testIndexes(using)
  testRights(using)
  testRowsRefused(using)
  testTablesRefused(using)
  testChangedTables(using)
  testRemoving(using)
}

function testBecomingObjects(using: Using): void {
  test('an open store knows at once which bucket is a table', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY')
    const [store] = await own.openBoth(where)
    expect(await store.isTable?.(BUCKET)).toBe(false)
    await own.engine.expose({ ...where, bucket: BUCKET })
    expect(await store.isTable?.(BUCKET)).toBe(true)
    expect(await store.isTable?.('shop/others')).toBe(false)
  })

  test('present rows become objects, and so do rows that any program writes, at once', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, name text NOT NULL, price numeric(10, 2)')
    await own.sql.query(
      `INSERT INTO ${where.table} SELECT i, CONCAT('product ', i), i / 4.0 FROM ${own.engine.series(1, 12000)}`,
    )
    const progress: [number, number][] = []
    const exposure = await own.engine.expose({ ...where, bucket: BUCKET, onProgress: (...at) => progress.push(at) })
    expect(exposure).toEqual({
      bucket: BUCKET,
      table: where.table,
      columns: ['id', 'name', 'price'],
      key: ['id'],
      isGone: false,
    })
    expect(progress[0]).toEqual([0, 12000])
    expect(progress.at(-1)).toEqual([12000, 12000])
    expect(progress.length).toBeGreaterThan(2)
    const [store, other] = await own.openBoth(where)
    expect(await textOf(store, 3)).toBe('{"id":3,"name":"product 3","price":0.75}')
    expect((await store.scan(BUCKET, { limit: 20_000 })).entries.length).toBe(12000)
    const heard: number[] = []
    other.onCommit(position => heard.push(position))
    const before = await store.position()
    await own.sql.query(`UPDATE ${where.table} SET price = 9.50 WHERE id IN (1, 2)`)
    // Listeners hear of it even if they make no request.
    await eventually('it is heard', () => heard.some(position => position > before))
    const entries = await store.changes(before)
    expect(entries.length).toBe(1)
    expect([...entries[0]!.keys].sort()).toEqual([`${BUCKET}/1`, `${BUCKET}/2`])
    expect(await textOf(store, 1)).toBe('{"id":1,"name":"product 1","price":9.5}')
    expect((await store.get(`${BUCKET}/1`))?.version).toBe(entries[0]!.position)
    // A statement that changes nothing is not a change.
    await own.sql.query(`UPDATE ${where.table} SET price = price`)
    expect(await store.position()).toBe(entries[0]!.position)
    await own.sql.query(`DELETE FROM ${where.table}`)
    expect((await store.scan(BUCKET)).entries).toEqual([])
    expect(await store.get(`${BUCKET}/1`)).toBe(undefined)
  })
}

function testWriting(using: Using): void {
  test('a write of Freshet is in the table with its commit, and changes that the database makes to it come after', async () => {
    const { own } = using
    const where = await own.aTable(
      `id ${own.engine.counted} PRIMARY KEY, name text NOT NULL, stock integer NOT NULL DEFAULT 7,
       twice integer GENERATED ALWAYS AS (stock * 2) STORED, secret varchar(20) DEFAULT 'hidden'`,
    )
    await own.engine.expose({ ...where, bucket: BUCKET, columns: ['name', 'stock', 'twice'] })
    const [store, other] = await own.openBoth(where)
    const whole = { id: 1, name: 'a', stock: 1, twice: 2 }
    const position = await put(store, 1, whole)
    expect((await own.sql.query(`SELECT * FROM ${where.table}`)).rows).toEqual([{ ...whole, secret: 'hidden' }])
    // Byte for byte as it was written, and only once.
    expect(await textOf(other, 1)).toBe(JSON.stringify(whole))
    expect(await store.position()).toBe(position)
    const first = await put(store, 2, { name: 'b' })
    expect(await objectOf(other, 2)).toEqual({ id: 2, name: 'b', stock: 7, twice: 14 })
    expect((await store.get(`${BUCKET}/2`))!.version).toBeGreaterThan(first)
    await own.sql.query(`UPDATE ${where.table} SET secret = 'mine'`)
    await put(store, 1, { name: 'c', stock: 3 })
    expect((await own.sql.query(`SELECT name, secret FROM ${where.table} WHERE id = 1`)).rows).toEqual([
      { name: 'c', secret: 'mine' },
    ])
    await store.commit({ writes: [{ key: `${BUCKET}/1`, delete: true }] })
    expect((await own.sql.query(`SELECT id FROM ${where.table}`)).rows).toEqual([{ id: 2 }])
    expect(await other.get(`${BUCKET}/1`)).toBe(undefined)
  })
}

function testKeys(using: Using): void {
  test('keys of several columns, and of any text, become ids', async () => {
    const { own } = using
    const where = await own.aTable('a varchar(50), b date, c integer, PRIMARY KEY (a, b)')
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    await own.sql.query(`INSERT INTO ${where.table} VALUES ('x,y%2C', '2026-01-02', 1), ('no/slash', '2026-01-02', 3)`)
    expect(await objectOf(store, 'x%2Cy%252C,2026-01-02')).toEqual({ a: 'x,y%2C', b: '2026-01-02', c: 1 })
    // A row that no URL can name is left out.
    expect((await store.scan(BUCKET)).entries.length).toBe(1)
    await put(store, 'q,2026-01-03', { c: 5 })
    await put(store, 'x%2Cy%252C,2026-01-02', { a: 'x,y%2C', b: '2026-01-02', c: 2 })
    const { rows } = await own.sql.query(`SELECT a, CAST(b AS CHAR(10)) AS b, c FROM ${where.table} ORDER BY c`)
    expect(rows).toEqual([
      { a: 'x,y%2C', b: '2026-01-02', c: 2 },
      { a: 'no/slash', b: '2026-01-02', c: 3 },
      { a: 'q', b: '2026-01-03', c: 5 },
    ])
    // Another key is another object.
    await own.sql.query(`UPDATE ${where.table} SET a = 'r' WHERE a = 'q'`)
    expect(await store.get(`${BUCKET}/q,2026-01-03`)).toBe(undefined)
    expect(await objectOf(store, 'r,2026-01-03')).toEqual({ a: 'r', b: '2026-01-03', c: 5 })
  })
}

function testIndexes(using: Using): void {
  test('indexes and queries include what other programs write', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, colour varchar(20), price decimal(10, 2)')
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    const indexes = [{ name: 'by-colour', fields: ['colour', 'price'] }]
    await store.commit({ writes: [{ ...aPut(BUCKET, {}), indexes }] })
    await eventually('it is built', async () => (await store.indexes(BUCKET)).every(({ isReady }) => isReady))
    const query = { where: { colour: 'red' } }
    const before = await store.query(BUCKET, query)
    expect(before.entries).toEqual([])
    await own.sql.query(
      `INSERT INTO ${where.table} SELECT i, CASE WHEN i % 2 = 0 THEN 'red' ELSE 'blue' END, i FROM ${own.engine.series(1, 20)}`,
    )
    const after = await store.query(BUCKET, query)
    expect(after.plan.index).toBe('by-colour')
    expect(after.entries.length).toBe(10)
    expect(after.version).toBeGreaterThan(before.version)
    await own.sql.query(`UPDATE ${where.table} SET colour = 'blue' WHERE id = 2`)
    expect((await store.query(BUCKET, query)).entries.length).toBe(9)
  })
}

function testRights(using: Using): void {
  test('a program that may write to the table needs no other right', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY')
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    await own.sql.query(own.engine.grantInsert(where.table))
    const clerk = await own.connect(where.url.replace(/\/\/[^@]*@/, '//clerk@'))
    await clerk.query(`INSERT INTO ${where.table} VALUES (4)`)
    expect(await objectOf(store, 4)).toEqual({ id: 4 })
  })
}

function testRowsRefused(using: Using): void {
  describe('an object that cannot be a row is refused, and its whole commit is not done', () => {
    test.each([
      ['a field that is not a column', '1', { name: 'x', colour: 'red' }, /no column colour/],
      ['a constraint', '1', { name: 'x', stock: -1 }, /stock/],
      ['a missing value', '1', { stock: 1 }, /name/],
      ['another type', '1', { name: 'x', stock: 'many' }, /many/],
      ['an id that is not a key', 'abc', { name: 'x' }, /key of the table: id, int/],
      ['an id in another spelling', '01', { name: 'x' }, /key of the table: id, int/],
      ['another key than the id', '1', { id: 2, name: 'x' }, /id must be 1/],
      ['not an object', '1', [1], /JSON object/],
      ['a key that does not exist', '1', { name: 'x', maker: 99 }, /maker/],
      ['a row that a trigger refuses', '1', { name: 'forbidden' }, /not this one/],
    ])('%s', async (_, id, object, message) => {
      const { own } = using
      const where =
        await own.aTable(`id integer PRIMARY KEY, name varchar(50) NOT NULL, stock integer CHECK (stock >= 0),
        maker integer`)
      await own.sql.query(`ALTER TABLE ${where.table} ADD FOREIGN KEY (maker) REFERENCES ${where.table} (id)`)
      await own.sql.query(own.engine.refuseForbidden(where.table))
      await own.engine.expose({ ...where, bucket: BUCKET })
      const [store] = await own.openBoth(where)
      const position = await store.position()
      const refused = store.commit({
        writes: [aPut(`${BUCKET}/7`, { name: 'fine' }), aPut(`${BUCKET}/${id}`, object), aPut('a/b/c', {})],
      })
      // Together with a commit that is not refused.
      const fine = store.commit({
        writes: [aPut(`${BUCKET}/8`, { id: 8, name: 'fine', stock: 1, maker: null })],
      })
      const error = await refused.catch(failure => failure)
      expect(error).toMatchObject({ code: 'ROW_REFUSED' })
      expect(error.message).toMatch(message)
      expect(await fine).toMatchObject({ committed: true })
      expect((await own.sql.query(`SELECT id FROM ${where.table}`)).rows).toEqual([{ id: 8 }])
      expect((await store.changes(position)).flatMap(({ keys }) => keys)).toEqual([`${BUCKET}/8`])
      expect(await store.get('a/b/c')).toBe(undefined)
    })

    test('other content, and counters', async () => {
      const { own } = using
      const where = await own.aTable('id integer PRIMARY KEY')
      await own.engine.expose({ ...where, bucket: BUCKET })
      const [store] = await own.openBoth(where)
      const write = { key: `${BUCKET}/1`, contentType: 'text/plain', body: Buffer.from('{}') }
      await expect(store.commit({ writes: [write] })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
      const adds = [{ key: `${BUCKET}/1`, by: 1, decimals: 0 }]
      await expect(store.commit({ writes: [], adds })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
    })
  })
}

function testTablesRefused(using: Using): void {
  describe('refused as a bucket', () => {
    test.each([
      ['no primary key', 'id integer', undefined, /no primary key/],
      ['a key of a type with many spellings', 'id double precision PRIMARY KEY', undefined, /double/],
      ['a column that does not exist', 'id integer PRIMARY KEY', ['colour'], /no column colour/],
    ])('%s', async (_, columns, asked, message) => {
      const { own } = using
      const where = await own.aTable(columns)
      const error = await own.engine
        .expose({ ...where, bucket: BUCKET, ...(asked && { columns: asked }) })
        .catch(e => e)
      expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
      expect(error.message).toMatch(message)
    })

    test('no table, a view, a bucket in use, a table twice', async () => {
      const { own } = using
      const where = await own.aTable('id integer PRIMARY KEY')
      const [store] = await own.openBoth(where)
      await own.sql.query(`CREATE VIEW ${where.table}_view AS SELECT * FROM ${where.table}`)
      await store.commit({ writes: [aPut('a/used/1', {})] })
      const expose = (name: string, bucket: string) =>
        own.engine.expose({ ...where, table: name, bucket }).catch(e => e.message)
      expect(await expose(`${own.engine.schema}.nothing`, BUCKET)).toMatch(/no table by that name/)
      expect(await expose(`${where.table}_view`, BUCKET)).toMatch(/not a table/)
      expect(await expose(where.table, 'a/used')).toMatch(/holds objects/)
      expect(await expose(own.engine.ownTable(where.name), BUCKET)).toMatch(/store itself/)
      await own.engine.expose({ ...where, bucket: BUCKET })
      expect(await expose(where.table, 'shop/others')).toMatch(/is already the bucket shop\/products/)
    })
  })
}

function testChangedTables(using: Using): void {
  test('a table that is changed or dropped does not stop the store from working', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, a integer, b integer')
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    await own.sql.query(`INSERT INTO ${where.table} VALUES (1, 1, 1), (2, 2, 2)`)
    expect(await objectOf(store, 1)).toEqual({ id: 1, a: 1, b: 1 })
    await own.sql.query(`ALTER TABLE ${where.table} ADD c integer DEFAULT 5`)
    await own.sql.query(`UPDATE ${where.table} SET a = 10 WHERE id = 1`)
    expect(await objectOf(store, 1)).toEqual({ id: 1, a: 10, b: 1 })
    // The new column is included once the table is added again.
    await own.engine.expose({ ...where, bucket: BUCKET })
    expect(await objectOf(store, 2)).toEqual({ id: 2, a: 2, b: 2, c: 5 })
    await own.sql.query(`ALTER TABLE ${where.table} DROP b`)
    await own.sql.query(`UPDATE ${where.table} SET a = 11 WHERE id = 1`)
    expect(await objectOf(store, 1)).toEqual({ id: 1, a: 11, c: 5 })
    await put(store, 1, { id: 1, a: 12, c: 6 })
    await own.sql.query(`UPDATE ${where.table} SET a = 13 WHERE id = 1`)
    await own.sql.query(`DROP TABLE ${where.table}`)
    await put(store, 1, { a: 1 }).catch(error => expect(error).toMatchObject({ code: 'ROW_REFUSED' }))
    await store.commit({ writes: [aPut('a/b/c', {})] })
    expect(await store.get('a/b/c')).toBeDefined()
    expect((await own.engine.exposed(where))[0]!.isGone).toBe(true)
    await own.engine.unexpose({ ...where, bucket: BUCKET })
    expect((await store.scan(BUCKET)).entries).toEqual([])
  })
}

function testRemoving(using: Using): void {
  test('after a table is removed as a bucket, the bucket is empty and the table is as it was', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, a integer')
    await own.sql.query(`INSERT INTO ${where.table} VALUES (1, 1)`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    await own.engine.unexpose({ ...where, bucket: BUCKET })
    expect(await store.get(`${BUCKET}/1`)).toBe(undefined)
    await own.sql.query(`INSERT INTO ${where.table} VALUES (2, 2)`)
    await put(store, 3, { any: 'thing' })
    expect((await own.sql.query(`SELECT id FROM ${where.table} ORDER BY id`)).rows).toEqual([{ id: 1 }, { id: 2 }])
    const { rows } = await own.sql.query(own.engine.countTriggers(where.table))
    expect(rows).toEqual([{ n: 0 }])
    await expect(own.engine.unexpose({ ...where, bucket: BUCKET })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
}
