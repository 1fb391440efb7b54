import { createMemoryStore } from '@freshet/engines/memory'
import type { GlobalAnswer, SqlAnswer, SqlHead } from '@freshet/protocol'
import { type FreshetServerOptions, signToken } from '@freshet/server'
import { jsonRequest, problemOf, type RunningServer, startServer, until } from '@freshet/server/testing/running-server'
import { afterEach, describe, expect, test } from 'vitest'
import type { ShardMap } from '../plan/index.js'
import { useMariadbShards } from '../under-test/use-shards.js'
import { joinShards } from './sql-routes.js'

type AccessOptions = NonNullable<FreshetServerOptions['access']>

const started = useMariadbShards()
const servers: RunningServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map(server => server.stop()))
})

async function start(
  more: {
    readonly hasLocalWrites?: boolean
    readonly settings?: object
    readonly access?: AccessOptions
    readonly map?: ShardMap
  } = {},
): Promise<RunningServer> {
  const { hasLocalWrites = false, settings = {}, map = started().map, ...access } = more
  const database = { map, ...started().openAgain(), hasLocalWrites }
  const store = createMemoryStore({ positionsAfter: 0 })
  const server = await startServer({
    ...{ store, capabilities: [joinShards(database)], settings: { globalIntervalMs: 20, ...settings } },
    ...access,
  })
  servers.push(server)
  return server
}

function targetOf(q: string, p: readonly unknown[] = []): string {
  const encode = (text: string) => encodeURIComponent(text).replaceAll("'", '%27')
  return `/sql?${p.length > 0 ? `p=${encode(JSON.stringify(p))}&` : ''}q=${encode(q)}`
}

async function ask(server: RunningServer, q: string, p: readonly unknown[] = []): Promise<SqlAnswer> {
  const response = await server.fetch(targetOf(q, p))
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as SqlAnswer
}

function write(server: RunningServer, q: string, p: readonly unknown[] = [], headers: Record<string, string> = {}) {
  return server.fetch('/global', jsonRequest('POST', { q, p }, headers))
}

async function metric(server: RunningServer, name: string): Promise<number> {
  const text = await (await server.fetch('/metrics')).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}

test('statements are in the audit with their caller and without their values; refused ones are not', async () => {
  const secret = 'a secret of at least thirty-two bytes'
  const rules = 'admin if claim.role == "admin"'
  const server = await start({ access: { rules, tokens: { secret, audience: 'freshet', leewayMs: 0 } } })
  const bearer = async (claims: Record<string, unknown>) => {
    const signed = { claims, audience: 'freshet', issuer: undefined, expiresMs: 300_000, secret }
    return { authorization: `Bearer ${await signToken(signed)}` }
  }
  const admin = await bearer({ sub: 'root', role: 'admin' })
  const [q, changes] = ['select count(*) as n from people where id > $1', 'delete from teams where budget = $1']
  for (const headers of [{}, await bearer({ sub: 'ann' })]) {
    expect((await server.fetch(targetOf('select 1 from teams'), { headers })).ok).toBe(false)
    expect((await write(server, 'delete from teams', [], headers)).ok).toBe(false)
  }
  expect((await server.fetch(targetOf(q, [5]), { headers: admin })).status).toBe(200)
  expect((await server.fetch('/sql', jsonRequest('POST', { q: `${q} and id < $2`, p: [5, 9] }, admin))).status).toBe(
    200,
  )
  expect((await write(server, changes, [77], admin)).status).toBe(200)
  const audited = async () =>
    ((await (await server.fetch('/audit', { headers: admin })).json()) as { entries: { what: string }[] }).entries
      .filter(({ what }) => what === 'sql' || what === 'global')
      .sort((a, b) => a.what.localeCompare(b.what))
  await until(async () => (await audited()).length === 3)
  const by = { who: ' root', from: '127.0.0.1', before: null }
  expect(await audited()).toMatchObject([
    { what: 'global', ...by, after: changes },
    { what: 'sql', ...by, after: q },
    { what: 'sql', ...by, after: `${q} and id < $2` },
  ])
})

