/**
 * For tests: shards that are databases of one server, with the tables and rows of `sharded-data.ts`, and one that has all rows.
 */
import { openGlobalLog, openShard } from '../engines/index.js'
import type { GlobalLog, Shard, ShardMap } from '../plan/index.js'
import { fill, mapOf, sampleRows } from './sharded-data.js'

/** The databases of a running engine, used directly and not through Freshet. */
export interface Databases {
  create(name: string): Promise<void>
  run(name: string, text: string, values?: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>
  urlOf(name: string): string
  close(): Promise<void>
}

export interface ShardedEngine {
  readonly map: ShardMap
  readonly shards: readonly Shard[]
  readonly whole: Shard
  readonly log: GlobalLog
  readonly databases: Databases
  /** The connections of another server to the same databases. */
  openAgain(): { readonly shards: readonly Shard[]; readonly log: GlobalLog }
  close(): Promise<void>
}

export async function fillShards(
  databases: Databases,
  dialect: Shard['dialect'],
  placement: ShardMap['placement'],
): Promise<ShardedEngine> {
  const map = mapOf(dialect, placement)
  const nameOf = (shard: number | 'whole') => (shard === 'whole' ? shard : map.shards[shard]!)
  for (const name of ['whole', 'arbiter', ...map.shards]) await databases.create(name)
  await fill((shard, text) => databases.run(nameOf(shard), text), map, sampleRows(7, dialect === 'postgres'))
  const open = () => ({
    shards: map.shards.map(name => openShard({ name, url: databases.urlOf(name) })),
    log: openGlobalLog({ url: databases.urlOf('arbiter') }),
  })
  const own = open()
  const whole = openShard({ name: 'whole', url: databases.urlOf('whole') })
  const opened = [own]
  for (const each of [...own.shards, whole, own.log]) await each.init()
  return {
    ...{ map, whole, databases, ...own },
    openAgain: () => {
      const again = open()
      opened.push(again)
      return again
    },
    close: async () => {
      await Promise.all([whole, ...opened.flatMap(({ shards, log }) => [...shards, log])].map(each => each.close()))
      await databases.close()
    },
  }
}
