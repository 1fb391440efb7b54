/**
 * Two real servers over one engine, PostgreSQL and Redis with a replica, MariaDB and Cassandra without, behind HAProxy as shipped; answers come late now and then, and servers and the
 * replica can be killed.
 */

import { DURABLE, startRedis } from '@freshet/stores/under-test/redis'
import { startCassandra } from '@freshet/stores/under-test/start-cassandra'
import { startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { startPostgres } from '@freshet/stores/under-test/start-postgres'
import type { Random } from '../harness/random.js'
import { startHaproxy } from './haproxy.js'
import { type SlowOrigin, type SlowOriginOptions, startSlowOrigin } from './slow-origin.js'

export type EngineName = 'PostgreSQL' | 'MariaDB' | 'Redis' | 'Cassandra'

interface Engine {
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
    url: primary.url,
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
    url: primary.url,
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

/** `restart` kills one of the servers or the replica, drawn at random, and starts it again. */
export async function startFleetOrigin(
  name: EngineName,
  options: SlowOriginOptions,
  random: Random,
): Promise<SlowOrigin> {
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
    return {
      url: proxy.url,
      get dataReads() {
        return servers.reduce((sum, server) => sum + server.dataReads, 0)
      },
      restart: () => random.pick([...servers.map(server => server.restart), engine.restartReplica ?? []].flat())(),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
