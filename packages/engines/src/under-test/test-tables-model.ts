/** A table that programs and servers change at random, in turns: each kind of read returns what a model in a map has. */
import type { Position, Store } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { aPut, BUCKET, objectOf, put, type TablesUnderTest, type TableUnderTest, type Using } from './tables.js'

const STEPS = 300

interface ProductRow {
  id: number
  name: string | null
  n: number | null
}

interface World {
  readonly own: TablesUnderTest
  readonly where: TableUnderTest
  readonly stores: readonly [Store, Store]
  readonly model: Map<number, ProductRow>
  readonly pick: (count: number) => number
}

type Step = () => Promise<void>

export function testAgainstModel(using: Using): void {
  test.each([1, 2, 3])('programs and servers agree with their model, from seed %i', async seed => {
    const { own } = using
    const where = await own.aTable('id integer PRIMARY KEY, name varchar(20), n integer DEFAULT 1')
    const random = randomFrom(seed)
    const pick = (count: number) => Math.floor(random() * count)
    const model = new Map<number, ProductRow>()
    for (let id = 0; id < 5; id++) model.set(id, { id, name: 'old', n: id })
    await own.sql.query(`INSERT INTO ${where.table} SELECT i, 'old', i FROM ${own.engine.series(0, 4)}`)
    await own.engine.expose({ ...where, bucket: BUCKET })
    const stores = await own.openBoth(where)
    const world: World = { own, where, stores, model, pick }
    const steps = [...stepsBySql(world), ...stepsByServers(world)]
    const follower = new Follower(await stores[0].trimmedTo())
    for (let i = 0; i < STEPS; i++) {
      await steps[pick(steps.length)]!()
      const store = stores[pick(2)]!
      const id = pick(12)
      expect(await objectOf(store, id)).toEqual(model.get(id))
      if (i % 10 > 0) continue
      const { entries, position } = await store.scan(BUCKET)
      const expected = [...model.values()].sort(byId)
      expect(entries.map(({ body }) => JSON.parse(Buffer.from(body).toString())).sort(byId)).toEqual(expected)
      expect(await follower.follow(store, position)).toEqual(expected)
    }
  })
}

/** Rebuilds the rows from the log, which must give the same. */
class Follower {
  readonly #known = new Map<string, string | undefined>()
  #reached: Position

  constructor(from: Position) {
    this.#reached = from
  }

  async follow(store: Store, position: Position): Promise<readonly ProductRow[]> {
    for (const { keys } of await store.changes(this.#reached)) for (const key of keys) this.#known.set(key, undefined)
    this.#reached = position
    for (const [key, text] of this.#known) {
      if (text === undefined) this.#known.set(key, (await store.get(key))?.body.toString() ?? '')
    }
    const texts = [...this.#known.values()].filter(text => text !== '')
    return texts.map(text => JSON.parse(text!) as ProductRow).sort(byId)
  }
}

function stepsBySql({ own, where, model, pick }: World): Step[] {
  return [
    async () => {
      const row = aRow(pick(12), pick)
      const values = `(${row.id}, ${row.name === null ? 'NULL' : `'${row.name}'`}, ${row.n})`
      await own.sql.query(own.engine.upsert(where.table, values, ['name', 'n']))
      model.set(row.id, row)
    },
    async () => {
      const [from, by] = [pick(12), pick(3)]
      await own.sql.query(`UPDATE ${where.table} SET n = n + ${by} WHERE id >= ${from}`)
      for (const row of model.values()) if (row.id >= from && row.n !== null) row.n += by
    },
    async () => {
      const id = pick(12)
      await own.sql.query(`DELETE FROM ${where.table} WHERE id = ${id}`)
      model.delete(id)
    },
    async () => {
      await own.sql.query(
        `BEGIN; DELETE FROM ${where.table} WHERE id < 6; INSERT INTO ${where.table} (id) VALUES (${20 + pick(9)}); ROLLBACK`,
      )
    },
    async () => {
      const [from, to] = [pick(12), pick(12)]
      if (!model.has(from) || model.has(to)) return
      await own.sql.query(`UPDATE ${where.table} SET id = ${to} WHERE id = ${from}`)
      model.set(to, { ...model.get(from)!, id: to })
      model.delete(from)
    },
    async () => {
      if (pick(10) > 0) return
      await own.sql.query(own.engine.empty(where.table))
      model.clear()
    },
  ]
}

function stepsByServers({ own, where, stores, model, pick }: World): Step[] {
  return [
    async () => {
      const rows = [...new Set([pick(12), pick(12)])].map(id => aRow(id, pick))
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
      await own.sql.query(`UPDATE ${where.table} SET name = 'between' WHERE id = ${id} AND ${pick(2) === 0}`)
      const { rows } = await own.sql.query<ProductRow>(`SELECT * FROM ${where.table} WHERE id = ${id}`)
      const isSame = rows.length === 0 ? version === 0 : version !== 0 && rows[0]!.name === model.get(id)!.name
      if (rows.length > 0) model.set(id, rows[0]!)
      const row = aRow(id, pick)
      const { committed } = await stores[1].commit({ reads: [{ key, version }], writes: [aPut(key, row)] })
      expect(committed).toBe(isSame)
      if (committed) model.set(id, row)
    },
  ]
}

function aRow(id: number, pick: World['pick']): ProductRow {
  return { id, name: ['a', 'b', null][pick(3)]!, n: [pick(9), null][pick(2)]! }
}

function byId(a: ProductRow, b: ProductRow): number {
  return a.id - b.id
}

function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
