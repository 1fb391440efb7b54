import type { GlobalWrite, Shard } from '@freshet/core/aggregates'
import { endMariadb } from '@freshet/stores/under-test/start-mariadb'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SILENT_LOG } from '../operations/log.js'
import { completeSettings } from '../settings.js'
import { Arbitrator } from './arbitrator.js'
import { type MariadbShards, startMariadbShards } from './under-test/mariadb-shards.js'

const TIMEOUT_MS = 20_000
const ADD = { text: 'UPDATE teams SET budget = budget + 1', values: [], aspects: ['teams'], isSchemaChange: false }
let started: MariadbShards
/** The shard that is looked at closely. */
let shard: Shard
/** The next position of the log. */
let next: number

beforeAll(async () => {
  started = await startMariadbShards()
  shard = started.shards[1]!
})

afterAll(async () => {
  await started?.close()
  await endMariadb()
})

beforeEach(async () => {
  await arbitratorOf(started).bringUpToDate(shard)
  next = (await started.log.head()) + 1
})

function arbitratorOf({ shards, log }: Pick<MariadbShards, 'shards' | 'log'>): Arbitrator {
  const database = { map: started.map, shards, log, hasLocalWrites: false }
  return new Arbitrator({ database, settings: completeSettings({}), log: SILENT_LOG })
}

async function budgets(): Promise<readonly number[]> {
  const sums = started.map.shards.map(async name => {
    const [row] = await started.connection.query(`SELECT SUM(budget) AS total FROM ${name}.teams`)
    return Number(row.total)
  })
  return Promise.all(sums)
}

describe('a shard', () => {
  test('applies a write once, however often and by however many it is told to', async () => {
    const [, before] = await budgets()
    const write = { ...ADD, position: next }
    const other = started.openAgain().shards[1]!
    await started.log.append(ADD, { id: undefined, fingerprint: '' })
    await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 ? shard : other).apply(write, TIMEOUT_MS)))
    expect((await budgets())[1]).toBe(before! + 3)
    expect(await shard.state()).toMatchObject({ applied: next, versions: { teams: next } })
  })

  test('takes no write but the next', async () => {
    const before = await budgets()
    expect(await shard.apply({ ...ADD, position: next + 1 }, TIMEOUT_MS)).toBe(false)
    expect(await budgets()).toEqual(before)
  })

  test('that refuses a write says so, and stays where it is until it can be done', async () => {
    const insert = { ...ADD, text: "INSERT INTO teams (team, title, budget) VALUES ('blue', 'again', 0)" }
    const write = { ...insert, position: next }
    await started.log.append(insert, { id: undefined, fingerprint: '' })
    await expect(shard.apply(write, TIMEOUT_MS)).rejects.toMatchObject({
      code: 'GLOBAL_REFUSED',
      details: { shard: 'b' },
    })
    expect(await shard.state()).toMatchObject({ applied: next - 1, obstacle: expect.stringContaining('Duplicate') })
    for (const name of started.map.shards)
      await started.connection.query(`DELETE FROM ${name}.teams WHERE team = 'blue'`)
    for (const each of started.shards) await arbitratorOf(started).bringUpToDate(each)
    expect(await shard.state()).not.toHaveProperty('obstacle')
    expect((await shard.state()).applied).toBe(next)
  })
})

describe('a schema change in MariaDB, which commits by itself,', () => {
  /** As far as somebody got who was killed then. */
  async function begin(write: GlobalWrite, isDone: boolean): Promise<void> {
    await started.connection.query('USE b')
    const [row] = await started.connection.query('SHOW CREATE TABLE visits')
    const before = `visits: ${row['Create Table'].replace(/ AUTO_INCREMENT=\d+/, '')}`
    await started.connection.query('UPDATE freshet_shard SET changing = ?, before_change = ?', [write.position, before])
    if (isDone) await started.connection.query(write.text)
  }

  test.each([
    ['before it was done', false],
    ['after it was done', true],
  ])('that was broken off %s is finished, and not done twice', async (_, isDone) => {
    const column = isDone ? 'late' : 'early'
    const change = {
      text: `alter table visits add column ${column} int`,
      values: [],
      aspects: ['visits'],
      isSchemaChange: true,
    }
    const write = { ...change, position: next }
    await started.log.append(change, { id: undefined, fingerprint: '' })
    await begin(write, isDone)
    expect(await shard.state()).toMatchObject({ isChanging: true, applied: next - 1 })
    expect(await shard.apply(write, TIMEOUT_MS)).toBe(true)
    expect(await shard.state()).toMatchObject({
      isChanging: false,
      applied: next,
      versions: { visits: next, '*schema': next },
    })
    const { tables } = await shard.catalog()
    expect(tables.get('visits')!.filter(({ name }) => name === column)).toHaveLength(1)
    for (const each of started.shards) await arbitratorOf(started).bringUpToDate(each)
  })
})

describe('the log', () => {
  test('gives positions without gaps to writers of several servers, and once to those with the same id', async () => {
    const logs = [started.log, started.openAgain().log]
    const appended = await Promise.all(
      Array.from({ length: 20 }, (_, i) => logs[i % 2]!.append(ADD, { id: `op-${next}-${i % 10}`, fingerprint: 'x' })),
    )
    const positions = [...new Set(appended.map(({ position }) => position))].sort((a, b) => a - b)
    expect(positions).toEqual(Array.from({ length: 10 }, (_, i) => next + i))
    expect(appended.filter(({ isReplayed }) => isReplayed)).toHaveLength(10)
    await expect(logs[0]!.append(ADD, { id: `op-${next}-0`, fingerprint: 'y' })).rejects.toMatchObject({
      code: 'OPERATION_MISMATCHED',
    })
    expect((await started.log.writesAfter(next - 1, 100)).map(({ position }) => position)).toEqual(positions)
  })

  test('that is held takes no write until it is released', async () => {
    const other = started.openAgain().log
    const { head, release } = await started.log.hold(TIMEOUT_MS)
    let appended: number | undefined
    const appending = other.append(ADD, { id: undefined, fingerprint: '' }).then(({ position }) => {
      appended = position
    })
    expect(await started.log.writesAfter(head, 10)).toEqual([])
    expect(appended).toBeUndefined()
    await release()
    await appending
    expect(appended).toBe(head + 1)
  })

  test('has one server that brings shards up to date, and another when that one is gone', async () => {
    const other = started.openAgain().log
    expect([await started.log.lead(), await started.log.lead(), await other.lead()]).toEqual([true, true, false])
    await started.log.resign()
    await expect.poll(() => other.lead()).toBe(true)
    await other.resign()
  })
})
