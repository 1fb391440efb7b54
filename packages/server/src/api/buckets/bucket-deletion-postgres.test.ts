import { exposeTable, openPostgresStore, unexposeTable } from '@freshet/engines/postgres'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import pg from 'pg'
import { expect, test } from 'vitest'
import { runningEngine } from '../../testing/running-engine.js'
import { problemOf, startServer, until } from '../../testing/running-server.js'
import { testBucketDeletion } from './under-test/test-bucket-deletion.js'

const engine = runningEngine(startPostgres)
let schemas = 0

testBucketDeletion('PostgreSQL', () =>
  openPostgresStore({ url: engine().url, schema: `deletion_${schemas++}`, onWarning: () => undefined }),
)

test("deleting a bucket or its namespace never deletes another program's table", async () => {
  const sql = new pg.Client(engine().url)
  await sql.connect()
  await sql.query('CREATE TABLE products (id integer PRIMARY KEY, name text)')
  await sql.query(`INSERT INTO products VALUES (1, 'lamp'), (2, 'chair')`)
  const place = { url: engine().url, schema: 'deletion_tables' }
  const store = await openPostgresStore({ ...place, onWarning: () => undefined })
  const server = await startServer({ store })
  await server.put('/db/shop/products', { kind: 'object' })
  await server.put('/db/shop/orders/1', {})
  await exposeTable({ ...place, table: 'public.products', bucket: 'shop/products' })
  for (const path of ['/db/shop/products', '/db/shop']) {
    const problem = await problemOf(await server.fetch(path, { method: 'DELETE' }))
    expect(problem).toMatchObject({ code: 'BUCKET_IN_USE', bucket: 'shop/products' })
    expect(problem.detail).toContain('freshet tables remove --bucket shop/products')
  }
  expect((await sql.query('SELECT FROM products')).rowCount).toBe(2)
  expect((await server.fetch('/db/shop/orders/1')).status).toBe(200)
  await unexposeTable({ ...place, bucket: 'shop/products' })
  expect((await server.fetch('/db/shop/products', { method: 'DELETE' })).status).toBe(202)
  await until(async () => (await server.fetch('/db/shop/products?settings')).status === 404)
  expect((await sql.query('SELECT FROM products')).rowCount).toBe(2)
  await server.stop()
  await store.close()
  await sql.end()
})
