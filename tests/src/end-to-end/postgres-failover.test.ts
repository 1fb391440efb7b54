/** A server over two PostgreSQL servers, of which the standby takes over without the last commits. No session sees those. */
import { connect, type Database } from '@freshet/client'
import { endPostgres, type RunningPostgres, startPostgres } from '@freshet/engines/under-test/start-postgres'
import pg from 'pg'
import { afterAll, afterEach, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, startFreshet } from './freshet-process.js'

const isLeftOut = reasonToSkip('postgresql') !== undefined
const WAIT_MS_MAX = 60_000
const POSITION = 'SELECT position FROM freshet.head'
const toEnd: (() => unknown)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
  await endFreshetProcesses()
})
afterAll(endPostgres)

test.skipIf(isLeftOut)('a session that saw the lost commits, and a new session, read the remaining data', async () => {
  const primary = await startPostgres()
  const standby = await startPostgres({ standbyOf: primary })
  const address = primary.url.replace('/postgres', `,127.0.0.1:${standby.port}/postgres`)
  const { url } = await startFreshet(['serve', '--workers', '1', '--store', address])
  const before = await session(url)
  await before.bucket<{ i: number }>('shop/products').put('1', { i: 1 })
  const position = await askNumber(primary, POSITION)
  await until(async () => (await askNumber(standby, POSITION)) >= position)
  await askNumber(standby, "ALTER SYSTEM SET primary_conninfo = ''")
  await askNumber(standby, 'SELECT pg_reload_conf()::int')
  await until(async () => (await askNumber(standby, 'SELECT count(*) FROM pg_stat_wal_receiver')) === 0)
  await before.bucket<{ i: number }>('shop/products').put('1', { i: 2 })
  for (let reads = 0; reads < 3; reads++) expect(await read(before)).toBe(2)
  await primary.kill()
  await askNumber(standby, 'SELECT pg_promote()::int')
  expect(await read(before)).toBe(1)
  expect(await read(await session(url))).toBe(1)
  await before.bucket<{ i: number }>('shop/products').put('1', { i: 3 })
  expect([await read(before), await read(await session(url))]).toEqual([3, 3])
})

async function session(url: string): Promise<Database> {
  const db = await connect(url, { staleness: 0, timeoutMs: WAIT_MS_MAX, retriesMax: 50 })
  toEnd.push(() => db.close())
  return db
}

async function read(db: Database): Promise<number | undefined> {
  return (await db.bucket<{ i: number }>('shop/products').get('1'))?.i
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS_MAX
  while (!(await holds()))
    if (performance.now() > deadlineMs) throw new Error(`This did not become true in time: ${holds}`)
}

async function askNumber({ url }: RunningPostgres, text: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query({ text, rowMode: 'array' })
  await client.end()
  return Number(rows[0]?.[0])
}
