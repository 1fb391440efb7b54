/** The shards that a config names, ready for queries. No connection is opened yet. */
import { RowPlaces, type ShardedDatabase } from '@freshet/shards'
import { readShards, type ShardsConfig } from '@freshet/shards/configuration'

/** How long a server waits for shards when it starts. Shards that do not answer are examined before their first query. */
const LOOK_MS_MAX = 10_000

export interface OpenDatabase extends ShardedDatabase {
  close(): Promise<void>
}

export async function openDatabase(config: ShardsConfig): Promise<OpenDatabase> {
  const { openGlobalLog, openShard } = await import('@freshet/shards/engines')
  const { map } = readShards(config)
  const shards = config.shards.map(({ name, url }) => openShard({ name, url }))
  const log = openGlobalLog({ url: config.arbitrator ?? config.shards[0]!.url })
  return {
    map: map!,
    shards,
    log,
    hasLocalWrites: config.localWrites ?? true,
    close: async () => {
      await Promise.all([...shards, log].map(each => each.close()))
    },
  }
}

/** Throws SHARD_UNUSABLE if a shard has rows that no query would find. */
export async function confirmPlaces(config: ShardsConfig): Promise<void> {
  const database = await openDatabase(config)
  try {
    await new RowPlaces(database).confirmAll(LOOK_MS_MAX)
  } finally {
    await database.close()
  }
}
