/**
 * Existing tables of a database as buckets, for users of the command: docs/guides/existing-tables.md runs as written; and no reader behind
 * misbehaving caches misses what another program has written by SQL, although standbys answer.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect } from '@freshet/client'
import { startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { type Connection, createConnection } from 'mariadb'
import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, type FreshetProcess, runFreshet, startFreshet } from './freshet-process.js'
import { startMisbehavingCache } from './misbehaving-cache.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const PAGE = readFileSync(`${root}docs/guides/existing-tables.md`, 'utf8')
const STORE = 'postgres://shop@localhost/shop'
const SERVER = 'http://localhost:7700'
const READERS = 'no reader behind caches misses an earlier write by SQL, although a standby answers'
const toStop: { stop(): Promise<unknown> }[] = []

afterEach(async () => {
  await endFreshetProcesses()
  for (const each of toStop.splice(0).reverse()) await each.stop()
})

interface Database {
  readonly name: 'postgresql' | 'mariadb'
  /** The schema of its tables. */
  readonly schema: string
  start(): Promise<{ readonly url: string; stop(): Promise<unknown> }>
  openSql(url: string): Promise<(text: string) => Promise<readonly unknown[]>>
}

const DATABASES: readonly Database[] = [
  {
    name: 'postgresql',
    schema: 'public',
    start: () => startPostgres(),
    openSql: async url => {
      const client = await openSql(url)
      return async text => (await client.query(text)).rows
    },
  },
  {
    name: 'mariadb',
    schema: 'freshet',
    start: () => startMariadb(),
    openSql: async url => {
      const connection = await openMariadb(url)
      return text => connection.query(text)
    },
  },
]

describe.each(DATABASES)('existing tables of $name', ({ name, schema, start, openSql }) => {
  test.skipIf(reasonToSkip(name) !== undefined)('docs/guides/existing-tables.md does what it says', async () => {
    const database = await start()
    toStop.push(database)
    const query = await openSql(database.url)
    let server: FreshetProcess | undefined
    const ran = { sql: 0, sh: 0, js: 0 }
    for (const [, kind, block] of PAGE.matchAll(/```(sql|sh|js)\n(.*?)```/gs)) {
      ran[kind as keyof typeof ran]++
      if (kind === 'sql') await query(block!)
      else if (kind === 'js') await runExample(block!.replaceAll(SERVER, server!.url))
      else {
        const line = block!.trim().replace(STORE, database.url).replace('public.products', `${schema}.products`)
        const words = line.split(/\s+/).slice(1)
        if (words[0] === 'serve') server = await startFreshet([...words, '--workers', '1'])
        else expect(await runFreshet(words)).toMatchObject({ exitCode: 0, errors: '' })
      }
    }
    expect(ran).toEqual({ sql: 2, sh: 2, js: 2 })
    const listed = await runFreshet(['tables', 'list', '--store', database.url])
    expect(listed.output).toBe(
      `shop/products is the table ${schema}.products, with the key id and the columns id, name, price, colour.\n`,
    )
    const removed = await runFreshet(['tables', 'remove', '--store', database.url, '--bucket', 'shop/products'])
    expect(removed.exitCode).toBe(0)
    expect((await runFreshet(['tables', 'list', '--store', database.url])).output).toBe('')
    expect((await query('SELECT id FROM products')).length).toBe(3)
  })

  test.skipIf(reasonToSkip(name) !== undefined)(READERS, async () => {
    const primary = await startPair(name)
    const query = await openSql(primary.url)
    await query('CREATE TABLE counts (id integer PRIMARY KEY, n integer NOT NULL)')
    await query('INSERT INTO counts VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0)')
    const args = ['--store', primary.url, '--table', 'counts', '--bucket', 'shop/counts']
    expect((await runFreshet(['tables', 'add', ...args])).exitCode).toBe(0)
    await expectNobodyBehind(primary, query)
  })
})

