/**
 * Two real servers over one engine, PostgreSQL and Redis with a replica that they read from, MariaDB and Cassandra without, behind HAProxy as
 * shipped; answers come late now and then, and servers and the replica can be killed.
 */

import { DURABLE, startRedis } from '@freshet/stores/under-test/redis'
import { startCassandra } from '@freshet/stores/under-test/start-cassandra'
import { startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { startPostgres } from '@freshet/stores/under-test/start-postgres'
import type { Random } from '../harness/random.js'
import { startHaproxy } from './haproxy.js'
import { type SlowOrigin, type SlowOriginOptions, startSlowOrigin } from './slow-origin.js'

export type EngineName = 'PostgreSQL' | 'MariaDB' | 'Redis' | 'Cassandra'

export interface FleetOrigin extends SlowOrigin {
  /** How often the replica was killed; undefined if there is none. */
  readonly replicaKills: number | undefined
  /** How many reads it has answered. */
  replicaReads(): Promise<number>
}

interface Engine {
  /** Names the replica, if it has one. */
  readonly url: string
  /** `kill -9`, and started again; undefined if it has none. */
  restartReplica?(): Promise<void>
  stop(): Promise<void>
}

const ENGINES: Readonly<Record<EngineName, () => Promise<Engine>>> = {
  PostgreSQL: startPostgresPair,
  MariaDB: () => startMariadb(),
  Redis: startRedisPair,
  Cassandra: () => startCassandra(),
}

async function startPostgresPair(): Promise<Engine> {
  const primary = await startPostgres()
  const standby = await startPostgres({ standbyOf: primary })
  return {
    url: `${primary.url}?replicas=127.0.0.1:${standby.port}`,
    restartReplica: async () => {
      await standby.kill()
      await standby.startAgain()
    },
    stop: async () => {
      await standby.stop()
      await primary.stop()
    },
  }
}

async function startRedisPair(): Promise<Engine> {
  const primary = await startRedis({ settings: DURABLE })
  const replica = await startRedis({ settings: { ...DURABLE, replicaof: `127.0.0.1 ${primary.port}` } })
  return {
    url: `${primary.url}?replicas=127.0.0.1:${replica.port}`,
    restartReplica: async () => {
      await replica.kill()
      await replica.restart()
    },
    stop: async () => {
      await replica.stop()
      await primary.stop()
    },
  }
}

/** `restart` kills one of the servers or the replica, and starts it again: each in turn, in an order drawn at random every time. */
export async function startFleetOrigin(
  name: EngineName,
  options: SlowOriginOptions,
  random: Random,
): Promise<FleetOrigin> {
  const started: { stop(): Promise<void> }[] = []
  const stop = async () => {
    for (const each of started.reverse()) await each.stop()
  }
  try {
    const engine = await ENGINES[name]()
    started.push(engine)
    const servers: SlowOrigin[] = []
    for (let i = 0; i < 2; i++) {
      servers.push(await startSlowOrigin({ ...options, store: engine.url }))
      started.push(servers[i]!)
    }
    const [a, b] = servers.map(({ url }) => Number(new URL(url).port)) as [number, number]
    const proxy = await startHaproxy([a, b])
    started.push(proxy)
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
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** As the server counts them, by who has answered. */
async function replicaReadsOf(serverUrl: string): Promise<number> {
  const text = await (await fetch(`${serverUrl}/metrics`)).text()
  const counts = [...text.matchAll(/^freshet_store_reads_total\{source="([^"]*)"\} (\d+)/gm)]
  return counts.reduce((sum, [, source, reads]) => (source === 'primary' ? sum : sum + Number(reads)), 0)
}
