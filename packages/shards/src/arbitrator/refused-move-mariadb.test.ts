import { expect, test } from 'vitest'
import { openShard } from '../engines/index.js'
import { split, testRefusedMove } from '../under-test/test-refused-move.js'
import { useMariadbShards } from '../under-test/use-shards.js'

const started = useMariadbShards()

testRefusedMove(started)

test('rows that are together longer than the engine takes in one packet are moved', async () => {
  const { run, urlOf } = started().databases
  for (const name of [...started().map.shards, 'd']) await run(name, 'ALTER TABLE people ADD COLUMN story MEDIUMTEXT')
  await run('c', "UPDATE people SET story = REPEAT('é', 100000)")
  await run('d', 'SET GLOBAL max_allowed_packet = 1048576')
  const shards = [...started().map.shards, 'd'].map(name => openShard({ name, url: urlOf(name) }))
  const [{ n } = {}] = await run('c', 'SELECT COUNT(*) AS n FROM people WHERE id >= 41')
  expect(Number(n) * 200_000).toBeGreaterThan(1_048_576)
  await split({ ...started(), shards, hasLocalWrites: false }, { name: 'd', at: 41 })
  const moved = await run('d', 'SELECT COUNT(*) AS n, MIN(LENGTH(story)) AS shortest FROM people WHERE id < 50')
  expect(moved.map(row => [Number(row.n), Number(row.shortest)])).toEqual([[Number(n), 200_000]])
  await Promise.all(shards.map(shard => shard.close()))
})
