/** For tests: a shard is split while it is asked and written to, in any engine. */
import type { Shard } from '@freshet/core/aggregates'
import { expect, test } from 'vitest'
import { SILENT_LOG } from '../../operations/log.js'
import { completeSettings } from '../../settings.js'
import { Arbitrator } from '../arbitrator.js'
import { loadSqlParser } from '../parse-sql.js'
import { placedAt } from '../placed-database.js'
import { QueryCoordinator } from '../query-coordinator.js'
import type { ShardedDatabase } from '../sharded-database.js'
import { splitShard } from '../split-shard.js'
import { TABLES } from './random-queries.js'
import type { Openers, ShardedEngine } from './sharded-engine.js'

const QUERY = 'select count(*) as n, sum(age) as years, min(id) as low, max(id) as high from people'
const AT = 47

export function testSplit(startedEngine: () => ShardedEngine, openShard: Openers['openShard']): void {
  test('a shard is split while it is asked and written to: no row is lost or counted twice, and it can be broken off', async () => {
    const started = startedEngine()
    const added = await addShard(started, openShard)
    const database = { ...started, shards: [...started.shards, added], hasLocalWrites: false }
    const settings = completeSettings({})
    const arbitrator = new Arbitrator({ database, settings, log: SILENT_LOG })
    const before = await totals(started.whole)
    const run = { isOver: false, writes: 0 }
    const readers = [true, false].map(hasLocalWrites => read({ ...database, hasLocalWrites }, before, run))
    const writer = write(arbitrator, run)
    // Broken off after every other move; what is in the log by then is done by whoever comes next.
    const wish = { name: 'd', at: AT }
    const split = (onProgress: () => void) => splitShard({ database, wish, rowsMax: 3, log: SILENT_LOG, onProgress })
    for (let tries = 0, isDone = false; !isDone; tries++) {
      expect(tries).toBeLessThan(100)
      let moves = 0
      isDone = await split(() => {
        if (++moves > 2) throw new Error('broken off')
      }).then(
        () => true,
        error => {
          if ((error as Error).message !== 'broken off') throw error
          return false
        },
      )
    }
    run.isOver = true
    const [results] = await Promise.all([Promise.all(readers), writer])
    expect(Math.min(...results)).toBeGreaterThan(0)
    await expectMoved(database, started, run.writes)
    expect(await split(() => undefined)).toMatchObject({ rowsMoved: 0, from: AT })
    await added.close()
  })
}

async function addShard({ databases }: ShardedEngine, openShard: Openers['openShard']): Promise<Shard> {
  await databases.create('d')
  for (const table of TABLES) await databases.run('d', table)
  const added = openShard({ name: 'd', url: databases.urlOf('d') })
  await added.init({ isWaiting: true })
  return added
}

interface Totals {
  readonly n: number
  readonly years: number
  readonly aged: number
}

async function totals(shard: Shard): Promise<Totals> {
  const text = 'SELECT COUNT(*), SUM(age), COUNT(age) FROM people'
  const { rows } = await shard.read({ statement: { text, values: [] }, tables: ['people'], timeoutMs: 10_000 })
  const [n, years, aged] = rows[0]!.map(Number) as [number, number, number]
  return { n, years, aged }
}

interface Run {
  isOver: boolean
  /** Each makes everybody a year older. */
  writes: number
}

/** How many results it has seen: each is of one state, and none of an earlier one than the last. */
async function read(database: ShardedDatabase, before: Totals, run: Run): Promise<number> {
  const settings = completeSettings({})
  const arbitrator = new Arbitrator({ database, settings, log: SILENT_LOG })
  const coordinator = new QueryCoordinator({ database, arbitrator, settings, parser: loadSqlParser })
  let results = 0
  let seen = 0
  for (; !run.isOver; results++) {
    const { rows } = await coordinator.answer({ text: QUERY, values: [], floor: 0 })
    const [n, years] = rows[0]!.map(Number) as [number, number]
    const age = (years - before.years) / before.aged
    expect([n, Number.isInteger(age), age >= seen]).toEqual([before.n, true, true])
    seen = age
    const one = await coordinator.answer({
      text: 'select id from people where id between $1 and $2',
      values: [AT - 2, AT + 2],
      floor: 0,
    })
    expect(new Set(one.rows.map(([id]) => id)).size).toBe(one.rows.length)
  }
  return results
}

async function write(arbitrator: Arbitrator, run: Run): Promise<void> {
  const older = { text: 'UPDATE people SET age = age + 1', values: [], aspects: ['people'], isSchemaChange: false }
  while (!run.isOver) {
    await arbitrator.write(older, { id: undefined, fingerprint: '' })
    run.writes++
  }
}

async function expectMoved(database: ShardedDatabase, started: ShardedEngine, writes: number): Promise<void> {
  const { map, shards } = await placedAt(database, await database.log.head())
  expect([map.shards, map.placement]).toEqual([['a', 'b', 'c', 'd'], { kind: 'ranges', from: [0, 20, 40, AT] }])
  const { run } = started.databases
  for (const table of ['people', 'visits', 'teams']) {
    const key = database.map.sharded[table]
    const condition = key === undefined ? '' : ` WHERE ${key} >= ${AT}`
    const rows = async (name: string) =>
      (await run(name, `SELECT * FROM ${table}${condition}`)).map(row => Object.values(row).map(String).join('|')).sort()
    if (table === 'people') {
      await run('whole', `UPDATE people SET age = age + ${writes}`)
      expect(await run('c', `SELECT * FROM people${condition}`)).toEqual([])
    }
    expect([table, await rows('d')]).toEqual([table, await rows('whole')])
  }
  const head = await database.log.head()
  for (const shard of shards) expect((await shard.state()).applied).toBe(head)
}
