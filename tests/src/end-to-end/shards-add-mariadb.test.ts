import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@freshet/client'
import { createSql } from '@freshet/client/sql'
import { endMariadb, type RunningMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { type Connection, createConnection } from 'mariadb'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const PEOPLE = 600
const AT = 450
const ROWS = 15
const KILLS = 5

let engine: RunningMariadb
let connection: Connection
let folder: string
let config: string

beforeAll(async () => {
  engine = await startMariadb()
  folder = mkdtempSync(join(tmpdir(), 'freshet-shards-'))
  config = join(folder, 'freshet.json')
  connection = await createConnection({ host: '127.0.0.1', port: engine.port, user: 'root', database: 'freshet' })
  const shards = ['one', 'two', 'three'].map((name, i) => {
    return { name, url: engine.url.replace(/freshet$/, name), ...(i < 2 ? { from: i * 300 } : {}) }
  })
  for (const [i, { name }] of shards.entries()) {
    await connection.query(`CREATE DATABASE ${name}`)
    await connection.query(
      `CREATE TABLE ${name}.people (id INT PRIMARY KEY, age INT NOT NULL, photo BLOB, weight FLOAT)`,
    )
    await connection.query(`CREATE TABLE ${name}.teams (team INT PRIMARY KEY, size INT NOT NULL)`)
    if (i === 2) continue
    await connection.query(
      `INSERT INTO ${name}.people SELECT seq, 20, UNHEX(MD5(seq)), seq / 7 FROM ${name === 'one' ? 'seq_0_to_299' : 'seq_300_to_599'}`,
    )
    await connection.query(`INSERT INTO ${name}.teams VALUES (1, 10), (2, 20)`)
  }
  const sharded = { people: 'id' }
  writeFileSync(config, JSON.stringify({ shards: { shards, sharded, global: ['teams'], localWrites: false } }))
})

afterAll(async () => {
  await endFreshetProcesses()
  await connection?.end()
  await endMariadb()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

test('a shard is added while a server is asked and written to, by a command that is killed again and again', async () => {
  const photos = await connection.query('SELECT id, photo, weight FROM two.people WHERE id >= ? ORDER BY id', [AT])
  expect(await runFreshet(['shards', 'init', '--json', '--config', config])).toMatchObject({
    output: '{"shards":3,"waiting":["three"]}\n',
  })
  const server = await startFreshet(['serve', '--workers', '1', '--config', config, '--data', join(folder, 'data')])
  const db = await connect(server.url, { staleness: 0 })
  const { sql, global } = createSql(db)
  let isOver = false
  let writes = 0
  let results = 0
  const asking = (async () => {
    while (!isOver) {
      const { rows } = await sql<{ n: number; low: number; high: number; years: string }>`select count(*) as n,
        min(age) as low, max(age) as high, sum(age) as years from people`
      const { n, low, high, years } = rows[0]!
      expect([n, high, Number(years)]).toEqual([PEOPLE, low, low * PEOPLE])
      results++
    }
  })()
  const writing = (async () => {
    for (; !isOver; writes++) {
      await global`update people set age = age + ${1}`
      await global`update teams set size = size + ${1}`
    }
  })()
  const add = ['shards', 'add', 'three', '--at', `${AT}`, '--rows', `${ROWS}`, '--json', '--config', config]
  const endings: (number | null)[] = []
  for (let i = 0; endings.at(-1) !== 0; i++) {
    const { exitCode, output, errors } = await runFreshet(add, i < KILLS ? { killAfterMs: 500 + 150 * i } : {})
    endings.push(exitCode)
    // Killed, or done.
    expect([null, 0], output + errors).toContain(exitCode)
  }
  isOver = true
  await Promise.all([asking, writing])
  console.log(
    `${endings.length - 1} of ${endings.length} commands were killed; ${results} results, ${writes} writes meanwhile`,
  )
  expect(endings.length).toBeGreaterThan(1)
  expect(results).toBeGreaterThan(0)
  const moved = await connection.query('SELECT id, photo, weight FROM three.people ORDER BY id')
  expect(moved.map(String)).toEqual(photos.map(String))
  expect(JSON.stringify(moved)).toBe(JSON.stringify(photos))
  expect(await connection.query('SELECT DISTINCT age FROM three.people')).toMatchObject([{ age: 20 + writes }])
  expect(await connection.query('SELECT size FROM three.teams ORDER BY team')).toMatchObject([
    { size: 10 + writes },
    { size: 20 + writes },
  ])
  expect(Number((await connection.query('SELECT COUNT(*) AS n FROM two.people'))[0].n)).toBe(AT - 300)
  expect(await sql`select min(id) as low, max(id) as high from people where id >= ${AT}`).toMatchObject({
    rows: [{ low: AT, high: PEOPLE - 1 }],
  })
  db.close()
  await server.stop()
})

test('what the config should say now is told by check, and a shard cannot be added twice or where there is none', async () => {
  const check = await runFreshet(['shards', 'check', '--json', '--config', config])
  expect(JSON.parse(check.output).findings).toEqual([expect.stringContaining(`Write "from": ${AT} to its entry`)])
  const add = (name: string, at: string) => runFreshet(['shards', 'add', name, '--at', at, '--config', config])
  expect(await add('three', `${AT}`)).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining('0 rows were moved'),
  })
  expect(await add('four', '500')).toMatchObject({ exitCode: 1, errors: expect.stringContaining('four') })
  expect(await add('one', '500')).toMatchObject({ exitCode: 1, errors: expect.stringContaining('the first shard') })
  expect(await add('three', 'x')).toMatchObject({ exitCode: 2, errors: expect.stringContaining('whole number') })
})
