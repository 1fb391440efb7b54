import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from '@freshet/client'
import { createSql } from '@freshet/shards/client'
import { expect, test } from 'vitest'
import { runFreshet } from './freshet-process.js'
import { useShardedMariadb } from './sharded-mariadb.js'

const used = useShardedMariadb({
  from: { one: 0, two: 10 },
  tables: place => [
    'CREATE TABLE people (id INT PRIMARY KEY, age INT NOT NULL)',
    'CREATE TABLE teams (team INT PRIMARY KEY)',
    `INSERT INTO people VALUES (${place * 10 + 1}, 20), (${place * 10 + 2}, 30)`,
  ],
})

test('tables of an engine without transactions are reported, and nothing is prepared', async () => {
  const { connection } = used
  await connection.query('ALTER TABLE two.teams ENGINE=MyISAM')
  expect(await runFreshet(['shards', 'init', '--config', used.config])).toMatchObject({
    exitCode: 1,
    errors: expect.stringMatching(/Nothing was prepared. two: teams uses the engine MyISAM/),
  })
  expect(await connection.query("SHOW TABLES FROM one LIKE 'freshet%'")).toEqual([])
  await connection.query('ALTER TABLE two.teams ENGINE=InnoDB')
})

test('shards are prepared, checked, queried and written to, and a killed server loses nothing', async () => {
  expect(await runFreshet(['shards', 'check', '--config', used.config])).toMatchObject({
    exitCode: 1,
    errors: expect.stringContaining('freshet shards init'),
  })
  expect(await runFreshet(['shards', 'init', '--config', used.config])).toMatchObject({ exitCode: 0 })
  expect(await runFreshet(['shards', 'check', '--config', used.config])).toMatchObject({ exitCode: 0 })
  const first = await used.serve()
  const db = await connect(first.url)
  const session = createSql(db)
  const { sql, stream, global, explain } = session
  expect(await sql`select count(*) as n, avg(age) as mean from people where id > ${1}`).toMatchObject({
    rows: [{ n: 3, mean: '26.6667' }],
  })
  expect(await explain`select max(age) from people where id = ${12}`).toMatchObject({
    way: 'whole',
    asked: [{ shard: 'two' }],
  })
  expect(await global`update people set age = age + ${1}`).toMatchObject({
    position: 1,
    applied: ['one', 'two'],
    pending: [],
  })
  expect(await sql`select min(age) as low, max(age) as high from people`).toMatchObject({
    rows: [{ low: 21, high: 31 }],
    versions: { people: 1 },
  })
  const streamed: unknown[] = []
  for await (const row of stream`select id, age from people where id > ${1} order by age desc, id`) streamed.push(row)
  expect(streamed).toEqual([
    { id: 2, age: 31 },
    { id: 12, age: 31 },
    { id: 11, age: 21 },
  ])
  await expect(sql`select count(*) from people where id = ${'x'} limit ${-1}`).rejects.toMatchObject({
    code: 'SQL_INVALID',
  })
  const { token } = session
  db.close()
  await first.kill()
  const second = await used.serve()
  const again = await connect(second.url)
  const continued = createSql(again, { token })
  expect(await continued.sql`select sum(age) as years from people`).toMatchObject({
    rows: [{ years: '104' }],
    versions: { people: 1 },
  })
  again.close()
  await second.stop()
})

test('a misspelt member of a shard is refused by every command that reads it', async () => {
  const misspelt = join(used.folder, 'misspelt.json')
  const { shards } = JSON.parse(readFileSync(used.config, 'utf8'))
  const [one, { from, ...two }] = shards.shards
  writeFileSync(misspelt, JSON.stringify({ shards: { ...shards, shards: [one, { ...two, form: from }] } }))
  for (const command of [['config'], ['shards', 'check'], ['shards', 'init'], ['serve']]) {
    expect(await runFreshet([...command, '--config', misspelt])).toMatchObject({
      exitCode: 2,
      errors: expect.stringContaining('Shard 2: there is no member "form"; name, url, from are known.'),
    })
  }
})

test('a shard that has rows but no range of keys is refused by init, check and serve', async () => {
  const incomplete = join(used.folder, 'incomplete.json')
  const { shards } = JSON.parse(readFileSync(used.config, 'utf8'))
  const [one, { from, ...two }] = shards.shards
  writeFileSync(incomplete, JSON.stringify({ shards: { ...shards, shards: [one, two] } }))
  for (const command of [
    ['shards', 'check'],
    ['shards', 'init'],
    ['serve', '--port', '0'],
  ]) {
    expect(await runFreshet([...command, '--config', incomplete], { cwd: used.folder })).toMatchObject({
      exitCode: 1,
      errors: expect.stringMatching(/two.* has rows of people, but no range of keys/),
    })
  }
})

test('a server does not start over rows that belong to other shards', async () => {
  const swapped = join(used.folder, 'swapped.json')
  const { shards } = JSON.parse(readFileSync(used.config, 'utf8'))
  const [one, two] = shards.shards
  for (const entries of [
    [
      { ...two, from: 0 },
      { ...one, from: 10 },
    ],
    [one, { ...two, from: 12 }],
    [
      { name: 'two', url: two.url },
      { name: 'one', url: one.url },
    ],
  ]) {
    writeFileSync(swapped, JSON.stringify({ shards: { ...shards, shards: entries, arbitrator: one.url } }))
    expect(await runFreshet(['serve', '--port', '0', '--config', swapped], { cwd: used.folder })).toMatchObject({
      exitCode: 1,
      errors: expect.stringMatching(/has rows of people that belong to other shards by their id/),
    })
  }
})

test('deviations from the config are reported', async () => {
  const { connection } = used
  await connection.query('INSERT INTO one.people VALUES (15, 1)')
  expect((await runFreshet(['shards', 'check', '--config', used.config])).errors).toContain(
    'one: 1 rows of people belong to other shards',
  )
  await connection.query('DELETE FROM one.people WHERE id = 15')
  await connection.query('ALTER TABLE two.people ADD COLUMN more INT')
  expect((await runFreshet(['shards', 'check', '--config', used.config])).errors).toContain('two: people has')
  await connection.end()
})
