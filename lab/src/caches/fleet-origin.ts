/**
 * Two real servers behind HAProxy as shipped, over one engine: PostgreSQL and Redis with a replica that serves reads, MariaDB,
 * Cassandra and SQLite without. Some answers come late, and servers and the replica can be killed.
 */

import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import { startCassandra } from '@freshet/engines/under-test/start-cassandra'
import { startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import type { EngineName } from '../engines/engine-name.js'
import { createSqliteFile } from '../engines/sqlite.js'
import type { Random } from '../harness/random.js'
import { startInOrder } from '../harness/start-in-order.js'
import { startHaproxy } from './haproxy.js'
import { type SlowOrigin, type SlowOriginOptions, startSlowOrigin } from './slow-origin.js'

export interface FleetOrigin extends SlowOrigin {
  /** How often the replica was killed; undefined without a replica. */
  readonly replicaKills: number | undefined
  /** How many reads the replica has answered. */
  replicaReads(): Promise<number>
}

interface Engine {
  /** Names the replica, if there is one. */
  readonly url: string
  /** `kill -9`, and a new start; undefined without a replica. */
  restartReplica?(): Promise<void>
  stop(): Promise<void>
}

const ENGINES: Readonly<Record<EngineName, () => Promise<Engine>>> = {
  PostgreSQL: startPostgresPair,
  MariaDB: () => startMariadb(),
  Redis: startRedisPair,
  Cassandra: () => startCassandra(),
  SQLite: createSqliteFile,
}

async function startPostgresPair(): Promise<Engine> {
  const primary = await startPostgres()
  const standby = await startPostgres({ standbyOf: primary })
  return pairOf(primary, standby, () => standby.startAgain())
}

async function startRedisPair(): Promise<Engine> {
  const primary = await startRedis({ settings: DURABLE })
  const replica = await startRedis({ settings: { ...DURABLE, replicaof: `127.0.0.1 ${primary.port}` } })
  return pairOf(primary, replica, () => replica.restart())
}

interface Replica {
  readonly port: number
  kill(): Promise<unknown>
  stop(): Promise<void>
}

function pairOf(primary: Engine, replica: Replica, startReplica: () => Promise<unknown>): Engine {
  return {
    url: `${primary.url}?replicas=127.0.0.1:${replica.port}`,
    restartReplica: async () => {
      await replica.kill()
      await startReplica()
    },
    stop: async () => {
      await replica.stop()
      await primary.stop()
    },
  }
}

/** `restart` kills one of the servers or the replica, and starts it again: each in turn, in a new random order every time. */
export async function startFleetOrigin(
  name: EngineName,
  options: SlowOriginOptions,
  random: Random,
): Promise<FleetOrigin> {
  return startInOrder(async stops => {
    const engine = stops.add(await ENGINES[name]())
    const servers: SlowOrigin[] = []
    for (let i = 0; i < 2; i++) {
      servers.push(stops.add(await startSlowOrigin({ ...options, store: engine.url })))
    }
    const [a, b] = servers.map(({ url }) => Number(new URL(url).port)) as [number, number]
    const proxy = stops.add(await startHaproxy([a, b]))
    let replicaKills = 0
    const restartReplica = async () => {
      replicaKills++
      await engine.restartReplica!()
    }
    let pastReads = 0
    const restartServer = async ({ url, restart }: SlowOrigin) => {
      pastReads += await replicaReadsOf(url)
      await restart()
    }
    const all = [
      ...servers.map(server => () => restartServer(server)),
      ...(engine.restartReplica ? [restartReplica] : []),
    ]
    const next: (() => Promise<void>)[] = []
    return {
      url: proxy.url,
      get replicaKills() {
        return engine.restartReplica && replicaKills
      },
      replicaReads: async () =>
        (await Promise.all(servers.map(({ url }) => replicaReadsOf(url)))).reduce((x, y) => x + y, pastReads),
      get dataReads() {
        return servers.reduce((sum, server) => sum + server.dataReads, 0)
      },
      restart: () => {
        if (next.length === 0) next.push(...random.shuffle(all))
        return next.pop()!()
      },
      stop: stops.stopAll,
    }
  })
}

/** Sums the server's own counts by source, without the primary. */
async function replicaReadsOf(serverUrl: string): Promise<number> {
  const text = await (await fetch(`${serverUrl}/metrics`)).text()
  const counts = [...text.matchAll(/^freshet_store_reads_total\{source="([^"]*)"\} (\d+)/gm)]
  return counts.reduce((sum, [, source, reads]) => (source === 'primary' ? sum : sum + Number(reads)), 0)
}
