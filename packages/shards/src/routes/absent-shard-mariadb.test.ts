import { readdirSync, readFileSync } from 'node:fs'
import { createMemoryStore } from '@freshet/engines/memory'
import { endMariadb, type RunningMariadb, startMariadb } from '@freshet/engines/under-test/start-mariadb'
import type { GlobalAnswer, GlobalStatus, SqlAnswer } from '@freshet/protocol'
import { jsonRequest, problemOf, type RunningServer, startServer } from '@freshet/server/testing/running-server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { mariadbDatabases } from '../under-test/engine-databases.js'
import { type Databases, fillShards, type ShardedEngine } from '../under-test/sharded-engine.js'
import { askForLines } from '../under-test/streamed-lines.js'
import { RANGES } from '../under-test/use-shards.js'
import { joinShards } from './sql-routes.js'

let started: ShardedEngine
let first: RunningMariadb
/** Has the shard b, and nothing else. */
let second: RunningMariadb
let server: RunningServer | undefined

beforeAll(async () => {
  const settings = { character_set_server: 'utf8mb4' }
  first = await startMariadb({ settings })
  second = await startMariadb({ settings })
  const [main, other] = [await mariadbDatabases(first), await mariadbDatabases(second)]
  started = await fillShards(divided(main, other), 'mariadb', RANGES)
  for (const [i, shard] of started.map.shards.entries())
    await started.databases.run(
      shard,
      `INSERT INTO visits SELECT ${20 * i + 1}, 1000 + seq, 'some place', 1.5, 7 FROM seq_1_to_60000`,
    )
  await other.close()
})

afterEach(async () => {
  await server?.stop()
  server = undefined
})

afterAll(async () => {
  await started?.close()
  await endMariadb()
})

function divided(main: Databases, other: Databases): Databases {
  const holderOf = (name: string) => (name === 'b' ? other : main)
  return {
    create: name => holderOf(name).create(name),
    run: (name, text, values) => holderOf(name).run(name, text, values),
    urlOf: name => holderOf(name).urlOf(name),
    close: () => main.close(),
  }
}

async function start(): Promise<RunningServer> {
  const database = { map: started.map, ...started.openAgain(), hasLocalWrites: false }
  const settings = { globalIntervalMs: 20, sqlMsMax: 4000, globalWaitMsMax: 5000 }
  server = await startServer({
    store: createMemoryStore({ positionsAfter: 0 }),
    capabilities: [joinShards(database)],
    settings,
  })
  return server
}

/** Resolves when all its threads have stopped. */
async function halt({ pid }: RunningMariadb): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const states = () =>
    readdirSync(`/proc/${pid}/task`).map(
      task => /\) (\w)/.exec(readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8'))?.[1],
    )
  await expect.poll(() => new Set(states())).toEqual(new Set(['T']))
}

const ABSENCES: readonly (readonly [string, () => unknown, () => unknown])[] = [
  ['is stopped', () => halt(second), () => process.kill(second.pid, 'SIGCONT')],
  ['is dead', () => second.kill(), () => second.startAgain()],
]

describe.each(ABSENCES)('while a shard %s', (_, leave, comeBack) => {
  test('queries of it are refused with its name, others are answered, and it gets global writes when it is back', async () => {
    const { fetch } = await start()
    const ask = (q: string) => fetch('/sql', jsonRequest('POST', { q }))
    const status = async () => (await (await fetch('/global')).json()) as GlobalStatus
    expect((await ask('select count(*) from people')).status).toBe(200)
    try {
      await leave()
      const refused = await ask('select sum(age) from people')
      expect(refused.status).toBe(503)
      expect(await problemOf(refused)).toMatchObject({
        code: 'SHARD_UNAVAILABLE',
        detail: expect.stringMatching(/^The shard b at /),
        shard: 'b',
      })
      const elsewhere = await ask('select count(*) from people where id < 20')
      expect(elsewhere.status).toBe(200)
      const written = await fetch('/global', jsonRequest('POST', { q: 'update teams set budget = budget + 1' }))
      expect(written.status).toBe(202)
      expect((await written.json()) as GlobalAnswer).toMatchObject({ applied: ['a', 'c'], pending: ['b'] })
      expect((await status()).shards[1]).toMatchObject({ name: 'b', error: expect.stringMatching(/^The shard b at /) })
    } finally {
      await comeBack()
    }
    const { position } = await status()
    await expect.poll(async () => (await status()).shards[1], { timeout: 60_000 }).toMatchObject({ applied: position })
    await expect.poll(async () => (await ask('select count(*) from people')).status).toBe(200)
    const { rows } = (await (await ask('select count(*) from people')).json()) as SqlAnswer
    expect(Number(rows[0]![0])).toBeGreaterThan(0)
  })
})

test.each(ABSENCES)(
  'rows of a shard that %s while they are read end with its name, and not like a complete answer',
  async (_, leave, comeBack) => {
    const server = await start()
    const columns = Array.from({ length: 20 }, (_, i) => `place as p${i}`)
    const streamed = await askForLines(
      server,
      `select person, number, ${columns.join(', ')} from visits order by number`,
    )
    await streamed.next()
    try {
      await leave()
      const { lines, isWhole } = await streamed.rest()
      expect(isWhole).toBe(false)
      expect(JSON.parse(lines.at(-1)!)).toMatchObject({ error: { code: 'SHARD_UNAVAILABLE', shard: 'b' } })
    } finally {
      await comeBack()
    }
  },
)

test('a server whose log is stopped gets an error when it tries to lead, and can lead later', async () => {
  const { log } = started.openAgain()
  expect(await log.lead()).toBe(true)
  try {
    await halt(first)
    await expect(log.lead()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' })
  } finally {
    process.kill(first.pid, 'SIGCONT')
  }
  await expect.poll(() => log.lead()).toBe(true)
})