describe.skipIf(reasonToSkip('postgresql') !== undefined)('freshet tables', () => {
  test('an impossible request is refused, with advice', async () => {
    const postgres = await startPostgres()
    toStop.push(postgres)
    const sql = await openSql(postgres.url)
    await sql.query('CREATE TABLE keyless (n integer)')
    const add = ['tables', 'add', '--store', postgres.url, '--bucket', 'shop/x']
    const keyless = await runFreshet([...add, '--table', 'public.keyless'])
    expect([keyless.exitCode, keyless.errors]).toEqual([1, expect.stringMatching(/no primary key.*Add one/)])
    for (const wrong of [
      ['tables'],
      ['tables', 'add', '--store', 'redis://localhost'],
      add,
      ['tables', 'list', '--table', 'x'],
    ]) {
      expect((await runFreshet(wrong)).exitCode).toBe(2)
    }
  })
})

interface Pair {
  readonly url: string
  readonly standbyPort: number
}

/** A primary, and a standby that follows it. */
async function startPair(name: Database['name']): Promise<Pair> {
  if (name === 'mariadb') {
    const primary = await startMariadb({ settings: { log_bin: 'binary-log', sync_binlog: '1', server_id: '1' } })
    const standby = await startMariadb({ replicaOf: primary })
    toStop.push(primary, standby)
    return { url: primary.url, standbyPort: standby.port }
  }
  const primary = await startPostgres()
  const standby = await startPostgres({ standbyOf: primary })
  toStop.push(primary, standby)
  return { url: primary.url, standbyPort: standby.port }
}

async function expectNobodyBehind(
  { url, standbyPort }: Pair,
  query: (text: string) => Promise<readonly unknown[]>,
): Promise<void> {
  const store = `${url}?replicas=127.0.0.1:${standbyPort}`
  // Without cached objects, so that each read goes to the database.
  const args = ['serve', '--store', store, '--workers', '1', '--hot-cache-bytes-max', '0']
  const servers = await Promise.all([startFreshet(args), startFreshet(args)])
  const caches = await Promise.all(
    servers.map(({ url }) =>
      startMisbehavingCache({ origin: url, graceMs: 300, random: Math.random, positionsLost: 0 }),
    ),
  )
  toStop.push(...caches)
  const expected = [0, 0, 0, 0, 0]
  for (let i = 1; i <= 15; i++) {
    const id = i % 5
    // New sessions, because each keeps what it has read.
    const sessions = await Promise.all(caches.map(({ url }) => connect(url)))
    const [one, other] = i % 2 === 0 ? sessions : sessions.toReversed()
    if (i % 3 === 0) await one!.bucket('shop/counts').put(`${id}`, { id, n: i })
    else await query(`UPDATE counts SET n = ${i} WHERE id = ${id}`)
    expected[id] = i
    for (const session of [one!, other!]) {
      const ids = expected.map((_, each) => `${each}`)
      const found = await Promise.all(
        ids.map(each => session.bucket<{ n: number }>('shop/counts').get(each, { read: 'current' })),
      )
      expect(found.map(each => each?.n)).toEqual(expected)
    }
    for (const session of sessions) session.close()
    expect(await query(`SELECT n FROM counts WHERE id = ${id}`)).toMatchObject([{ n: i }])
  }
  expect(caches.reduce((sum, { hits }) => sum + hits, 0)).toBeGreaterThan(0)
  const metrics = (await Promise.all(servers.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()))).join('\n')
  const counts = [...metrics.matchAll(/^freshet_store_reads_total\{source="([^"]*)"\} (\d+)/gm)]
  const byStandby = counts.filter(([, source]) => source!.includes(`:${standbyPort}/`)).map(([, , n]) => Number(n))
  expect(byStandby.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(0)
}

async function openSql(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // Its server is stopped first when a test fails.
  client.on('error', () => {})
  await client.connect()
  toStop.push({ stop: () => client.end() })
  return client
}

async function openMariadb(url: string): Promise<Connection> {
  const { hostname, port, username, pathname } = new URL(url)
  const where = { host: hostname, port: Number(port), user: username, database: pathname.slice(1) }
  const connection = await createConnection({ ...where, multipleStatements: true })
  connection.on('error', () => {})
  toStop.push({ stop: async () => connection.destroy() })
  return connection
}

/** The output must be what the block's comments say. */
async function runExample(block: string): Promise<void> {
  const promised = [...block.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(match => match[1])
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', block], {
    cwd: root,
  })
  expect(promised.length).toBeGreaterThan(0)
  expect(stdout.trimEnd().split('\n')).toEqual(promised)
}
