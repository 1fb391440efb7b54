/** Other programs that write to a table while servers do: nothing is lost, and nothing is seen in part. */
import type { Store } from '@freshet/core/store'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { CuttingLine } from '../../under-test/cutting-line.js'
import { eventually } from '../../under-test/eventually.js'
import { aPut, BUCKET, objectOf, put, TablesUnderTest } from '../../under-test/tables.js'
import { exposeTable } from './expose-tables.js'

let own: TablesUnderTest
let sql: pg.Client

beforeAll(async () => {
  own = await TablesUnderTest.start()
  sql = own.sql
})
afterEach(() => own.close())
afterAll(() => own.end())

test('a condition holds against what other programs do at the same time: of all additions none is lost', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, sum integer NOT NULL')
  await sql.query(`INSERT INTO ${table} VALUES (1, 0)`)
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const stores = await own.openBoth(url, schema)
  const addThrough = async (store: Store) => {
    for (;;) {
      const { version, body } = (await store.get(`${BUCKET}/1`))!
      const { sum } = JSON.parse(Buffer.from(body).toString())
      const reads = [{ key: `${BUCKET}/1`, version }]
      const { committed } = await store.commit({ reads, writes: [aPut(`${BUCKET}/1`, { id: 1, sum: sum + 1 })] })
      if (committed) return
    }
  }
  const client = await own.connect()
  const bySql = (async () => {
    for (let i = 0; i < 100; i++) await client.query(`UPDATE ${table} SET sum = sum + 1 WHERE id = 1`)
  })()
  const byFreshet = stores.map(async store => {
    for (let i = 0; i < 30; i++) await addThrough(store)
  })
  // To create what somebody else creates at the same time is given to one.
  const creating = Array.from({ length: 30 }, async (_, i) => {
    const key = `${BUCKET}/${100 + i}`
    const insert = client.query(`INSERT INTO ${table} VALUES (${100 + i}, 1) ON CONFLICT DO NOTHING`)
    const put = stores[0].commit({ reads: [{ key, version: 0 }], writes: [aPut(key, { id: 100 + i, sum: 2 })] })
    const [{ rowCount }, { committed }] = await Promise.all([insert, put])
    expect(rowCount! + Number(committed)).toBe(1)
    expect(await objectOf(stores[1], 100 + i)).toEqual({ id: 100 + i, sum: committed ? 2 : 1 })
  })
  await Promise.all([bySql, ...byFreshet, ...creating])
  expect(await objectOf(stores[0], 1)).toEqual({ id: 1, sum: 160 })
  expect((await sql.query(`SELECT sum FROM ${table} WHERE id = 1`)).rows).toEqual([{ sum: 160 }])
})

test('a transaction of others is seen whole or not at all, and one that does not end holds up nobody', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, n integer')
  await sql.query(`INSERT INTO ${table} VALUES (1, 0), (2, 0)`)
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(url, schema)
  const client = await own.connect()
  let isOver = false
  const writing = (async () => {
    for (let i = 1; !isOver; i++) {
      await client.query(`BEGIN; UPDATE ${table} SET n = ${i} WHERE id = ${1 + (i % 2)}`)
      await client.query(`UPDATE ${table} SET n = ${i} WHERE id = ${2 - (i % 2)}; COMMIT`)
    }
  })()
  for (let i = 0; i < 100; i++) {
    const { value } = await store.getMany([`${BUCKET}/1`, `${BUCKET}/2`])
    const [one, two] = value.map(each => JSON.parse(Buffer.from(each!.body).toString()).n)
    expect(one).toBe(two)
  }
  isOver = true
  await writing
  await client.query(`BEGIN; UPDATE ${table} SET n = -1`)
  const { rows } = await sql.query(`SELECT n FROM ${table} WHERE id = 1`)
  expect(await objectOf(store, 1)).toEqual({ id: 1, n: rows[0].n })
  await put(store, 3, { id: 3, n: 3 })
  // But whoever would write the same.
  const blocked = put(store, 1, { id: 1, n: 4 }).catch(error => error)
  const beside = put(store, 4, { id: 4, n: 4 })
  expect(await blocked).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'not-done' } })
  await beside
  await client.query('ROLLBACK')
  expect(await objectOf(store, 1)).toEqual({ id: 1, n: rows[0].n })
})

