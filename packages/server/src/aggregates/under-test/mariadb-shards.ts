/** For tests: shards that are databases of one MariaDB, with the tables and rows of `sharded-data.ts`, and one that has everything. */
import type { GlobalLog, Shard, ShardMap } from '@freshet/core/aggregates'
import { openGlobalLog, openShard } from '@freshet/stores/shards'
import { type RunningMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { type Connection, createConnection } from 'mariadb'
import { fill, mapOf, sampleRows } from './sharded-data.js'

export interface MariadbShards {
  readonly engine: RunningMariadb
  readonly map: ShardMap
  readonly shards: readonly Shard[]
  readonly whole: Shard
  readonly log: GlobalLog
  /** Past Freshet. */
  readonly connection: Connection
  urlOf(name: string): string
  /** Another server's connections to the same. */
  openAgain(): { readonly shards: readonly Shard[]; readonly log: GlobalLog }
  close(): Promise<void>
}

export async function startMariadbShards(settings: Readonly<Record<string, string>> = {}): Promise<MariadbShards> {
  const map = mapOf('mariadb', { kind: 'ranges', from: [0, 20, 40] })
  const engine = await startMariadb({ settings: { character_set_server: 'utf8mb4', ...settings } })
  const connection = await createConnection({ host: '127.0.0.1', port: engine.port, user: 'root' })
  const urlOf = (name: string) => engine.url.replace(/\/freshet$/, `/${name}`)
  const nameOf = (shard: number | 'whole') => (shard === 'whole' ? shard : map.shards[shard]!)
  for (const name of ['whole', ...map.shards]) await connection.query(`CREATE DATABASE ${name}`)
  const run = async (shard: number | 'whole', text: string) => {
    await connection.query(`USE ${nameOf(shard)}`)
    await connection.query(text)
  }
  await fill(run, map, sampleRows(7, false))
  const open = () => ({
    shards: map.shards.map(name => openShard({ name, url: urlOf(name) })),
    log: openGlobalLog({ url: engine.url }),
  })
  const own = open()
  const whole = openShard({ name: 'whole', url: urlOf('whole') })
  const opened = [own]
  for (const each of [...own.shards, whole, own.log]) await each.init()
  return {
    ...{ engine, map, whole, connection, urlOf, ...own },
    openAgain: () => {
      const again = open()
      opened.push(again)
      return again
    },
    close: async () => {
      await Promise.all([whole, ...opened.flatMap(({ shards, log }) => [...shards, log])].map(each => each.close()))
      connection.destroy()
    },
  }
}
