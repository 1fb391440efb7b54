import { connect } from '@freshet/client'
import { createSql } from '@freshet/shards/client'
import { expect, test } from 'vitest'
import { runFreshet } from './freshet-process.js'
import { useShardedMariadb } from './sharded-mariadb.js'

const PEOPLE = 600
const AT = 450
const ROWS = 15
const KILLS = 5

const used = useShardedMariadb({
  from: { one: 0, two: 300, three: undefined },
  tables: place => [
    'CREATE TABLE people (id INT PRIMARY KEY, age INT NOT NULL, photo BLOB, weight FLOAT)',
    'CREATE TABLE teams (team INT PRIMARY KEY, size INT NOT NULL)',
    ...(place === 2 ? [] : rowsOf(place)),
  ],
})

const rowsOf = (place: number) => [
  `INSERT INTO people SELECT seq, 20, UNHEX(MD5(seq)), seq / 7 FROM seq_${place * 300}_to_${place * 300 + 299}`,
  'INSERT INTO teams VALUES (1, 10), (2, 20)',
]

test('a shard is added during reads and writes, by a command that is killed again and again', async () => {
  const photos = await used.connection.query('SELECT id, photo, weight FROM two.people WHERE id >= ? ORDER BY id', [AT])
  expect(await runFreshet(['shards', 'init', '--json', '--config', used.config])).toMatchObject({
    output: '{"shards":3,"waiting":["three"]}\n',
  })
  const server = await used.serve()
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
  const add = ['shards', 'add', 'three', '--at', `${AT}`, '--rows', `${ROWS}`, '--json', '--config', used.config]
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
  const moved = await used.connection.query('SELECT id, photo, weight FROM three.people ORDER BY id')
  expect(moved.map(String)).toEqual(photos.map(String))
  expect(JSON.stringify(moved)).toBe(JSON.stringify(photos))
  expect(await used.connection.query('SELECT DISTINCT age FROM three.people')).toMatchObject([{ age: 20 + writes }])
  expect(await used.connection.query('SELECT size FROM three.teams ORDER BY team')).toMatchObject([
    { size: 10 + writes },
    { size: 20 + writes },
  ])
  expect(Number((await used.connection.query('SELECT COUNT(*) AS n FROM two.people'))[0].n)).toBe(AT - 300)
  expect(await sql`select min(id) as low, max(id) as high from people where id >= ${AT}`).toMatchObject({
    rows: [{ low: AT, high: PEOPLE - 1 }],
  })
  db.close()
  await server.stop()
})

test('check reports what the config should say; a second add moves nothing, and an unknown shard is refused', async () => {
  const check = await runFreshet(['shards', 'check', '--json', '--config', used.config])
  expect(JSON.parse(check.output).findings).toEqual([expect.stringContaining(`Add "from": ${AT} to its entry`)])
  const add = (name: string, at: string) => runFreshet(['shards', 'add', name, '--at', at, '--config', used.config])
  expect(await add('three', `${AT}`)).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining('0 rows were moved'),
  })
  expect(await add('four', '500')).toMatchObject({ exitCode: 1, errors: expect.stringContaining('four') })
  expect(await add('one', '500')).toMatchObject({ exitCode: 1, errors: expect.stringContaining('the first shard') })
  expect(await add('three', 'x')).toMatchObject({ exitCode: 2, errors: expect.stringContaining('whole number') })
})
