/** The work in each server's process. */
import type { EngineName } from '../../engines/engine-name.js'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { timeLanes } from '../../harness/time-lanes.js'
import { openCachedTarget } from './cached-targets.js'
import { openCassandraTarget } from './cassandra-targets.js'
import { type EnginesSettings, storeTarget, type Target } from './engine-target.js'
import { openMariadbTarget } from './mariadb-targets.js'
import { openOwnStore } from './own-store.js'
import { openPostgresTarget } from './postgres-targets.js'
import { openRedisTarget } from './redis-targets.js'
import { openSqliteTarget } from './sqlite-targets.js'

export type EnginesMeasure = 'commit' | 'get'

const KEYS = 5000
/** The rate of changes, during the reads, to some of the keys that are read, spread over the key space. */
const CHANGES_PER_SECOND = 50
const STEP = 37
const OPEN: Readonly<Record<EngineName, (settings: EnginesSettings) => Promise<Target>>> = {
  PostgreSQL: openPostgresTarget,
  MariaDB: openMariadbTarget,
  Redis: openRedisTarget,
  Cassandra: openCassandraTarget,
  SQLite: openSqliteTarget,
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
      const nsPerBatch = commit ? await timeLanes(commits / batch, lanes, i => commit(batchAt(i))) : 0
      if (!get) return { commit: nsPerBatch / batch, get: 0 }
      const stop = changeSome(target, keyOf)
      const nsPerRead = await timeLanes(gets, inFlight, i => get(keyOf(i)))
      stop()
      return { commit: nsPerBatch / batch, get: nsPerRead }
    },
  }
}

/** Runs during the reads, until the returned function is called. */
function changeSome({ commit, change = key => commit!([key]) }: Target, keyOf: (i: number) => string): () => void {
  let next = 0
  const timer = setInterval(() => {
    next += STEP
    change(keyOf(next))
  }, 1000 / CHANGES_PER_SECOND)
  return () => clearInterval(timer)
}

async function openTarget(settings: EnginesSettings, keys: readonly string[]): Promise<Target> {
  const { engine, kind, url, store } = settings
  const openStore = () => openOwnStore(engine, url, store)
  if (kind === 'freshet') return storeTarget(await openStore())
  if (kind === 'cached' || kind === 'client') return openCachedTarget(settings, openStore, keys)
  return OPEN[engine](settings)
}
