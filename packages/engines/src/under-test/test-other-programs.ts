/** Other programs that write to a table while servers do, in any database: no write is lost, and none is seen in part. */
import type { Store } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { CuttingLine } from './cutting-line.js'
import { eventually } from './eventually.js'
import { aPut, BUCKET, objectOf, put, type Using } from './tables.js'

export function testOtherPrograms(using: Using): void {
  testAdditions(using)
  testWholeTransactions(using)
  testWithoutStandbys(using)
  testBeingKilled(using)
  testManyChanges(using)
  testBuildingIndexes(using)
  testTransfers(using)
  testSums(using)
  testWaitingForRow(using)
  testAddingMeanwhile(using)
}

function testAdditions(using: Using): void {
  test('a condition holds against concurrent writes of other programs: no addition is lost', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, sum integer NOT NULL')
    await own.sql.query(`INSERT INTO ${where.table} VALUES (1, 0)`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const stores = await own.openBoth(where)
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
      for (let i = 0; i < 100; i++) await client.query(`UPDATE ${where.table} SET sum = sum + 1 WHERE id = 1`)
    })()
    const byFreshet = stores.map(async store => {
      for (let i = 0; i < 30; i++) await addThrough(store)
    })
    // If Freshet and another program create the same row at the same time, one of them succeeds.
    const creating = Array.from({ length: 30 }, async (_, i) => {
      const key = `${BUCKET}/${100 + i}`
      const insert = client.query(own.engine.insertOrNothing(where.table, `(${100 + i}, 1)`))
      const put = stores[0].commit({ reads: [{ key, version: 0 }], writes: [aPut(key, { id: 100 + i, sum: 2 })] })
      const [{ count }, { committed }] = await Promise.all([insert, put])
      expect(count + Number(committed)).toBe(1)
      expect(await objectOf(stores[1], 100 + i)).toEqual({ id: 100 + i, sum: committed ? 2 : 1 })
    })
    await Promise.all([bySql, ...byFreshet, ...creating])
    expect(await objectOf(stores[0], 1)).toEqual({ id: 1, sum: 160 })
    expect((await own.sql.query(`SELECT sum FROM ${where.table} WHERE id = 1`)).rows).toEqual([{ sum: 160 }])
  })
}

function testWholeTransactions(using: Using): void {
  test('a transaction of another program is seen whole or not at all, and an open one blocks only its own rows', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer')
    await own.sql.query(`INSERT INTO ${where.table} VALUES (1, 0), (2, 0)`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    const client = await own.connect()
    let isOver = false
    const writing = (async () => {
      for (let i = 1; !isOver; i++) {
        await client.query(`BEGIN; UPDATE ${where.table} SET n = ${i} WHERE id = ${1 + (i % 2)}`)
        await client.query(`UPDATE ${where.table} SET n = ${i} WHERE id = ${2 - (i % 2)}; COMMIT`)
      }
    })()
    for (let i = 0; i < 100; i++) {
      const { value } = await store.getMany([`${BUCKET}/1`, `${BUCKET}/2`])
      const [one, two] = value.map(each => JSON.parse(Buffer.from(each!.body).toString()).n)
      expect(one).toBe(two)
    }
    isOver = true
    await writing
    await client.query(`BEGIN; UPDATE ${where.table} SET n = -1 WHERE id = 1`)
    const { rows } = await own.sql.query<{ n: number }>(`SELECT n FROM ${where.table} WHERE id = 1`)
    expect(await objectOf(store, 1)).toEqual({ id: 1, n: rows[0]!.n })
    await put(store, 3, { id: 3, n: 3 })
    // Only a commit to the same row is blocked.
    const blocked = put(store, 1, { id: 1, n: 4 }).catch(error => error)
    const beside = put(store, 4, { id: 4, n: 4 })
    expect(await blocked).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'not-done' } })
    await beside
    await client.query('ROLLBACK')
    expect(await objectOf(store, 1)).toEqual({ id: 1, n: rows[0]!.n })
  })
}

function testWithoutStandbys(using: Using): void {
  test('writes of other programs are in every answer, even if no standby can be used', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer')
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth({ ...where, url: `${where.url}?replicas=127.0.0.1:1` })
    const found: readonly [name: string, count: () => Promise<number>][] = [
      ['getMany', async () => (await store.getMany([`${BUCKET}/1`])).value.filter(Boolean).length],
      ['scan', async () => (await store.scan(BUCKET)).entries.length],
      ['query', async () => (await store.query(BUCKET, {})).entries.length],
    ]
    for (const [name, count] of found) {
      await own.sql.query(`INSERT INTO ${where.table} VALUES (1, 0)`)
      expect([name, await count()]).toEqual([name, 1])
      await own.sql.query(`DELETE FROM ${where.table}`)
      expect([name, await count()]).toEqual([name, 0])
    }
  })
}

