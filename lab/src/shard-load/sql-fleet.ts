/**
 * Real shards: a MariaDB server for each, another for the arbitrator's log, and Freshet servers over them. Each is a separate
 * process, and the Freshet servers are started by the command, as users do.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@freshet/engines/under-test/free-port'
import { type RunningMariadb, startMariadb } from '@freshet/engines/under-test/start-mariadb'
import type { ShardsConfig } from '@freshet/shards/configuration'
import { openGlobalLog, openShard } from '@freshet/shards/engines'
import { type Connection, createConnection } from 'mariadb'
import { type ServerCommand, type ServerProcess, startServer } from '../bench/http/server-process.js'
import { startInOrder } from '../harness/start-in-order.js'

export interface SqlFleetOptions {
  readonly shards: number
  /** One per server. `localWrites`: other clients may write to the shards too, so the server caches no result. */
  readonly servers: readonly { readonly localWrites: boolean }[]
  /** The first key of each shard. */
  readonly from: readonly number[]
  readonly sharded: Readonly<Record<string, string>>
  readonly global: readonly string[]
  /** Settings of MariaDB, besides small memory. */
  readonly settings?: Readonly<Record<string, string>>
  /** Fills a shard with its initial data. */
  fill(connection: Connection, shard: number): Promise<void>
  onStarted?(done: number, total: number): void
}

export interface SqlFleet {
  readonly engines: readonly RunningMariadb[]
  /** The server of the log. */
  readonly arbitrator: RunningMariadb
  readonly config: ShardsConfig
  readonly servers: readonly FleetServer[]
  stop(): Promise<void>
}

export interface FleetServer {
  readonly url: string
  /** `kill -9`, and a new start. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const COMMAND = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
const STARTS_MAX = 5
/** Ten of them fit on one machine. */
const SMALL = {
  innodb_buffer_pool_size: '96M',
  innodb_log_file_size: '32M',
  performance_schema: 'OFF',
  key_buffer_size: '1M',
  innodb_fast_shutdown: '2',
}

export async function startSqlFleet(options: SqlFleetOptions): Promise<SqlFleet> {
  return startInOrder(async stops => {
    const folder = mkdtempSync(join(tmpdir(), 'freshet-sql-'))
    stops.add({ stop: async () => rmSync(folder, { recursive: true, force: true }) })
    const engines: RunningMariadb[] = []
    const total = options.shards + 1 + options.servers.length
    for (let i = 0; i <= options.shards; i++) {
      engines.push(stops.add(await startMariadb({ settings: { ...SMALL, ...options.settings } })))
      options.onStarted?.(engines.length, total)
    }
    const config = configOf(options, engines)
    await prepare(options, config, engines)
    const servers: FleetServer[] = []
    for (const [i, own] of options.servers.entries()) {
      servers.push(stops.add(await startFleetServer({ ...config, ...own }, folder, i)))
      options.onStarted?.(engines.length + i + 1, total)
    }
    return { engines: engines.slice(0, -1), arbitrator: engines.at(-1)!, config, servers, stop: stops.stopAll }
  })
}

function configOf(
  { shards, from, sharded, global }: SqlFleetOptions,
  engines: readonly RunningMariadb[],
): ShardsConfig {
  return {
    shards: engines.slice(0, shards).map(({ url }, i) => ({ name: `shard-${i + 1}`, url, from: from[i]! })),
    ...{ sharded, global },
    arbitrator: engines[shards]!.url,
  }
}

async function prepare(
  { fill }: SqlFleetOptions,
  config: ShardsConfig,
  engines: readonly RunningMariadb[],
): Promise<void> {
  const log = openGlobalLog({ url: config.arbitrator! })
  await log.init()
  await log.close()
  for (const [i, { name, url }] of config.shards.entries()) {
    const connection = await createConnection({
      host: '127.0.0.1',
      port: engines[i]!.port,
      user: 'root',
      database: 'freshet',
    })
    await fill(connection, i)
    await connection.end()
    const shard = openShard({ name, url })
    await shard.init()
    await shard.close()
  }
}

/** Retries, so that a long run is not lost because the machine was busy for a moment. */
async function startPatiently(command: ServerCommand, triesLeft = STARTS_MAX): Promise<ServerProcess> {
  try {
    return await startServer(command)
  } catch (error) {
    if (triesLeft <= 1) throw error
    return startPatiently(command, triesLeft - 1)
  }
}

async function startFleetServer(config: ShardsConfig, folder: string, number: number): Promise<FleetServer> {
  const file = join(folder, `freshet-${number}.json`)
  writeFileSync(file, JSON.stringify({ shards: config, logLevel: 'info' }))
  const args = [
    'serve',
    '--config',
    file,
    '--workers',
    '1',
    '--port',
    `${await freePort()}`,
    '--data',
    join(folder, `data-${number}`),
  ]
  const start = () => startPatiently({ name: `server ${number}`, args: [COMMAND, ...args] })
  let running: ServerProcess = await start()
  return {
    url: running.url,
    restart: async () => {
      await running.kill()
      running = await start()
    },
    stop: () => running.stop(),
  }
}
