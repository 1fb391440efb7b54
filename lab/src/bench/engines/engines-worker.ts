/** What happens in each server's process. */
import type { Store } from '@freshet/core/store'
import { openMariadbStore } from '@freshet/stores/mariadb'
import { openPostgresStore } from '@freshet/stores/postgres'
import { openRedisStore } from '@freshet/stores/redis'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { openCachedTarget } from './cached-targets.js'
import { openCassandraTarget, openPatientStore } from './cassandra-targets.js'
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

const STORES: Readonly<Record<EngineName, (options: { url: string }) => Promise<Store>>> = {
  PostgreSQL: openPostgresStore,
  MariaDB: openMariadbStore,
  Redis: openRedisStore,
  Cassandra: openPatientStore,
}

export function createEnginesWorker(): ContenderWorker<EnginesSettings, undefined, EnginesMeasure> {
  let target: Target | undefined
  let settings: EnginesSettings | undefined
  const keyOf = (i: number) => `a/b/${settings!.server}-${i % KEYS}`
  return {
    async prepare(given) {
      settings = given
      const { engine, kind, url } = given
      const keys = Array.from({ length: KEYS }, (_, i) => keyOf(i))
      const isCached = kind === 'cached' || kind === 'client'
      target = isCached ? await openCachedTarget(given, () => STORES[engine]({ url }), keys) : await OPEN[engine](given)
      return undefined
    },
    async round() {
      if (!target || !settings) throw new TypeError('The worker was not prepared.')
      const { inFlight, commits, gets } = settings
      const { batch, get, commit } = target
      const lanes = Math.ceil(inFlight / batch)
      const batchAt = (i: number) => Array.from({ length: batch }, (_, k) => keyOf(i * batch + k))
      const nsPerBatch = commit ? await time(commits / batch, lanes, i => commit(batchAt(i))) : 0
      const stop = target.disturb?.()
      const nsPerRead = get ? await time(gets, inFlight, i => get(keyOf(i))) : 0
      stop?.()
      return { commit: nsPerBatch / batch, get: nsPerRead }
    },
  }
}

/** Nanoseconds for each, with so many at a time, by the clock on the wall: it is the engine that is waited for. */
async function time(count: number, lanes: number, work: (i: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  const startMs = performance.now()
  await Promise.all(Array.from({ length: lanes }, lane))
  return ((performance.now() - startMs) * 1e6) / count
}
