/** For tests: global writes, from their text to their effect on every shard, in any engine. */
import type { GlobalAnswer } from '@freshet/protocol'
import { completeSettings, fingerprintOf, SILENT_LOG } from '@freshet/server/capabilities'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Arbitrator } from '../arbitrator/arbitrator.js'
import { parseGlobal } from '../parse/parse-global.js'
import { loadSqlParser, type SqlParser } from '../parse/parse-sql.js'
import type { ParameterValue } from '../plan/index.js'
import type { ShardedEngine } from './sharded-engine.js'

/** A server that global writes are sent to. */
export interface Writer {
  readonly arbitrator: Arbitrator
  write(
    text: string,
    more?: { readonly id?: string; readonly values?: readonly ParameterValue[] },
  ): Promise<GlobalAnswer>
}

let parser: SqlParser

/** `tables` are global tables in addition to `teams`. */
export function writerOf(started: ShardedEngine, tables: readonly string[] = []): Writer {
  const map = { ...started.map, global: [...started.map.global, ...tables] }
  const database = { map, ...started.openAgain(), hasLocalWrites: false }
  const arbitrator = new Arbitrator({ database, settings: completeSettings({}), log: SILENT_LOG })
  return {
    arbitrator,
    write: async (text, { id, values = [] } = {}) =>
      arbitrator.write(parseGlobal(parser, map, text, values), { id, fingerprint: fingerprintOf(`${text}${values}`) }),
  }
}

/** Runs statements on every shard directly, not through Freshet. */
export async function onEach(started: ShardedEngine, ...texts: readonly string[]): Promise<void> {
  for (const name of started.map.shards) for (const text of texts) await started.databases.run(name, text)
}

/** The rows that each shard has, as text. */
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
  testForeignKeys(startedEngine)
  testQueriesWithin(startedEngine)
  testFilledColumns(startedEngine)
}

