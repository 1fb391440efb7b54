/** For tests, in any engine: a shard that does not take the rows that are moved to it. */
import { completeSettings, SILENT_LOG } from '@freshet/server/capabilities'
import { expect, test } from 'vitest'
import { Arbitrator } from '../arbitrator/arbitrator.js'
import { splitShard } from '../arbitrator/split-shard.js'
import { openShard } from '../engines/index.js'
import type { ShardedDatabase } from '../placement/sharded-database.js'
import { moveOf, placedShards, type Shard, type SplitWish } from '../plan/index.js'
import { TABLES } from './random-queries.js'
import type { ShardedEngine } from './sharded-engine.js'

const WISH = { name: 'd', at: 50 }
const SETTINGS = { globalWaitMsMax: 5000 }

async function addEmpty({ databases }: ShardedEngine): Promise<Shard> {
  await databases.create('d')
  for (const table of TABLES) await databases.run('d', table)
  const added = openShard({ name: 'd', url: databases.urlOf('d') })
  await added.init({ isWaiting: true })
  return added
}

export function split(database: ShardedDatabase, wish: SplitWish = WISH): Promise<unknown> {
  const onProgress = () => undefined
  return splitShard({ database, wish, rowsMax: 1000, settings: SETTINGS, log: SILENT_LOG, onProgress })
}

export function testRefusedMove(startedEngine: () => ShardedEngine): void {
  test('a move that the new shard refuses does not begin; if it has begun, it is reported and done later', async () => {
    const started = startedEngine()
    const { run } = started.databases
    const added = await addEmpty(started)
    const database = { ...started, shards: [...started.shards, added], hasLocalWrites: false }
    const arbitrator = new Arbitrator({ database, settings: completeSettings(SETTINGS), log: SILENT_LOG })
    await run('d', 'ALTER TABLE people ADD CONSTRAINT young CHECK (id < 0)')
    await expect(split(database)).rejects.toMatchObject({
      code: 'GLOBAL_REFUSED',
      message: expect.stringMatching(/The shard d refuses this: .*young/),
    })
    expect(await started.log.head()).toBe(0)

    const placed = placedShards(started.map)!
    const move = moveOf(placed, WISH, { source: 'c', low: WISH.at, high: null }, WISH.at)
    const write = { text: 'MOVE', values: [], aspects: [], isSchemaChange: true, move }
    const { position } = await started.log.append(write, { id: undefined, fingerprint: '' })
    expect((await arbitrator.settle(position)).pending).toEqual(['c', 'd'])
    expect((await arbitrator.status()).shards[3]).toMatchObject({ name: 'd', obstacle: expect.stringMatching(/young/) })
    await expect(split(database)).rejects.toMatchObject({
      code: 'SHARDS_UNSETTLED',
      message: expect.stringMatching(/while c, d cannot apply .* The shard d refuses this: .*young/),
    })

    await run('d', 'ALTER TABLE people DROP CONSTRAINT young')
    await split(database)
    expect((await arbitrator.status()).shards.map(({ applied, obstacle }) => [applied, obstacle])).toEqual(
      Array.from({ length: 4 }, () => [position, undefined]),
    )
    const idsOn = async (name: string) =>
      (await run(name, `SELECT id FROM people WHERE id >= ${WISH.at} ORDER BY id`)).map(({ id }) => Number(id))
    expect([await idsOn('c'), await idsOn('d')]).toEqual([[], await idsOn('whole')])
    await added.close()
  })
}
