/** For tests: the contract of shards and of the log of global writes, in any engine. */
import { completeSettings, SILENT_LOG } from '@freshet/server/capabilities'
import { beforeEach, describe, expect, test } from 'vitest'
import { Arbitrator } from '../arbitrator/arbitrator.js'
import type { Shard } from '../plan/index.js'
import type { ShardedEngine } from './sharded-engine.js'

export const TIMEOUT_MS = 20_000
const ADD = { text: 'UPDATE teams SET budget = budget + 1', values: [], aspects: ['teams'], isSchemaChange: false }

export function arbitratorOf({ map, shards, log }: Pick<ShardedEngine, 'map' | 'shards' | 'log'>): Arbitrator {
  const database = { map, shards, log, hasLocalWrites: false }
  return new Arbitrator({ database, settings: completeSettings({}), log: SILENT_LOG })
}

/** What a test works on, as it is when the test begins. */
interface Scene {
  readonly started: ShardedEngine
  /** The shard that is tested. */
  readonly shard: Shard
  /** The next position of the log. */
  readonly next: number
  readonly budgets: () => Promise<readonly number[]>
}

export function testArbitration(startedEngine: () => ShardedEngine): void {
  let next: number

  beforeEach(async () => {
    const started = startedEngine()
    for (const each of started.shards) await arbitratorOf(started).bringUpToDate(each)
    next = (await started.log.head()) + 1
  })

  const scene = () => {
    const started = startedEngine()
    return { started, shard: started.shards[1]!, next, budgets: () => budgetsOf(started) }
  }
  testApplying(scene)
  testStates(scene)
  testLog(scene)
}

async function budgetsOf({ map, databases }: ShardedEngine): Promise<readonly number[]> {
  const sums: number[] = []
  for (const name of map.shards) {
    const [row] = await databases.run(name, 'SELECT SUM(budget) AS total FROM teams')
    sums.push(Number(row!.total))
  }
  return sums
}

function testApplying(scene: () => Scene): void {
  describe('a shard', () => {
    test('applies a write once, however often and by however many servers it is asked to', async () => {
      const { started, shard, next, budgets } = scene()
      const [, before] = await budgets()
      const write = { ...ADD, position: next }
      const other = started.openAgain().shards[1]!
      await started.log.append(ADD, { id: undefined, fingerprint: '' })
      await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 ? shard : other).apply(write, TIMEOUT_MS)))
      expect((await budgets())[1]).toBe(before! + 3)
      expect(await shard.state()).toMatchObject({ applied: next, versions: { teams: next } })
    })

    test('takes no write except the next one', async () => {
      const { shard, next, budgets } = scene()
      const before = await budgets()
      expect(await shard.apply({ ...ADD, position: next + 1 }, TIMEOUT_MS)).toBe(false)
      expect(await budgets()).toEqual(before)
    })

    test('that refuses a write reports it, and applies nothing further until the write is possible', async () => {
      const { started, shard, next } = scene()
      const insert = { ...ADD, text: "INSERT INTO teams (team, title, budget) VALUES ('blue', 'again', 0)" }
      const write = { ...insert, position: next }
      await started.log.append(insert, { id: undefined, fingerprint: '' })
      await expect(shard.apply(write, TIMEOUT_MS)).rejects.toMatchObject({
        code: 'GLOBAL_REFUSED',
        details: { shard: 'b' },
      })
      expect(await shard.state()).toMatchObject({ applied: next - 1, obstacle: expect.stringMatching(/duplicate/i) })
      for (const name of started.map.shards) await started.databases.run(name, "DELETE FROM teams WHERE team = 'blue'")
      for (const each of started.shards) await arbitratorOf(started).bringUpToDate(each)
      expect(await shard.state()).not.toHaveProperty('obstacle')
      expect((await shard.state()).applied).toBe(next)
    })
  })
}

function testStates(scene: () => Scene): void {
  describe('a shard', () => {
    test('changes its schema once, and raises a version that every query depends on', async () => {
      const { started, shard, next } = scene()
      const change = {
        text: 'ALTER TABLE visits ADD COLUMN more INT',
        values: [],
        aspects: ['visits'],
        isSchemaChange: true,
      }
      await started.log.append(change, { id: undefined, fingerprint: '' })
      const write = { ...change, position: next }
      const other = started.openAgain().shards[1]!
      await Promise.all([shard, other, shard].map(each => each.apply(write, TIMEOUT_MS)))
      expect(await shard.state()).toMatchObject({
        applied: next,
        isChanging: false,
        versions: { visits: next, '*schema': next },
      })
      expect((await shard.catalog()).tables.get('visits')!.filter(({ name }) => name === 'more')).toHaveLength(1)
    })

    test('is unchanged after it rehearses a write', async () => {
      const { shard, budgets } = scene()
      const before = await budgets()
      await shard.rehearse(ADD, TIMEOUT_MS)
      expect(await budgets()).toEqual(before)
      await expect(shard.rehearse({ ...ADD, text: 'UPDATE teams SET nothing = 1' }, TIMEOUT_MS)).rejects.toMatchObject({
        code: 'GLOBAL_REFUSED',
      })
    })

    test('returns rows and versions of one state, while writes come in between', async () => {
      const { started, shard } = scene()
      const statement = { text: 'SELECT SUM(budget) FROM teams', values: [] }
      let isOver = false
      const writing = (async () => {
        for (let i = 0; i < 20; i++) {
          const { position } = await started.log.append(ADD, { id: undefined, fingerprint: '' })
          await shard.apply({ ...ADD, position }, TIMEOUT_MS)
        }
        isOver = true
      })()
      const sums = new Map<number, Set<string>>()
      while (!isOver) {
        const { rows, versions } = await shard.read({ statement, tables: ['teams'], timeoutMs: TIMEOUT_MS })
        const seen = sums.get(versions.teams!) ?? new Set()
        sums.set(versions.teams!, seen.add(String(rows[0]![0])))
      }
      await writing
      expect([...sums.values()].map(({ size }) => size)).toEqual([...sums].map(() => 1))
    })
  })
}

function testLog(scene: () => Scene): void {
  describe('the log', () => {
    test('gives positions without gaps to writers on several servers, and one position to writes with the same id', async () => {
      const { started, next } = scene()
      const logs = [started.log, started.openAgain().log]
      const appended = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          logs[i % 2]!.append(ADD, { id: `op-${next}-${i % 10}`, fingerprint: 'x' }),
        ),
      )
      const positions = [...new Set(appended.map(({ position }) => position))].sort((a, b) => a - b)
      expect(positions).toEqual(Array.from({ length: 10 }, (_, i) => next + i))
      expect(appended.filter(({ isReplayed }) => isReplayed)).toHaveLength(10)
      await expect(logs[0]!.append(ADD, { id: `op-${next}-0`, fingerprint: 'y' })).rejects.toMatchObject({
        code: 'OPERATION_MISMATCHED',
      })
      expect((await started.log.writesAfter(next - 1, 100)).map(({ position }) => position)).toEqual(positions)
    })

    test('takes no write while it is held, and takes it once it is released', async () => {
      const { started } = scene()
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

    test('lets one server at a time bring the shards up to date, and another when that one is gone', async () => {
      const { started } = scene()
      const other = started.openAgain().log
      expect([await started.log.lead(), await started.log.lead(), await other.lead()]).toEqual([true, true, false])
      await started.log.resign()
      await expect.poll(() => other.lead()).toBe(true)
      await other.resign()
    })
  })
}
