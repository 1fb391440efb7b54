import { describe, expect, test } from 'vitest'
import { openGlobalLog, openShard } from '../engines/index.js'
import { onEach, rowsOn, testGlobalWrites, writerOf } from '../under-test/test-global-writes.js'
import { useMariadbShards } from '../under-test/use-shards.js'

const started = useMariadbShards()

testGlobalWrites(started)

describe('in MariaDB', () => {
  const refused = (message: RegExp) => ({ code: 'GLOBAL_REFUSED', message: expect.stringMatching(message) })

  test('a row that all shards have must not leave a NULL, or a time at an update, for each shard to fill in', async () => {
    await onEach(
      started(),
      'CREATE TABLE stamps (id INT AUTO_INCREMENT PRIMARY KEY, Changed TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, n INT)',
    )
    const { write } = writerOf(started(), ['stamps'])
    const insert = (id: string, changed: string) =>
      write(`insert into stamps (id, changed, n) values (${id}, ${changed}, 1)`)
    await expect(insert('null', "'2026-01-01'")).rejects.toMatchObject(refused(/fill in id /))
    await expect(insert('nullif(1, 1)', "'2026-01-01'")).rejects.toMatchObject(refused(/fill in id /))
    await expect(insert('1', 'null')).rejects.toMatchObject(refused(/fill in Changed /))
    await insert('1', "'2026-01-01'")
    await expect(write('update stamps set n = n + 1')).rejects.toMatchObject(refused(/fill in Changed /))
    await write("update stamps set n = n + 1, changed = '2026-01-02'")
    const row = await rowsOn(started(), 'SELECT id, CAST(changed AS CHAR) AS changed, n FROM stamps')
    expect(row).toEqual(Array.from({ length: 3 }, () => ['1|2026-01-02 00:00:00|2']))
  })

  test('a row of a single shard may get its time from that shard', async () => {
    await onEach(started(), 'ALTER TABLE people ADD COLUMN changed TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP')
    await writerOf(started()).write('update people set age = age + 1 where id = 1')
    await onEach(started(), 'ALTER TABLE people DROP COLUMN changed')
  })

  test('the key of a table is recognised in any case', async () => {
    await expect(writerOf(started()).write('update visits set "Person" = 1')).rejects.toMatchObject(
      refused(/key of visits/),
    )
  })

  test('a write to a table with a trigger is refused, because its effect is not known', async () => {
    await onEach(
      started(),
      'CREATE TABLE audit (n INT)',
      'CREATE TRIGGER audited AFTER UPDATE ON teams FOR EACH ROW INSERT INTO audit VALUES (1)',
    )
    const { write } = writerOf(started())
    await expect(write('update teams set budget = budget')).rejects.toMatchObject(refused(/trigger audited of teams/))
    await write("delete from teams where team = 'none'")
    await onEach(started(), 'DROP TRIGGER audited')
  })

  test.each(['MyISAM', 'Aria'])('a table of the engine %s is not written, not even in a rehearsal', async engine => {
    await onEach(started(), `CREATE TABLE lasting_${engine} (id INT PRIMARY KEY) ENGINE=${engine}`)
    const { write } = writerOf(started(), [`lasting_${engine}`])
    await expect(write(`insert into "lasting_${engine}" (id) values (1)`)).rejects.toMatchObject(
      refused(/no transactions/),
    )
    expect(await rowsOn(started(), `SELECT id FROM lasting_${engine}`)).toEqual([[], [], []])
  })

  test('the tables of versions and of the log are transactional, whatever the default engine of the server', async () => {
    const { create, run, urlOf } = started().databases
    await create('unlike')
    await run('unlike', "SET GLOBAL default_storage_engine = 'MyISAM'")
    const [shard, log] = [openShard({ name: 'unlike', url: urlOf('unlike') }), openGlobalLog({ url: urlOf('unlike') })]
    await Promise.all([shard.init(), log.init()])
    const text = "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = 'unlike'"
    expect(await run('unlike', text)).toEqual([{ engine: 'InnoDB' }])
    await run('unlike', "SET GLOBAL default_storage_engine = 'InnoDB'")
    await Promise.all([shard.close(), log.close()])
  })

  test('keys that differ in case are different, also in a log that was created with a case-insensitive collation', async () => {
    const { run } = started().databases
    await run('arbiter', 'ALTER TABLE freshet_log MODIFY operation VARCHAR(255), MODIFY aspects LONGTEXT NOT NULL')
    const update = 'update teams set budget = budget + 1 where team = $1'
    const { write } = writerOf(started())
    const [upper, lower] = [
      await write(update, { id: 'job-A', values: ['red'] }),
      await write(update, { id: 'job-a', values: ['red'] }),
    ]
    expect(lower.position).toBe(upper.position + 1)
    expect(await write(update, { id: 'job-A', values: ['red'] })).toMatchObject({
      position: upper.position,
      replayed: true,
    })
  })

  test('tables that differ in case have a version each', async () => {
    await onEach(started(), 'CREATE TABLE Mixed (id INT PRIMARY KEY)', 'CREATE TABLE mixed (id INT PRIMARY KEY)')
    const { write } = writerOf(started(), ['Mixed', 'mixed'])
    const upper = await write('insert into "Mixed" (id) values (1)')
    const lower = await write('insert into mixed (id) values (1)')
    const { aspects } = await started().log.changesAfter(0)
    expect([aspects.get('Mixed'), aspects.get('mixed')]).toEqual([upper.position, lower.position])
    expect(await started().shards[0]!.state()).toMatchObject({
      versions: { Mixed: upper.position, mixed: lower.position },
    })
  })

  test.each([
    ['alter table teams add column budget int', /Duplicate column/],
    ['alter table teams drop column nothing', /nothing/],
    ['create index twice on teams (nothing)', /nothing/],
    ['drop index nothing on teams', /nothing/],
    ['create table teams (id int)', /there is a table teams/],
    ['drop table absent', /absent/],
  ])('%s is refused before it can block other writes, and tables are unchanged', async (q, message) => {
    const [head, before] = [await started().log.head(), await rowsOn(started(), 'SHOW CREATE TABLE teams')]
    await expect(writerOf(started(), ['absent']).write(q)).rejects.toMatchObject(refused(message))
    expect(await started().log.head()).toBe(head)
    expect(await rowsOn(started(), 'SHOW CREATE TABLE teams')).toEqual(before)
  })

  test('of two conflicting schema changes, one is done', async () => {
    const outcomes = await Promise.allSettled(
      [1, 2].map(i => writerOf(started()).write('alter table teams add column twice int', { id: `twice-${i}` })),
    )
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const { write } = writerOf(started())
    await write('create index of_twice on teams (twice)')
    await write('drop index of_twice on teams')
    expect(await write('alter table teams drop column twice')).toMatchObject({ applied: ['a', 'b', 'c'], pending: [] })
    expect(await rowsOn(started(), "SHOW COLUMNS FROM teams LIKE 'twice'")).toEqual([[], [], []])
  })
})