function testBeingKilled(using: Using): void {
  test('if making a table a bucket is killed before rows are noted, the next server to open the store notes them', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer')
    await own.sql.query(`INSERT INTO ${where.table} VALUES (1, 1), (2, 2)`)
    const { port } = new URL(where.url)
    const line = await CuttingLine.open(Number(port))
    line.cutNext({ request: own.engine.noting, when: 'before', forAll: true })
    const through = where.url.replace(`:${port}/`, `:${line.port}/`)
    await expect(own.engine.expose({ ...where, url: through, bucket: BUCKET })).rejects.toThrow()
    await line.close()
    const [store] = await own.openBoth(where)
    await own.sql.query(`UPDATE ${where.table} SET n = 3 WHERE id = 1`)
    expect(await objectOf(store, 1)).toEqual({ id: 1, n: 3 })
    await eventually('all are there', async () => (await store.scan(BUCKET)).entries.length === 2)
    expect(await objectOf(store, 2)).toEqual({ id: 2, n: 2 })
  })
}

function testManyChanges(using: Using): void {
  test('a commit comes after all earlier writes of other programs, however many', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer')
    await own.sql.query(`INSERT INTO ${where.table} SELECT i, 0 FROM ${own.engine.series(1, 12_000)}`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store, other] = await own.openBoth(where)
    const keys = Array.from({ length: 12 }, (_, i) => `${BUCKET}/${(i + 1) * 1000}`)
    const versions = (await store.getMany(keys)).value.map(value => value!.version)
    await own.sql.query(`UPDATE ${where.table} SET n = 1`)
    const conditional = keys.map((key, i) =>
      other.commit({ reads: [{ key, version: versions[i]! }], writes: [aPut(key, { id: (i + 1) * 1000, n: 2 })] }),
    )
    for (const result of await Promise.all(conditional)) expect(result.committed).toBe(false)
    await own.sql.query(`UPDATE ${where.table} SET n = 3`)
    await Promise.all(keys.map((_, i) => put(other, (i + 1) * 1000, { id: (i + 1) * 1000, n: 4 })))
    await expectSame(using, where.table, store)
  })
}

function testBuildingIndexes(using: Using): void {
  test('while an index is built, no write of other programs is lost', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer')
    await own.sql.query(`INSERT INTO ${where.table} SELECT i, 0 FROM ${own.engine.series(1, 6000)}`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    const client = await own.connect()
    let isOver = false
    const writing = (async () => {
      for (let i = 1; !isOver; i++)
        await client.query(`UPDATE ${where.table} SET n = ${i} WHERE id = ${1 + ((i * 7) % 6000)}`)
    })()
    for (const name of ['one', 'two', 'three']) {
      await store.commit({ writes: [{ ...aPut(BUCKET, {}), indexes: [{ name, fields: ['n'] }] }] })
      await eventually('it is built', async () => (await store.indexes(BUCKET)).every(({ isReady }) => isReady))
    }
    isOver = true
    await writing
    await expectSame(using, where.table, store)
  })
}

function testTransfers(using: Using): void {
  test('amounts moved between rows by SQL and by servers at the same time are neither lost nor created', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer NOT NULL')
    await own.sql.query(`INSERT INTO ${where.table} SELECT i, 100 FROM ${own.engine.series(1, 5)}`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const stores = await own.openBoth(where)
    const aPair = () => {
      const from = 1 + Math.floor(Math.random() * 5)
      return [from, 1 + ((from + Math.floor(Math.random() * 4)) % 5)] as const
    }
    const bySql = [await own.connect(), await own.connect()].map(async client => {
      for (let i = 0; i < 40; ) {
        const [from, to] = aPair()
        const add = (by: number, id: number) => client.query(`UPDATE ${where.table} SET n = n + ${by} WHERE id = ${id}`)
        await client.query('BEGIN')
        const isDone = await add(-1, from)
          .then(() => add(1, to))
          .then(
            () => true,
            () => false,
          )
        // The victim of a deadlock tries again, as between any two programs.
        await client.query(isDone ? 'COMMIT' : 'ROLLBACK')
        if (isDone) i++
      }
    })
    const byServers = stores.map(async store => {
      for (let i = 0; i < 40; ) {
        const [from, to] = aPair()
        const keys = [`${BUCKET}/${from}`, `${BUCKET}/${to}`]
        const { value } = await store.getMany(keys)
        const [one, other] = value.map(each => JSON.parse(Buffer.from(each!.body).toString()) as { n: number })
        const reads = keys.map((key, k) => ({ key, version: value[k]!.version }))
        const writes = [aPut(keys[0]!, { id: from, n: one!.n - 1 }), aPut(keys[1]!, { id: to, n: other!.n + 1 })]
        const result = await store.commit({ reads, writes }).catch(error => {
          expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'not-done' } })
          return { committed: false }
        })
        if (result.committed) i++
      }
    })
    await Promise.all([...bySql, ...byServers])
    const { rows } = await own.sql.query<{ id: number; n: number }>(`SELECT id, n FROM ${where.table} ORDER BY id`)
    expect(rows.reduce((sum, { n }) => sum + n, 0)).toBe(500)
    for (const store of stores) {
      for (const row of rows) expect(await objectOf(store, row.id)).toEqual(row)
    }
  })
}

