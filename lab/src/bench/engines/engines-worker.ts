/** What happens in each server's process. */
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { openCachedTarget } from './cached-targets.js'
import { openCassandraTarget } from './cassandra-targets.js'
import { type EngineName, type EnginesSettings, storeTarget, type Target } from './engine-target.js'
import { openMariadbTarget } from './mariadb-targets.js'
import { openOwnStore } from './own-store.js'
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
  const keyOf = (i: number) => `a/b/${settings!.server}-${i % KEYS}`
  return {
    async prepare(given) {
      settings = given
      target = await openTarget(
        given,
        Array.from({ length: KEYS }, (_, i) => keyOf(i)),
      )
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

async function openTarget(settings: EnginesSettings, keys: readonly string[]): Promise<Target> {
  const { engine, kind, url, store } = settings
  const openStore = () => openOwnStore(engine, url, store)
  if (kind === 'freshet') return storeTarget(await openStore())
  if (kind === 'cached' || kind === 'client') return openCachedTarget(settings, openStore, keys)
  return OPEN[engine](settings)
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
