/** Two real servers over one engine, behind HAProxy as shipped; answers come late now and then, and servers can be killed. */
import { DURABLE, startRedis } from '@freshet/stores/under-test/redis'
import { startPostgres } from '@freshet/stores/under-test/start-postgres'
import type { Random } from '../harness/random.js'
import { startHaproxy } from './haproxy.js'
import { type SlowOrigin, type SlowOriginOptions, startSlowOrigin } from './slow-origin.js'

export type EngineName = 'PostgreSQL' | 'Redis'

interface Engine {
  readonly url: string
  stop(): Promise<void>
}

const ENGINES: Readonly<Record<EngineName, () => Promise<Engine>>> = {
  PostgreSQL: () => startPostgres(),
  Redis: () => startRedis({ settings: DURABLE }),
}

/** `restart` kills one of the servers, drawn at random, and starts it again. */
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
      restart: () => random.pick(servers).restart(),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
