/** The work in each reader's process: reads of evenly drawn objects, one after the other, and which nodes they asked. */
import { openPostgresStore } from '@freshet/engines/postgres'
import { openRedisStore } from '@freshet/engines/redis'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { createRandom, type Random } from '../../harness/random.js'
import { openCellsTarget } from './cells-target.js'
import {
  type CurrencyEngine,
  type CurrencySettings,
  type CurrencyTarget,
  keyOf,
  quorumTarget,
  storeTarget,
} from './currency-target.js'
import { openPostgresNode, openRedisNode, type PlainNode } from './plain-nodes.js'

/** Per read: nanoseconds, and nodes asked. Then the share of node answers that were used, and the share of stale reads. */
export type CurrencyMeasure = 'read' | 'nodes' | 'current' | 'stale'

export function createCurrencyWorker(): ContenderWorker<CurrencySettings, null, CurrencyMeasure> {
  let target: CurrencyTarget | undefined
  let settings: CurrencySettings | undefined
  let random: Random | undefined
  let latest: ((key: string) => Promise<number>) | undefined
  return {
    async prepare(given) {
      settings = given
      random = createRandom(given.seed)
      target = await openTarget(given)
      latest = target.latest ?? (await latestAt(given))
      return null
    },
    async round() {
      if (!target || !settings || !random || !latest) throw new TypeError('The worker was not prepared.')
      await target.beforeRound?.()
      const before = target.totals()
      let [ms, stale] = [0, 0]
      for (let i = 0; i < settings.reads; i++) {
        const key = keyOf(random.below(target.keys))
        const required = await latest(key)
        const startMs = performance.now()
        const found = await target.get(key)
        ms += performance.now() - startMs
        if ((found?.version ?? 0) < required) stale++
      }
      const after = target.totals()
      const [asked, behind] = [after.nodeReads - before.nodeReads, after.behind - before.behind]
      const { reads } = settings
      return { read: (ms * 1e6) / reads, nodes: asked / reads, current: 1 - behind / asked, stale: stale / reads }
    },
  }
}

/** Asks the primary for its version before a read. The read must not return an older one. */
async function latestAt({ engine, truth }: CurrencySettings): Promise<(key: string) => Promise<number>> {
  const node = await openNode(engine, truth)
  return async key => (await node.get(key))!.version
}

function openNode(engine: CurrencyEngine, url: string): Promise<PlainNode> {
  return engine === 'PostgreSQL' ? openPostgresNode(url) : openRedisNode(url)
}

async function openTarget(settings: CurrencySettings): Promise<CurrencyTarget> {
  const { engine, kind, nodes } = settings
  if (engine === 'Cells') return openCellsTarget(settings)
  const isPostgres = engine === 'PostgreSQL'
  if (kind === 'quorum') {
    // A quorum that may ask any two nodes asks the nearest two.
    const [primary, ...replicas] = nodes
    const opened = await Promise.all([...replicas, primary!].map(url => openNode(engine, url)))
    return quorumTarget(opened.map(node => node.get))
  }
  const [primary, ...replicas] = nodes
  const hosts = replicas.map(url => new URL(url).host).join(',')
  const isCurrent = kind.startsWith('current')
  const url = isCurrent ? `${primary}?replicas=${hosts}` : primary!
  const options = { url, onWarning: () => {} }
  const store = await (isPostgres ? openPostgresStore(options) : openRedisStore(options))
  if (isCurrent) await untilUsed(() => store.readCounts!().every(({ isUsed = true }) => isUsed))
  return storeTarget(store, !kind.endsWith('get'))
}

const START_MS_MAX = 20_000

async function untilUsed(areUsed: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX
  while (!areUsed()) {
    if (performance.now() > deadlineMs) throw new Error('No read was answered by a replica.')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