test.each([1, 2, 3])('any program and any server do as their model does, from seed %i', async seed => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, name text, n integer DEFAULT 1')
  const random = randomFrom(seed)
  const pick = (count: number) => Math.floor(random() * count)
  const model = new Map<number, { id: number; name: string | null; n: number | null }>()
  for (let id = 0; id < 5; id++) model.set(id, { id, name: 'old', n: id })
  await sql.query(`INSERT INTO ${table} SELECT i, 'old', i FROM generate_series(0, 4) i`)
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const stores = await own.openBoth(url, schema)
  const followed = new Map<string, string | undefined>()
  let reached = await stores[0].trimmedTo()
  const aRow = (id: number) => ({ id, name: ['a', 'b', null][pick(3)]!, n: [pick(9), null][pick(2)]! })
  const steps: (() => Promise<void>)[] = [
    async () => {
      const row = aRow(pick(12))
      await sql.query(`INSERT INTO ${table} VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET name = $2, n = $3`, [
        row.id,
        row.name,
        row.n,
      ])
      model.set(row.id, row)
    },
    async () => {
      const [from, by] = [pick(12), pick(3)]
      await sql.query(`UPDATE ${table} SET n = n + ${by} WHERE id >= ${from}`)
      for (const row of model.values()) if (row.id >= from && row.n !== null) row.n += by
    },
    async () => {
      const id = pick(12)
      await sql.query(`DELETE FROM ${table} WHERE id = ${id}`)
      model.delete(id)
    },
    async () => {
      await sql.query(
        `BEGIN; DELETE FROM ${table} WHERE id < 6; INSERT INTO ${table} VALUES (${20 + pick(9)}); ROLLBACK`,
      )
    },
    async () => {
      const [from, to] = [pick(12), pick(12)]
      if (!model.has(from) || model.has(to)) return
      await sql.query(`UPDATE ${table} SET id = ${to} WHERE id = ${from}`)
      model.set(to, { ...model.get(from)!, id: to })
      model.delete(from)
    },
    async () => {
      if (pick(10) > 0) return
      await sql.query(`TRUNCATE ${table}`)
      model.clear()
    },
    async () => {
      const rows = [...new Set([pick(12), pick(12)])].map(aRow)
      await stores[pick(2)]!.commit({ writes: rows.map(row => aPut(`${BUCKET}/${row.id}`, row)) })
      for (const row of rows) model.set(row.id, row)
    },
    async () => {
      const id = pick(12)
      await put(stores[pick(2)]!, id, { name: 'c' })
      model.set(id, { id, name: 'c', n: 1 })
    },
    async () => {
      const id = pick(12)
      await stores[pick(2)]!.commit({ writes: [{ key: `${BUCKET}/${id}`, delete: true }] })
      model.delete(id)
    },
    async () => {
      const id = pick(12)
      const key = `${BUCKET}/${id}`
      const version = pick(2) === 0 ? 0 : ((await stores[0].get(key))?.version ?? 0)
      await sql.query(`UPDATE ${table} SET name = 'between' WHERE id = ${id} AND ${pick(2) === 0}`)
      const { rows } = await sql.query(`SELECT * FROM ${table} WHERE id = ${id}`)
      const isSame = rows.length === 0 ? version === 0 : version !== 0 && rows[0].name === model.get(id)!.name
      if (rows.length > 0) model.set(id, rows[0])
      const row = aRow(id)
      const { committed } = await stores[1].commit({ reads: [{ key, version }], writes: [aPut(key, row)] })
      expect(committed).toBe(isSame)
      if (committed) model.set(id, row)
    },
  ]
  for (let i = 0; i < 300; i++) {
    await steps[pick(steps.length)]!()
    const store = stores[pick(2)]!
    const id = pick(12)
    expect(await objectOf(store, id)).toEqual(model.get(id))
    if (i % 10 > 0) continue
    const { entries, position } = await store.scan(BUCKET)
    const found = entries.map(({ body }) => JSON.parse(Buffer.from(body).toString()))
    const byId = (a: { id: number }, b: { id: number }) => a.id - b.id
    expect(found.sort(byId)).toEqual([...model.values()].sort(byId))
    // Whoever follows the log has the same.
    for (const { keys } of await store.changes(reached)) for (const key of keys) followed.set(key, undefined)
    reached = position
    for (const [key, text] of followed) {
      if (text === undefined) followed.set(key, (await store.get(key))?.body.toString() ?? '')
    }
    const kept = [...followed.values()].filter(text => text !== '').map(text => JSON.parse(text!))
    const ids = new Set(kept.map(each => each.id))
    expect(ids).toEqual(new Set(model.keys()))
    expect(kept.sort(byId)).toEqual([...model.values()].sort(byId))
  }
})

function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('what other programs wrote is in every answer, also if there are standbys and none can be used', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, n integer')
  await exposeTable({ url, schema, table, bucket: BUCKET })
  const [store] = await own.openBoth(`${url}?replicas=127.0.0.1:1`, schema)
  const found: readonly [name: string, count: () => Promise<number>][] = [
    ['getMany', async () => (await store.getMany([`${BUCKET}/1`])).value.filter(Boolean).length],
    ['scan', async () => (await store.scan(BUCKET)).entries.length],
    ['query', async () => (await store.query(BUCKET, {})).entries.length],
  ]
  for (const [name, count] of found) {
    await sql.query(`INSERT INTO ${table} VALUES (1, 0)`)
    expect([name, await count()]).toEqual([name, 1])
    await sql.query(`DELETE FROM ${table}`)
    expect([name, await count()]).toEqual([name, 0])
  }
})

test('who makes a table a bucket, and is gone before its rows are noted: the next that opens the store notes them', async () => {
  const { url, schema, table } = await own.aTable('id integer PRIMARY KEY, n integer')
  await sql.query(`INSERT INTO ${table} VALUES (1, 1), (2, 2)`)
  const { port } = new URL(url)
  const line = await CuttingLine.open(Number(port))
  line.cutNext({ request: 'INSERT INTO incoming (exposed', when: 'before', forAll: true })
  const through = url.replace(`:${port}/`, `:${line.port}/`)
  await expect(exposeTable({ url: through, schema, table, bucket: BUCKET })).rejects.toThrow()
  await line.close()
  const [store] = await own.openBoth(url, schema)
  await sql.query(`UPDATE ${table} SET n = 3 WHERE id = 1`)
  expect(await objectOf(store, 1)).toEqual({ id: 1, n: 3 })
  await eventually('all are there', async () => (await store.scan(BUCKET)).entries.length === 2)
  expect(await objectOf(store, 2)).toEqual({ id: 2, n: 2 })
})
