/**
 * MariaDB creates no triggers in a transaction. A process that makes a table a bucket, or a bucket a table again, may be
 * killed between any two of the steps: then the table is not used, other programs continue, and the next process finishes the
 * work.
 */
import { expect, test } from 'vitest'
import { CuttingLine } from '../../under-test/cutting-line.js'
import { eventually } from '../../under-test/eventually.js'
import { mariadbTables } from '../../under-test/mariadb-tables.js'
import { BUCKET, objectOf, put, type TableUnderTest } from '../../under-test/tables.js'
import { useTables } from '../../under-test/test-shared-tables.js'

const using = useTables(mariadbTables)

/** Works over a connection that is cut before this request is sent. */
async function killedAt(
  request: string,
  { url }: TableUnderTest,
  work: (url: string) => Promise<unknown>,
): Promise<void> {
  const { port } = new URL(url)
  const line = await CuttingLine.open(Number(port))
  line.cutNext({ request, when: 'before', forAll: true })
  await expect(work(url.replace(`:${port}/`, `:${line.port}/`))).rejects.toThrow()
  expect(line.cuts).toBe(1)
  await line.close()
}

async function aTable(): Promise<TableUnderTest> {
  const where = await using.own.aTable('id integer PRIMARY KEY, n integer')
  await using.own.sql.query(`INSERT INTO ${where.table} VALUES (1, 1), (2, 2)`)
  return where
}

test.each([
  ['the first trigger', '_insert` AFTER INSERT'],
  ['the second trigger', '_update` AFTER UPDATE'],
  ['the last trigger', '_delete` AFTER DELETE'],
  ['the record is complete', 'INSERT IGNORE INTO'],
])(
  'if adding a table is killed before %s, the table is not used, and adding it again finishes the work',
  async (_, request) => {
    const { own } = using
    const where = await aTable()
    const [store] = await own.openBoth(where)
    await killedAt(request, where, url => own.engine.expose({ ...where, url, bucket: BUCKET }))
    await expect(put(store, 3, { n: 3 })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
    await expect(store.commit({ writes: [{ key: `${BUCKET}/1`, delete: true }] })).rejects.toMatchObject({
      code: 'ROW_REFUSED',
    })
    await own.sql.query(
      `DELETE FROM ${where.table} WHERE id = 1; UPDATE ${where.table} SET n = 5; INSERT INTO ${where.table} VALUES (4, 4)`,
    )
    expect((await store.scan(BUCKET)).entries).toEqual([])
    await own.engine.expose({ ...where, bucket: BUCKET })
    expect((await store.scan(BUCKET)).entries.map(({ id }) => id)).toEqual(['2', '4'])
    await own.sql.query(
      `DELETE FROM ${where.table} WHERE id = 2; UPDATE ${where.table} SET n = 6; INSERT INTO ${where.table} VALUES (7, 7)`,
    )
    expect(await objectOf(store, 4)).toEqual({ id: 4, n: 6 })
    expect((await store.scan(BUCKET)).entries.map(({ id }) => id)).toEqual(['4', '7'])
    await put(store, 3, { n: 3 })
  },
)

test('if adding a table is killed, the next server that starts finishes it', async () => {
  const { own } = using
  const where = await aTable()
  await killedAt('_delete` AFTER DELETE', where, url => own.engine.expose({ ...where, url, bucket: BUCKET }))
  expect((await own.sql.query(own.engine.countTriggers(where.table))).rows).toEqual([{ n: 2 }])
  const [store] = await own.openBoth(where)
  await own.sql.query(`DELETE FROM ${where.table} WHERE id = 1; INSERT INTO ${where.table} VALUES (3, 3)`)
  expect(await objectOf(store, 3)).toEqual({ id: 3, n: 3 })
  await eventually('all are there', async () => (await store.scan(BUCKET)).entries.length === 2)
  expect((await own.engine.exposed(where))[0]!.phase).toBe(undefined)
})

test.each([
  ['the first trigger', '_insert`'],
  ['the second trigger', '_update`'],
  ['the last trigger', '_delete`'],
  ['the record', 'DELETE FROM `freshet`'],
])(
  'if removing a table is killed before %s, the table is not used, and removing it again finishes the work',
  async (_, request) => {
    const { own } = using
    const where = await aTable()
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    await killedAt(request, where, url => own.engine.unexpose({ ...where, url, bucket: BUCKET }))
    expect((await own.engine.exposed(where))[0]!.phase).toBe('removing')
    await expect(put(store, 3, { n: 3 })).rejects.toMatchObject({ code: 'ROW_REFUSED' })
    await own.sql.query(`INSERT INTO ${where.table} VALUES (4, 4)`)
    await own.engine.unexpose({ ...where, bucket: BUCKET })
    expect((await own.sql.query(own.engine.countTriggers(where.table))).rows).toEqual([{ n: 0 }])
    expect((await store.scan(BUCKET)).entries).toEqual([])
    await put(store, 'any', { thing: true })
    expect((await own.sql.query(`SELECT id FROM ${where.table}`)).rows.length).toBe(3)
  },
)

test('a table that an open transaction uses is neither added nor removed, and stays what it is', async () => {
  const { own } = using
  const where = await aTable()
  const client = await own.connect()
  await client.query(`BEGIN; UPDATE ${where.table} SET n = 9 WHERE id = 1`)
  await expect(own.engine.expose({ ...where, bucket: BUCKET })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await client.query('COMMIT')
  expect(await own.engine.exposed(where)).toEqual([])
  await own.engine.expose({ ...where, bucket: BUCKET })
  const [store] = await own.openBoth(where)
  await client.query(`BEGIN; UPDATE ${where.table} SET n = 10 WHERE id = 1`)
  await expect(own.engine.unexpose({ ...where, bucket: BUCKET })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await client.query('COMMIT')
  expect(await objectOf(store, 1)).toEqual({ id: 1, n: 10 })
  await put(store, 1, { n: 11 })
  expect((await own.engine.exposed(where))[0]!.phase).toBe(undefined)
})
