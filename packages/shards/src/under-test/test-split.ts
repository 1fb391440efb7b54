/** For tests: a shard is split while it is read and written, in any engine. */
import { setTimeout as delay } from 'node:timers/promises'
import { completeSettings, SILENT_LOG } from '@freshet/server/capabilities'
import { expect, test } from 'vitest'
import { Arbitrator } from '../arbitrator/arbitrator.js'
import { splitShard } from '../arbitrator/split-shard.js'
import { QueryCoordinator } from '../coordinator/query-coordinator.js'
import { openShard } from '../engines/index.js'
import { loadSqlParser } from '../parse/parse-sql.js'
import { placedAt } from '../placement/placed-database.js'
import type { ShardedDatabase } from '../placement/sharded-database.js'
import { type GlobalWrite, moveOf, type Shard } from '../plan/index.js'
import { TABLES } from './random-queries.js'
import type { ShardedEngine } from './sharded-engine.js'

const QUERY = 'select count(*) as n, sum(age) as years, min(id) as low, max(id) as high from people'
const AT = 47

export function testSplit(startedEngine: () => ShardedEngine): void {
  test('a shard without a place may be empty; if it has rows, no query is answered', async () => {
    const started = startedEngine()
    const added = await addShard(started, 'e')
    const answer = () => {
      const database = { ...started, shards: [...started.shards, added], hasLocalWrites: false }
      const settings = completeSettings({})
      const arbitrator = new Arbitrator({ database, settings, log: SILENT_LOG })
      const coordinator = new QueryCoordinator({ database, arbitrator, settings, parser: loadSqlParser })
      return coordinator.answer({ text: QUERY, values: [], floor: 0 })
    }
    expect((await answer()).rows).toHaveLength(1)
    await started.databases.run('e', 'INSERT INTO people (id) VALUES (3)')
    await expect(answer()).rejects.toMatchObject({
      code: 'SHARD_UNUSABLE',
      message: expect.stringContaining('The shard e has rows of people, but no range of keys'),
    })
    await added.close()
  })

  test('a shard is split while it is read and written: no row is lost or counted twice, also after interruptions', async () => {
    const started = startedEngine()
    const added = await addShard(started, 'd')
    const database = { ...started, shards: [...started.shards, added], hasLocalWrites: false }
    const settings = completeSettings({})
    const arbitrator = new Arbitrator({ database, settings, log: SILENT_LOG })
    const before = await totals(started.whole)
    const run = { isOver: false, writes: 0 }
    const readers = [true, false].map(hasLocalWrites => read({ ...database, hasLocalWrites }, before, run))
    const writer = write(arbitrator, run)
    // Interrupted after every other move; the next run does what is in the log by then.
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
    await expectOrder(database, arbitrator)
    await added.close()
  })
}

/** Rows are taken with all writes that came before the move, and given away only after they were taken. */
async function expectOrder(database: ShardedDatabase, arbitrator: Arbitrator): Promise<void> {
  const [source, target] = ['c', 'd'].map(name => database.shards.find(shard => shard.name === name)!) as [Shard, Shard]
  const { placed } = moveOf([{ name: 'c', from: 40 }], { name: 'd', at: 45 }, { source: 'c', low: 45, high: AT }, 45)
  const others = { values: [], aspects: ['people'], isSchemaChange: false }
  const move = {
    from: 'c',
    to: 'd',
    low: 45,
    high: AT,
    placed: [{ name: 'a', from: 0 }, { name: 'b', from: 20 }, ...placed],
  }
  const append = (write: Omit<GlobalWrite, 'position'>) =>
    database.log.append(write, { id: undefined, fingerprint: '' })
  const ages = async (shard: Shard) => {
    const text = 'SELECT id, age FROM people WHERE id >= 45 AND id < 47 ORDER BY id'
    return (await shard.read({ statement: { text, values: [] }, tables: ['people'], timeoutMs: 10_000 })).rows.map(
      String,
    )
  }
  const before = await ages(source)
  await append({ ...others, text: 'UPDATE people SET age = age + 100' })
  const { position } = await append({ text: 'MOVE', values: [], aspects: [], isSchemaChange: true, move })
  const write = { text: 'MOVE', values: [], aspects: [], isSchemaChange: true, move, position }
  expect(await target.hasDurably(position)).toBe(false)
  expect(await source.applyMove(write, { kind: 'note' }, 10_000)).toBe(false)
  // The source is behind too: it is brought up to the move first.
  while ((await arbitrator.bringUpToDate(target)) < position) await delay(1)
  const after = before.map(row => row.replace(/\d+$/, age => `${Number(age) + 100}`))
  expect([await ages(source), await ages(target), (await source.state()).applied]).toEqual([after, after, position - 1])
  await arbitrator.bringUpToDate(source)
  expect([await ages(source), await ages(target), (await source.state()).applied]).toEqual([[], after, position])
  await arbitrator.settle(position)
}

async function addShard({ databases }: ShardedEngine, name: string): Promise<Shard> {
  await databases.create(name)
  for (const table of TABLES) await databases.run(name, table)
  const added = openShard({ name, url: databases.urlOf(name) })
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
  /** Each makes all people a year older. */
  writes: number
}

/** Returns how many results it has checked: each is of one state, and none of an earlier state than the one before. */
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
      (await run(name, `SELECT * FROM ${table}${condition}`))
        .map(row => Object.values(row).map(String).join('|'))
        .sort()
    if (table === 'people') {
      await run('whole', `UPDATE people SET age = age + ${writes}`)
      expect(await run('c', `SELECT * FROM people${condition}`)).toEqual([])
    }
    expect([table, await rows('d')]).toEqual([table, await rows('whole')])
  }
  const head = await database.log.head()
  for (const shard of shards) expect((await shard.state()).applied).toBe(head)
}
