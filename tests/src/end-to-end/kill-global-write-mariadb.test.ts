import type { GlobalAnswer, GlobalStatus } from '@freshet/protocol'
import { beforeAll, describe, expect, test } from 'vitest'
import { type FreshetProcess, runFreshet } from './freshet-process.js'
import { useShardedMariadb } from './sharded-mariadb.js'

const SHARDS = ['one', 'two']
const used = useShardedMariadb({
  from: { one: 0, two: 10 },
  tables: () => [
    'CREATE TABLE people (id INT PRIMARY KEY)',
    'CREATE TABLE teams (team INT PRIMARY KEY, n INT NOT NULL)',
    'INSERT INTO teams VALUES (1, 0)',
  ],
})

beforeAll(async () => {
  expect(await runFreshet(['shards', 'init', '--config', used.config])).toMatchObject({ exitCode: 0 })
})

function write({ url }: FreshetProcess, q: string, key: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': key }
  return fetch(`${url}/global`, { method: 'POST', headers, body: JSON.stringify({ q }) })
}

async function status({ url }: FreshetProcess): Promise<GlobalStatus> {
  return (await (await fetch(`${url}/global`)).json()) as GlobalStatus
}

/** How many statements wait for a row that is locked here. */
async function waiting(table: string): Promise<number> {
  const text = `SELECT COUNT(*) AS n FROM information_schema.processlist WHERE info LIKE 'SELECT % FROM ${table} % FOR UPDATE'`
  return Number((await used.connection.query(text))[0].n)
}

/** Where locks hold a server up until it is killed; and whether the write is in the log by then. */
const POINTS: readonly (readonly [string, { locks: readonly string[]; table: string; isAppended: boolean }])[] = [
  ['rehearsed', { locks: ['one.freshet_log_head'], table: 'freshet_log_head', isAppended: false }],
  ['appended', { locks: ['one.freshet_shard', 'two.freshet_shard'], table: 'freshet_shard', isAppended: true }],
  ['applied on the first shard', { locks: ['two.freshet_shard'], table: 'freshet_shard', isAppended: true }],
  ['applied on the second shard', { locks: ['one.freshet_shard'], table: 'freshet_shard', isAppended: true }],
]

const COUNTED = 'SELECT n AS times FROM SHARD.teams'
const COLUMNS =
  "SELECT COUNT(*) - 2 AS times FROM information_schema.columns WHERE table_schema = 'SHARD' AND table_name = 'teams'"
const WRITES: readonly (readonly [string, { q: (turn: number) => string; counted: string }])[] = [
  ['an update', { q: () => 'update teams set n = n + 1', counted: COUNTED }],
  ['a schema change', { q: turn => `alter table teams add column extra${turn} int`, counted: COLUMNS }],
]

describe.each(WRITES)('%s', (what, { q, counted }) => {
  /** How often the write was applied on each shard. */
  const times = () =>
    Promise.all(
      SHARDS.map(async name => Number((await used.connection.query(counted.replace('SHARD', name)))[0].times)),
    )

  test.each(POINTS)(
    'whose server is killed when it was %s is on every shard exactly once, or on none',
    async (point, at) => {
      const turn = POINTS.findIndex(([name]) => name === point)
      const key = `${what}-${point}`.replaceAll(' ', '-')
      const server = await used.serve()
      const [before, { position }] = [await times(), await status(server)]
      const locking = await used.connect()
      await locking.query('START TRANSACTION')
      for (const table of at.locks) await locking.query(`SELECT * FROM ${table} FOR UPDATE`)
      const sent = write(server, q(turn), key).catch(() => undefined)
      await expect.poll(() => waiting(at.table)).toBeGreaterThanOrEqual(at.locks.length)
      const isAppliedOn = (name: string) => at.isAppended && !at.locks.includes(`${name}.freshet_shard`)
      const applied = before.map((n, i) => n + (isAppliedOn(SHARDS[i]!) ? 1 : 0))
      await expect.poll(times).toEqual(applied)
      await server.kill()
      await sent
      await locking.end()

      const next = await used.serve()
      const head = position + (at.isAppended ? 1 : 0)
      const reached = async () => (await status(next)).shards.map(shard => shard.applied)
      await expect.poll(reached).toEqual([head, head])
      const once = before.map(n => n + 1)
      expect([await times(), (await status(next)).position]).toEqual([at.isAppended ? once : before, head])
      const again = (await (await write(next, q(turn), key)).json()) as GlobalAnswer
      expect(again).toMatchObject({ position: position + 1, pending: [], ...(at.isAppended ? { replayed: true } : {}) })
      expect(await times()).toEqual(once)
      await next.stop()
    },
  )
})