test('a query of a shard that has rows of another shard is refused, not answered without them', async () => {
  const server = await start({ map: { ...started().map, placement: { kind: 'ranges', from: [0, 25, 40] } } })
  expect(await problemOf(await server.fetch(targetOf('select count(*) as n from people')))).toMatchObject({
    code: 'SHARD_UNUSABLE',
    detail: expect.stringContaining('belong to other shards'),
  })
})

describe('a query', () => {
  test('is answered from all shards, with the names and types of its columns', async () => {
    const server = await start()
    const { rows, columns, types } = await ask(
      server,
      'select count(*) as n, sum(age) as years from people where id > $1',
      [5],
    )
    const [{ n, years } = {}] = await started().databases.run(
      'whole',
      'SELECT COUNT(*) AS n, SUM(age) AS years FROM people WHERE id > 5',
    )
    expect({ columns, types, rows }).toEqual({
      columns: ['n', 'years'],
      types: ['integer', 'decimal'],
      rows: [[Number(n), years]],
    })
  })

  test('is explained with what each shard is asked', async () => {
    const server = await start()
    const response = await server.fetch(
      `/sql?explain&q=${encodeURIComponent('select avg(age) from people where id < 30')}`,
    )
    expect(await response.json()).toMatchObject({
      way: 'groups',
      asked: [{ shard: 'a' }, { shard: 'b', statement: expect.stringMatching(/^SELECT SUM\(.*COUNT\(/) }],
      tables: ['people'],
    })
  })

  test('is not sent again by a cache that has it, until a global write changes what it depends on', async () => {
    const server = await start()
    const target = targetOf('select count(*) from teams')
    const first = await server.fetch(target)
    const etag = first.headers.get('etag')!
    expect(first.headers.get('cache-control')).toBe('no-cache')
    expect((await server.fetch(target, { headers: { 'if-none-match': etag } })).status).toBe(304)
    await write(server, 'update people set age = age where id < 0')
    expect((await server.fetch(target, { headers: { 'if-none-match': etag } })).status).toBe(304)
    await write(server, "insert into teams (team, title, budget) values ('new', $1, 1)", ["it's"])
    const second = await server.fetch(target, { headers: { 'if-none-match': etag } })
    expect(second.status).toBe(200)
    expect(((await second.json()) as SqlAnswer).rows).toEqual([[4]])
    await write(server, "delete from teams where team = 'new'")
  })

  test('is kept by no cache if others write to the shards', async () => {
    const server = await start({ hasLocalWrites: true })
    const { headers } = await server.fetch(targetOf('select count(*) from people'))
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('etag')).toBeNull()
  })

  test('asks no shard for rows that it has answered before, even for a wider range of keys', async () => {
    const server = await start()
    const wide = await ask(server, 'select id, age from people where id between $1 and $2', [3, 58])
    const hits = await metric(server, 'freshet_sql_part_hits')
    const narrow = await ask(server, 'select id, age from people where id between $1 and $2', [10, 50])
    expect(narrow.rows).toEqual(wide.rows.filter(([id]) => Number(id) >= 10 && Number(id) <= 50))
    expect(await metric(server, 'freshet_sql_part_hits')).toBe(hits + 3)
    // Only sums over whole shards are shared, here that of the middle shard.
    const sum = (to: number) => ask(server, 'select sum(age) as years from people where id between 1 and $1', [to])
    await sum(59)
    await sum(45)
    expect(await metric(server, 'freshet_sql_part_hits')).toBe(hits + 5)
    await write(server, 'update people set age = age + 1 where id > 0')
    const [[years] = []] = (await sum(45)).rows
    const [{ total } = {}] = await started().databases.run('b', 'SELECT SUM(age) AS total FROM people')
    expect(await metric(server, 'freshet_sql_part_hits')).toBe(hits + 5)
    expect(Number(years)).toBeGreaterThan(Number(total))
    await write(server, 'update people set age = age - 1 where id > 0')
  })

  test('that was refused because of too many rows leaves no part from which narrower queries are answered', async () => {
    const server = await start({ settings: { sqlRowsMax: 5 } })
    const q = 'select id from people where id between $1 and $2'
    expect((await server.fetch(targetOf(q, [0, 19]))).status).toBe(400)
    const ids = await started().databases.run('whole', 'SELECT id FROM people WHERE id BETWEEN 16 AND 19')
    expect((await ask(server, q, [16, 19])).rows).toEqual(ids.map(({ id }) => [Number(id)]))
  })

  test('for which shards would send too many bytes is cut off, and later queries are answered', async () => {
    const server = await start({ settings: { sqlBytesMax: 2000 } })
    const wide = await server.fetch(targetOf('select id, name, team, born, age, score from people'))
    expect(await problemOf(wide)).toMatchObject({
      code: 'LIMIT_EXCEEDED',
      detail: expect.stringMatching(/2000 bytes/),
    })
    expect((await ask(server, 'select count(*) from teams')).rows).toEqual([[3]])
  })

  test('that can no longer be computed does not keep others from being computed again', async () => {
    const [server, other] = [await start(), await start()]
    await write(other, 'alter table visits add column stars int not null default 3')
    for (const q of ['select count(*) from visits', 'select sum(stars) from visits']) {
      for (let i = 0; i < 3; i++) await ask(server, q)
    }
    await write(other, 'alter table visits drop column stars')
    await expect.poll(() => metric(server, 'freshet_sql_refreshed')).toBeGreaterThanOrEqual(1)
  })

  test('that is requested often is computed again after a global write has outdated it, before the next request', async () => {
    const [server, other] = [await start(), await start()]
    const q = 'select sum(budget) as total from teams'
    const total = async () => Number((await ask(server, q)).rows[0]![0])
    const before = await total()
    for (let i = 0; i < 3; i++) expect(await total()).toBe(before)
    expect(await metric(server, 'freshet_sql_refreshed')).toBe(0)
    await write(other, 'update teams set budget = budget + 1')
    await expect.poll(() => metric(server, 'freshet_sql_refreshed')).toBe(1)
    expect(await total()).toBe(before + 3)
    // It was requested only once since then.
    await write(other, 'update teams set budget = budget - 1')
    expect(await total()).toBe(before)
    expect(await metric(server, 'freshet_sql_refreshed')).toBe(1)
  })

  test('is kept by caches under a position, which clients get from the versions', async () => {
    const server = await start()
    const position = async () => (await (await server.fetch('/sql/versions')).json()) as SqlHead
    const before = await position()
    const { position: written } = (await (
      await write(server, 'update teams set budget = budget')
    ).json()) as GlobalAnswer
    const after = await position()
    expect(after).toEqual({ position: written, versions: { ...before.versions, teams: written } })
    const response = await server.fetch(targetOf('select count(*) from teams').replace('?', `?at=${written}&`))
    expect(response.headers.get('cache-control')).toBe('public, max-age=3600')
    expect(((await response.json()) as SqlAnswer).versions.teams).toBe(written)
  })

  test('at a position that does not exist yet is refused', async () => {
    const server = await start()
    const response = await server.fetch(`/sql?at=999999&q=${encodeURIComponent('select count(*) from people')}`)
    expect(response.status).toBe(503)
    expect(await problemOf(response)).toMatchObject({ code: 'SHARDS_UNSETTLED' })
  })
})

const REFUSED: readonly (readonly [q: string, code: string, detail: RegExp])[] = [
  ['selec 1', 'SQL_INVALID', /syntax error/],
  ['select 1; select 2', 'SQL_INVALID', /one statement/],
  ['', 'SQL_INVALID', /empty/],
  ['update people set age = 1', 'SQL_INVALID', /only SELECT/],
  ['drop table people', 'SQL_INVALID', /only SELECT/],
  ['select * from people for update', 'SQL_REFUSED', /lockingClause/],
  ['select * into x from people', 'SQL_REFUSED', /intoClause/],
  ['with x as (delete from people returning id) select * from x', 'SQL_REFUSED', /withClause/],
  ['select * from nowhere', 'SQL_INVALID', /no table "nowhere"/],
  ['select * from freshet_shard', 'SQL_REFUSED', /neither/],
  ['select nothing from people', 'SQL_INVALID', /no column "nothing"/],
  ['select now() from people', 'SQL_REFUSED', /now/],
  ['select sleep(10) from people', 'SQL_REFUSED', /sleep/],
  ["select load_file('/etc/passwd') from people", 'SQL_REFUSED', /load_file/],
  ['select * from people where id = $2', 'SQL_INVALID', /no value for \$2/],
  ["select * from people limit 'a'", 'SQL_INVALID', /LIMIT/],
  ['select * from mysql.user', 'SQL_REFUSED', /schema/],
  ['select team, count(*) from people', 'SQL_INVALID', /neither in GROUP BY/],
]

describe('a statement that is not a query, or cannot be split,', () => {
  test.each(REFUSED)('%j is refused with %s', async (q, code, detail) => {
    const server = await start()
    const response = await server.fetch('/sql', jsonRequest('POST', { q, p: [1] }))
    const problem = await problemOf(response)
    expect(problem).toMatchObject({ code, detail: expect.stringMatching(detail) })
    expect(response.status).toBe(code === 'SQL_INVALID' ? 400 : 422)
  })

  test('parameters are values, whatever they contain', async () => {
    const server = await start()
    const before = await started().databases.run('a', 'SELECT COUNT(*) AS n FROM people')
    const attempts = [
      "' or 1=1 -- ",
      "'; drop table people; -- ",
      '\\',
      "\\' or 1=1 #",
      '1) union select user',
      '$1',
      '?',
      '`',
      '"',
      "x' /*",
    ]
    for (const text of attempts) {
      const { rows } = await ask(server, 'select count(*) from people where name = $1', [text])
      expect([text, rows]).toEqual([text, [[0]]])
      const quoted = `select count(*) from people where name = '${text.replaceAll("'", "''")}'`
      expect([quoted, (await ask(server, quoted)).rows]).toEqual([quoted, [[0]]])
    }
    expect(await started().databases.run('a', 'SELECT COUNT(*) AS n FROM people')).toEqual(before)
  })
})

describe('a global write', () => {
  test('is in all later results, on every server, and is done once even if it was sent twice', async () => {
    const [one, other] = [await start(), await start()]
    const sum = async (server: RunningServer) =>
      Number((await ask(server, 'select sum(budget) from teams')).rows[0]![0])
    const before = await sum(other)
    const headers = { 'idempotency-key': `key-${Math.random()}` }
    const first = (await (await write(one, 'update teams set budget = budget + 7', [], headers)).json()) as GlobalAnswer
    const again = await write(other, 'update teams set budget = budget + 7', [], headers)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await again.json()).toMatchObject({ position: first.position, replayed: true })
    expect([await sum(one), await sum(other)]).toEqual([before + 21, before + 21])
    const mismatched = await write(other, 'update teams set budget = budget + 8', [], headers)
    expect(await problemOf(mismatched)).toMatchObject({ code: 'OPERATION_MISMATCHED' })
  })

  test('changes schemas, and queries know the new columns at once', async () => {
    const server = await start()
    await ask(server, 'select count(*) from visits')
    await write(server, 'alter table visits add column stars int not null default 3')
    expect((await ask(server, 'select min(stars), max(stars) from visits')).rows).toEqual([[3, 3]])
    await write(server, 'alter table visits drop column stars')
    expect((await server.fetch(targetOf('select min(stars) from visits'))).status).toBe(400)
  })

  test.each([
    ["insert into people (id, name) values (1, 'x')", /belongs to one shard/],
    ['update people set id = id + 1', /key of people/],
    ['update people set age = (select 1)', /EXISTS/],
    ['update people set age = 1 where id in (select person from visits)', /not the same on every shard/],
    ['update nowhere set a = 1', /neither/],
    ['update people set nothing = 1', /refuses/],
    ['delete from people; delete from visits', /one statement/],
    ['truncate table people', /schema changes/],
    ['alter table people add x int; drop table people', /semicolon/],
    ['alter table people rename to humans', /schema changes/],
    ['create table other (id int)', /neither/],
    ['alter table people add column', /refuses/],
    ['select 1', /must be an UPDATE/],
    ["insert into teams (team) values ('red')", /refuses/],
    ['update teams set budget = random()', /random/],
  ])('%j is refused, and nothing is appended', async (q, detail) => {
    const server = await start()
    const head = await started().log.head()
    const response = await write(server, q)
    const { code, detail: text } = await problemOf(response)
    expect(text).toMatch(detail)
    expect(['GLOBAL_REFUSED', 'SQL_REFUSED', 'SQL_INVALID']).toContain(code)
    expect(await started().log.head()).toBe(head)
  })

  test('that a shard has missed is applied at the next check of the shard', async () => {
    const server = await start()
    const write = { text: 'UPDATE people SET age = age + 0', values: [], aspects: ['people'], isSchemaChange: false }
    const { position } = await started().log.append(write, { id: undefined, fingerprint: '' })
    await expect
      .poll(async () =>
        ((await (await server.fetch('/global')).json()) as { shards: { applied: number }[] }).shards.map(
          ({ applied }) => applied,
        ),
      )
      .toEqual([position, position, position])
  })
})

