/** For tests: global writes from their text to every shard, in any engine. */
import type { ParameterValue } from '@freshet/core/aggregates'
import type { GlobalAnswer } from '@freshet/protocol'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SILENT_LOG } from '../../operations/log.js'
import { completeSettings } from '../../settings.js'
import { Arbitrator } from '../arbitrator.js'
import { parseGlobal } from '../parse-global.js'
import { loadSqlParser, type SqlParser } from '../parse-sql.js'
import type { ShardedEngine } from './sharded-engine.js'

/** One server that global writes are sent to. */
export interface Writer {
  readonly arbitrator: Arbitrator
  write(
    text: string,
    more?: { readonly id?: string; readonly values?: readonly ParameterValue[] },
  ): Promise<GlobalAnswer>
}

let parser: SqlParser

/** `tables` are global ones beside `teams`. */
export function writerOf(started: ShardedEngine, tables: readonly string[] = []): Writer {
  const map = { ...started.map, global: [...started.map.global, ...tables] }
  const database = { map, ...started.openAgain(), hasLocalWrites: false }
  const arbitrator = new Arbitrator({ database, settings: completeSettings({}), log: SILENT_LOG })
  return {
    arbitrator,
    write: async (text, { id, values = [] } = {}) =>
      arbitrator.write(parseGlobal(parser, map, text, values), { id, fingerprint: `${text}${values}` }),
  }
}

/** On every shard, past Freshet. */
export async function onEach(started: ShardedEngine, ...texts: readonly string[]): Promise<void> {
  for (const name of started.map.shards) for (const text of texts) await started.databases.run(name, text)
}

/** What each shard has, as text. */
export async function rowsOn(started: ShardedEngine, query: string): Promise<readonly (readonly string[])[]> {
  const rows: string[][] = []
  for (const name of started.map.shards)
    rows.push((await started.databases.run(name, query)).map(row => Object.values(row).join('|')))
  return rows
}

async function expectAllApplied(started: ShardedEngine): Promise<void> {
  const head = await started.log.head()
  for (const shard of started.shards) expect(await shard.state()).toMatchObject({ applied: head })
  for (const shard of started.shards) expect(await shard.state()).not.toHaveProperty('obstacle')
}

export function testGlobalWrites(startedEngine: () => ShardedEngine): void {
  beforeAll(async () => {
    parser = await loadSqlParser()
  })
  beforeEach(async () => {
    const { arbitrator } = writerOf(startedEngine())
    await arbitrator.settle(await startedEngine().log.head())
  })
  testOnce(startedEngine)
}

function testOnce(startedEngine: () => ShardedEngine): void {
  describe('a global write', () => {
    test('that was done is found by its key when it is sent again, though it could not be done again', async () => {
      const started = startedEngine()
      const insert = "insert into teams (team, title, budget) values ('dup', 'once', 1)"
      const first = await writerOf(started).write(insert, { id: 'insert-once' })
      const again = await writerOf(started).write(insert, { id: 'insert-once' })
      expect(again).toEqual({ ...first, replayed: true })
      expect(await rowsOn(started, "SELECT title FROM teams WHERE team = 'dup'")).toEqual([
        ['once'],
        ['once'],
        ['once'],
      ])
      await expect(writerOf(started).write(`${insert}, ('dup2', 'x', 1)`, { id: 'insert-once' })).rejects.toMatchObject(
        {
          code: 'OPERATION_MISMATCHED',
        },
      )
    })

    test.each([1, 2])(
      'is not appended beside another that makes it impossible: writers of %d servers',
      async servers => {
        const started = startedEngine()
        const writers = Array.from({ length: servers }, () => writerOf(started))
        for (let round = 0; round < 3; round++) {
          const insert = `insert into teams (team, title, budget) values ('r${servers}${round}', 'one', 1)`
          const sent = Array.from({ length: 4 }, (_, i) =>
            writers[i % servers]!.write(insert, { id: `${insert}-${i}` }),
          )
          const outcomes = await Promise.allSettled(sent)
          const codes = outcomes.map(each =>
            each.status === 'fulfilled' ? 'done' : (each.reason as { code: string }).code,
          )
          expect(codes.sort()).toEqual(['GLOBAL_REFUSED', 'GLOBAL_REFUSED', 'GLOBAL_REFUSED', 'done'])
          await expectAllApplied(started)
        }
      },
    )

    test('is rehearsed on what is in the log, though no shard has applied that yet', async () => {
      const started = startedEngine()
      const insert = "insert into teams (team, title, budget) values ('late', 'one', 1)"
      const text = insert.replace('insert', 'INSERT')
      const ahead = { text, values: [], aspects: ['teams'], isSchemaChange: false }
      await started.log.append(ahead, { id: undefined, fingerprint: '' })
      await expect(writerOf(started).write(insert)).rejects.toMatchObject({ code: 'GLOBAL_REFUSED' })
      await expectAllApplied(started)
    })
  })
}