function testWaitingForRow(using: Using): void {
  test('a commit that waits for a row does not overwrite what another program commits to it meanwhile', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer')
    await own.sql.query(`INSERT INTO ${where.table} VALUES (1, 0)`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    const client = await own.connect()
    const key = `${BUCKET}/1`
    for (let n = 1, held = 0; held < 3; n++) {
      const { version } = (await store.get(key))!
      await client.query(`BEGIN; UPDATE ${where.table} SET n = ${n} WHERE id = 1`)
      let isOver = false
      const committing = store
        .commit({ reads: [{ key, version }], writes: [aPut(key, { id: 1, n: -n })] })
        .catch(error => {
          // The commit gave up before the row was free.
          expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
          return { committed: undefined }
        })
        .finally(() => {
          isOver = true
        })
      await eventually('it waits', async () => isOver || (await own.sql.query(own.engine.waiting)).rows.length > 0)
      await client.query('COMMIT')
      const { committed } = await committing
      if (committed === undefined) continue
      expect(committed).toBe(false)
      expect(await objectOf(store, 1)).toEqual({ id: 1, n })
      held++
    }
  })
}

function testAddingMeanwhile(using: Using): void {
  test('writes made while a table becomes a bucket are there, even if it is added again', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer')
    await own.sql.query(`INSERT INTO ${where.table} SELECT i, 0 FROM ${own.engine.series(1, 3000)}`)
    const client = await own.connect()
    let isOver = false
    const writing = (async () => {
      for (let i = 1; !isOver; i++) {
        const id = 1 + ((i * 13) % 3000)
        await client.query(
          `BEGIN; DELETE FROM ${where.table} WHERE id = ${id + 1}; UPDATE ${where.table} SET n = ${i} WHERE id = ${id}`,
        )
        await client.query(`${own.engine.insertOrNothing(where.table, `(${3000 + (i % 500)}, ${i})`)}; COMMIT`)
      }
    })()
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    await own.engine.expose({ ...where, bucket: BUCKET })
    isOver = true
    await writing
    await expectSame(using, where.table, store)
  })
}

function testSums(using: Using): void {
  test('an amount that other programs move between rows is always in one of them', async () => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, n integer NOT NULL')
    await own.sql.query(`INSERT INTO ${where.table} SELECT i, 100 FROM ${own.engine.series(1, 40)}`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const [store] = await own.openBoth(where)
    let isOver = false
    const clients = [await own.connect(), await own.connect(), await own.connect()]
    const moving = clients.map(async client => {
      while (!isOver) {
        const [one, other] = [1 + Math.floor(Math.random() * 20), 21 + Math.floor(Math.random() * 20)]
        const add = (by: number, id: number) => `UPDATE ${where.table} SET n = n + ${by} WHERE id = ${id}`
        await client.query(`BEGIN; ${add(-1, one)}; ${add(1, other)}; COMMIT`)
      }
    })
    const keys = Array.from({ length: 40 }, (_, i) => `${BUCKET}/${i + 1}`)
    const sums = new Set<number>()
    for (let i = 0; i < 300; i++) {
      const { value } = await store.getMany(keys)
      const rows = value.map(each => JSON.parse(Buffer.from(each!.body).toString()) as { n: number })
      sums.add(rows.reduce((sum, { n }) => sum + n, 0))
    }
    isOver = true
    await Promise.all(moving)
    expect([...sums]).toEqual([4000])
  })
}

async function expectSame({ own }: Using, table: string, store: Store): Promise<void> {
  const { rows } = await own.sql.query(`SELECT id, n FROM ${table} ORDER BY id`)
  const { entries } = await store.scan(BUCKET, { limit: 20_000 })
  const found = entries.map(({ body }) => JSON.parse(Buffer.from(body).toString()) as { id: number })
  expect(found.sort((a, b) => a.id - b.id)).toEqual(rows)
}
