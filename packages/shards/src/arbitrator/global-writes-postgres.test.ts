import { describe, expect, test } from 'vitest'
import { onEach, rowsOn, testGlobalWrites, writerOf } from '../under-test/test-global-writes.js'
import { usePostgresShards } from '../under-test/use-shards.js'

const started = usePostgresShards()

testGlobalWrites(started)

describe('in PostgreSQL', () => {
  const refused = (message: RegExp) => ({ code: 'GLOBAL_REFUSED', message: expect.stringMatching(message) })

  test('a row must have its own number for an identity column, with OVERRIDING SYSTEM VALUE where needed', async () => {
    await onEach(started(), 'CREATE TABLE counted (id INT GENERATED ALWAYS AS IDENTITY, n INT)')
    const { write } = writerOf(started(), ['counted'])
    await expect(write('insert into counted (n) values (1)')).rejects.toMatchObject(refused(/fill in id /))
    await expect(write('insert into counted (id, n) overriding user value values (5, 1)')).rejects.toMatchObject(
      refused(/OVERRIDING/),
    )
    await write('insert into counted (id, n) overriding system value values (5, 1)')
    expect(await rowsOn(started(), 'SELECT id, n FROM counted')).toEqual([['5|1'], ['5|1'], ['5|1']])
  })

  test('a default that is a function, also of a domain, is not left to each shard', async () => {
    await onEach(
      started(),
      'CREATE DOMAIN moment AS timestamptz DEFAULT now()',
      'CREATE TABLE moments (id INT PRIMARY KEY, happened moment, token UUID DEFAULT gen_random_uuid())',
    )
    const { write } = writerOf(started(), ['moments'])
    const insert = (columns: string, values: string) => write(`insert into moments (${columns}) values (${values})`)
    await expect(insert('id', '1')).rejects.toMatchObject(refused(/fill in happened /))
    await expect(insert('id, happened', "1, '2026-01-01'")).rejects.toMatchObject(refused(/fill in token /))
    expect(await rowsOn(started(), 'SELECT id FROM moments')).toEqual([[], [], []])
  })

  test('a write that fires a trigger or rule is refused, as its effect is not known, also behind a foreign key', async () => {
    await onEach(
      started(),
      'CREATE TABLE chosen (team CHAR(4) REFERENCES teams (team) ON DELETE CASCADE)',
      'CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$',
      'CREATE TRIGGER audited AFTER DELETE ON chosen FOR EACH ROW EXECUTE FUNCTION audit()',
      'CREATE RULE ruled AS ON UPDATE TO chosen DO ALSO DELETE FROM chosen',
    )
    const { write } = writerOf(started(), ['chosen'])
    await expect(write("delete from teams where team = 'x'")).rejects.toMatchObject(
      refused(/trigger audited of chosen/),
    )
    await expect(write('update chosen set team = null')).rejects.toMatchObject(refused(/trigger ruled of chosen/))
    await write('update teams set budget = budget')
    await onEach(started(), 'DROP TABLE chosen')
  })
})
