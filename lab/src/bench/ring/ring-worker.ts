/** The work in each server's process: commits and reads in the store of one Redis, or of a ring of three. */
import type { Store } from '@freshet/core/store'
import { openQuorumStore } from '@freshet/engines/quorum'
import { openRedisStore } from '@freshet/engines/redis'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { timeLanes } from '../../harness/time-lanes.js'

export interface RingSettings {
  readonly kind: 'one' | 'ring'
  readonly urls: readonly string[]
  /** The number of the server. */
  readonly server: number
  readonly inFlight: number
  readonly commits: number
  readonly gets: number
  readonly alone: number
}

/** `alone`: a commit with nothing else under way. */
export type RingMeasure = 'commit' | 'get' | 'alone'

const KEYS = 5000
const BODY = Buffer.from(JSON.stringify({ text: 'x'.repeat(489) }))

export function createRingWorker(): ContenderWorker<RingSettings, undefined, RingMeasure> {
  let opened: { readonly store: Store; readonly settings: RingSettings } | undefined
  return {
    async prepare(settings) {
      opened = { store: await open(settings), settings }
      return undefined
    },
    async round() {
      if (!opened) throw new TypeError('The worker was not prepared.')
      const { store, settings } = opened
      const { server, inFlight, commits, gets, alone } = settings
      const keyOf = (i: number) => `a/b/${server}-${i % KEYS}`
      const put = (i: number) =>
        store.commit({ writes: [{ key: keyOf(i), contentType: 'application/json', body: BODY }] })
      return {
        commit: await timeLanes(commits, inFlight, put),
        get: await timeLanes(gets, inFlight, async i => store.get(keyOf(i))),
        alone: await timeLanes(alone, 1, put),
      }
    },
  }
}

function open({ kind, urls }: RingSettings): Promise<Store> {
  if (kind === 'one') return openRedisStore({ url: urls[0]!, name: 'one' })
  const nodes = urls.map(url => ({ place: url, open: () => openRedisStore({ url, name: 'ring' }) }))
  return openQuorumStore({ nodes })
}
