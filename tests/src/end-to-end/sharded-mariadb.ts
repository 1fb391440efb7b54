/** For tests: shards in a real MariaDB, each in its own database. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endMariadb, startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { type Connection, createConnection } from 'mariadb'
import { afterAll, beforeAll } from 'vitest'
import { endFreshetProcesses, type FreshetProcess, startFreshet } from './freshet-process.js'

export interface NewShards {
  /** The first key of each shard, by shard name; undefined: it has no rows yet. */
  readonly from: Readonly<Record<string, number | undefined>>
  /** The statements that create and fill the tables of a shard. */
  readonly tables: (place: number) => readonly string[]
}

/** A shard, as a config file names it. */
export interface NamedShard {
  readonly name: string
  readonly url: string
  readonly from?: number
}

/** Over one connection. `url` is that of the engine, whose database is called freshet. */
export async function createShards(
  connection: Connection,
  url: string,
  { from, tables }: NewShards,
): Promise<readonly NamedShard[]> {
  const names = Object.keys(from)
  for (const [place, name] of names.entries()) {
    await connection.query(`CREATE DATABASE ${name}`)
    await connection.query(`USE ${name}`)
    for (const statement of tables(place)) await connection.query(statement)
  }
  return names.map(name => {
    const first = from[name]
    return { name, url: url.replace(/freshet$/, name), ...(first === undefined ? {} : { from: first }) }
  })
}

export interface ShardedMariadb {
  readonly connection: Connection
  connect(): Promise<Connection>
  readonly folder: string
  /** The config file: people are sharded by id, and teams are global. */
  readonly config: string
  serve(): Promise<FreshetProcess>
}

/** The shards are ready from the first test on. Ends every process after the last test. */
export function useShardedMariadb(shards: NewShards): ShardedMariadb {
  const used = {} as { -readonly [Name in keyof ShardedMariadb]: ShardedMariadb[Name] }

  beforeAll(async () => {
    const { port, url } = await startMariadb()
    used.connect = () => createConnection({ host: '127.0.0.1', port, user: 'root' })
    used.connection = await used.connect()
    used.folder = mkdtempSync(join(tmpdir(), 'freshet-shards-'))
    used.config = join(used.folder, 'freshet.json')
    const named = await createShards(used.connection, url, shards)
    const config = { shards: named, sharded: { people: 'id' }, global: ['teams'], localWrites: false }
    writeFileSync(used.config, JSON.stringify({ shards: config }))
    const data = join(used.folder, 'data')
    used.serve = () => startFreshet(['serve', '--workers', '1', '--config', used.config, '--data', data])
  })

  afterAll(async () => {
    await used.connection?.end()
    await endFreshetProcesses()
    await endMariadb()
    if (used.folder) rmSync(used.folder, { recursive: true, force: true })
  })

  return used
}
