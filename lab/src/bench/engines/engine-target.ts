/** What is measured in an engine: commits and reads, by the store or by the driver. */
import type { Store } from '@freshet/core/store'

export type EngineName = 'PostgreSQL' | 'MariaDB' | 'Redis' | 'Cassandra'

/**
 * `bare`: a value by itself, with no log, nor anything else that goes with it. `cached`: reads in a server over the store, which keeps what
 * it has read. `client`: reads by a client of such a server, which does as well.
 */
export type EngineKind = 'freshet' | 'driver' | 'ordered' | 'unordered' | 'bare' | 'cached' | 'client'

export interface EnginesSettings {
  readonly engine: EngineName
  readonly kind: EngineKind
  readonly url: string
  /** The store of this contender's servers, and of nobody else: who follows a log has work with each commit of it. */
  readonly store: string
  /** Which of the servers it is. */
  readonly server: number
  readonly inFlight: number
  readonly commits: number
  readonly gets: number
}

export interface Target {
  commit?(keys: readonly string[]): Promise<unknown>
  get?(key: string): Promise<unknown>
  /** What is done to a key beside the reads, where that is not `commit`. */
  change?(key: string): Promise<unknown>
  /** So many keys go into one call of `commit`. */
  readonly batch: number
}

export const BODY: Buffer = Buffer.from(JSON.stringify({ text: 'x'.repeat(489) }))
export const TYPE = 'application/json'

export function storeTarget(store: Store): Target {
  const put = (key: string) => ({ key, contentType: TYPE, body: BODY })
  return { commit: keys => store.commit({ writes: keys.map(put) }), get: async key => store.get(key), batch: 1 }
}