test('numbers in statements and parameters are exact, or refused', async () => {
  const server = await start({ hasLocalWrites: true })
  const [low, high] = ['9007199254740992', '9007199254740993']
  await started().databases.run(
    'a',
    `INSERT INTO visits VALUES (1, 901, 'low', NULL, ${low}), (1, 902, 'high', NULL, ${high})`,
  )
  for (const [number, place] of [
    [low, 'low'],
    [high, 'high'],
  ] as const) {
    const asked = [
      await ask(server, `select place, minutes from visits where minutes = ${number}`),
      await ask(server, 'select place, minutes from visits where minutes = $1', [number]),
      await ask(server, `select place, minutes from visits where minutes in (${number}, 1)`),
      await ask(server, `select max(place) as place, max(minutes) as minutes from visits where minutes = ${number}`),
    ]
    for (const { rows } of asked) expect(rows).toEqual([[place, number]])
  }
  const json = { method: 'POST', headers: { 'content-type': 'application/json' } }
  for (const number of [high, '12345678901234567890.12', '0.1000000000000000001', '1e400']) {
    const encoded = encodeURIComponent('select place from visits where minutes = $1')
    expect(await problemOf(await server.fetch(`/sql?p=%5B${number}%5D&q=${encoded}`))).toMatchObject({
      code: 'PARAMETER_INVALID',
      detail: expect.stringContaining(number),
    })
    const body = `{"q":"select place from visits where minutes = $1","p":[${number}]}`
    expect(await problemOf(await server.fetch('/sql', { ...json, body }))).toMatchObject({ code: 'BODY_INVALID' })
    const written = `{"q":"update visits set minutes = $1 where number = 902","p":[${number}]}`
    expect(await problemOf(await server.fetch('/global', { ...json, body: written }))).toMatchObject({
      code: 'BODY_INVALID',
    })
  }
  await started().databases.run('a', 'DELETE FROM visits WHERE number > 900')
})