function testOnce(startedEngine: () => ShardedEngine): void {
  describe('a global write', () => {
    test('that was done is found by its key when it is sent again, even if it could not be done twice', async () => {
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
      'is not appended after another that makes it impossible: writers on %d servers',
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

    test('is rehearsed on top of the writes in the log, even if no shard has applied them yet', async () => {
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

function testForeignKeys(startedEngine: () => ShardedEngine): void {
  const TABLES = ['parents', 'children', 'grandchildren', 'watched', 'pets']

  describe('a foreign key with an action', () => {
    beforeAll(async () => {
      await onEach(
        startedEngine(),
        'CREATE TABLE parents (id INT PRIMARY KEY, code INT NOT NULL UNIQUE, name VARCHAR(9))',
        'CREATE TABLE children (id INT PRIMARY KEY, parent INT REFERENCES parents (id) ON DELETE CASCADE, code INT, FOREIGN KEY (code) REFERENCES parents (code) ON DELETE CASCADE ON UPDATE CASCADE)',
        'CREATE TABLE grandchildren (id INT PRIMARY KEY, child INT, FOREIGN KEY (child) REFERENCES children (id) ON DELETE SET NULL)',
        'CREATE TABLE watched (id INT PRIMARY KEY, watcher INT)',
        'CREATE TABLE pets (id INT PRIMARY KEY, person INT, FOREIGN KEY (person) REFERENCES people (id) ON DELETE CASCADE)',
      )
    })

    test('adds the tables that it changes to those of the write, over any number of steps', async () => {
      const started = startedEngine()
      const { write } = writerOf(started, TABLES)
      await write("insert into parents (id, code, name) values (1, 10, 'a'), (2, 20, 'b')")
      await write('insert into children (id, parent, code) values (1, 1, 10), (2, 2, 20)')
      await write('insert into grandchildren (id, child) values (1, 1)')
      const [plain, coded, deleted] = [
        await write("update parents set name = 'c' where id = 2"),
        await write('update parents set code = code + 1 where id = 2'),
        await write('delete from parents where id = 1', { id: 'cascade' }),
      ]
      expect(Object.keys(plain.versions)).toEqual(['parents'])
      expect(Object.keys(coded.versions)).toEqual(['parents', 'children'])
      expect(Object.keys(deleted.versions)).toEqual(['parents', 'children', 'grandchildren'])
      expect(await rowsOn(started, 'SELECT id, code FROM children')).toEqual([['2|21'], ['2|21'], ['2|21']])
      const { position } = deleted
      for (const shard of started.shards)
        expect(await shard.state()).toMatchObject({ versions: { children: position, grandchildren: position } })
      const { aspects } = await started.log.changesAfter(0)
      expect([aspects.get('children'), aspects.get('grandchildren')]).toEqual([position, position])
      expect(await write('delete from parents where id = 1', { id: 'cascade' })).toEqual({ ...deleted, replayed: true })
    })

    test('from a sharded to a global table is refused: each shard would change different rows', async () => {
      const { write } = writerOf(startedEngine(), TABLES)
      await expect(write('delete from people where id = 1')).rejects.toMatchObject({
        code: 'GLOBAL_REFUSED',
        message: expect.stringMatching(/foreign key it changes rows of pets/),
      })
      await expect(write('update people set age = age where id = 1')).resolves.toBeDefined()
      await onEach(startedEngine(), 'DROP TABLE pets')
    })
  })
}

function testQueriesWithin(startedEngine: () => ShardedEngine): void {
  test.each([
    'exists (select 1 from teams t where exists (select 1 from people where age > 30))',
    'team in (select team from teams where team in (select team from people))',
    "team in (select case when exists (select 1 from people) then 'red' else 'blue' end from teams)",
    'team in (select team from (select team from teams where exists (select 1 from visits)) t)',
    'team in (select t.team from teams t join teams u on t.team = u.team and exists (select 1 from people))',
    'team in (select max(team) from teams group by title having exists (select 1 from people))',
    'team in (select team from (select team from teams limit 1) t)',
    'team in (select team from teams offset 1)',
  ])('a global write where %s is refused', async where => {
    const started = startedEngine()
    const head = await started.log.head()
    await expect(writerOf(started).write(`update teams set budget = 0 where ${where}`)).rejects.toMatchObject({
      code: 'GLOBAL_REFUSED',
      message: expect.stringMatching(/not the same on every shard/),
    })
    expect(await started.log.head()).toBe(head)
  })

  test('a global write whose queries are about global tables at every level is done', async () => {
    const where = 'exists (select 1 from teams t where t.team in (select team from (select team from teams) x))'
    const { pending } = await writerOf(startedEngine()).write(`update teams set budget = budget where ${where}`)
    expect(pending).toEqual([])
  })
}

function testFilledColumns(startedEngine: () => ShardedEngine): void {
  test('a row that all shards have must not leave columns for each shard to fill in', async () => {
    const started = startedEngine()
    const number = started.map.dialect === 'mariadb' ? 'INT AUTO_INCREMENT PRIMARY KEY' : 'SERIAL PRIMARY KEY'
    await onEach(
      started,
      `CREATE TABLE notes (id ${number}, at_time TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP, kind VARCHAR(9) DEFAULT 'it''s', stars INT DEFAULT -1, text VARCHAR(9))`,
    )
    const { write } = writerOf(started, ['notes'])
    const refused = (column: string) => ({
      code: 'GLOBAL_REFUSED',
      message: expect.stringMatching(`fill in ${column} `),
    })
    await expect(write("insert into notes (text) values ('x')")).rejects.toMatchObject(refused('id'))
    await expect(write("insert into notes (id, text) values (7, 'x')")).rejects.toMatchObject(refused('at_time'))
    await expect(write("insert into notes (at_time, text) values (null, 'x')")).rejects.toMatchObject(refused('id'))
    await write("insert into notes (id, at_time, text) values ($1, null, 'x'), (0, null, 'y')", { values: [7] })
    const rows = ["0||it's|-1|y", "7||it's|-1|x"]
    expect(await rowsOn(started, 'SELECT * FROM notes ORDER BY id')).toEqual([rows, rows, rows])
  })
}
