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
  })
}
