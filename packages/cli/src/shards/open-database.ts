/** The shards that a config names, ready to be asked. Nothing is connected to yet. */
import { readShards, type ShardedDatabase, type ShardsConfig } from '@freshet/server'

export interface OpenDatabase extends ShardedDatabase {
  close(): Promise<void>
}

export async function openDatabase(config: ShardsConfig): Promise<OpenDatabase> {
  const { openGlobalLog, openShard } = await import('@freshet/stores/shards')
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
