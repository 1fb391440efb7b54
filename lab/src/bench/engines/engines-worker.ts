/** What happens in each server's process. */
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { elapsedMs, stopwatch } from '../../harness/stopwatch.js'
import { openCassandraTarget } from './cassandra-targets.js'
import type { EngineName, EnginesSettings, Target } from './engine-target.js'
import { openMariadbTarget } from './mariadb-targets.js'
import { openPostgresTarget } from './postgres-targets.js'
import { openRedisTarget } from './redis-targets.js'

export type EnginesMeasure = 'commit' | 'get'

const KEYS = 5000
const OPEN: Readonly<Record<EngineName, (settings: EnginesSettings) => Promise<Target>>> = {
  PostgreSQL: openPostgresTarget,
  MariaDB: openMariadbTarget,
  Redis: openRedisTarget,
  Cassandra: openCassandraTarget,
}

export function createEnginesWorker(): ContenderWorker<EnginesSettings, undefined, EnginesMeasure> {
  let target: Target | undefined
  let settings: EnginesSettings | undefined
  return {
    async prepare(given) {
      settings = given
      target = await OPEN[given.engine](given)
      return undefined
    },
    async round() {
      if (!target || !settings) throw new TypeError('The worker was not prepared.')
      const { server, inFlight, commits, gets } = settings
      const { batch, get } = target
      const keyOf = (i: number) => `a/b/${server}-${i % KEYS}`
      const lanes = Math.ceil(inFlight / batch)
      const commit = await time(commits / batch, lanes, i =>
        target!.commit(Array.from({ length: batch }, (_, k) => keyOf(i * batch + k))),
      )
      const read = get ? await time(gets, inFlight, i => get(keyOf(i))) : 0
      return { commit: commit / batch, get: read }
    },
  }
}

/** Nanoseconds for each, with so many at a time. */
async function time(count: number, lanes: number, work: (i: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  const start = stopwatch.now()
  await Promise.all(Array.from({ length: lanes }, lane))
  return (elapsedMs(start, stopwatch.now()) * 1e6) / count
}
