/** The operations that the bench measures in an engine: commits and reads, by the store or by the driver. */
import type { Store } from '@freshet/core/store'
import type { EngineName } from '../../engines/engine-name.js'

/**
 * `bare`: a value by itself, without the log or any other part of a commit. `cached`: reads in a server over the store, which
 * keeps what it has read. `client`: reads by a client of such a server, which also keeps what it has read.
 */
export type EngineKind = 'freshet' | 'driver' | 'ordered' | 'unordered' | 'bare' | 'cached' | 'client'

export interface EnginesSettings {
  readonly engine: EngineName
  readonly kind: EngineKind
  readonly url: string
  /** The store that only this contender's servers share: following a log costs work for each commit. */
  readonly store: string
  /** The number of the server. */
  readonly server: number
  readonly inFlight: number
  readonly commits: number
  readonly gets: number
}

export interface Target {
  commit?(keys: readonly string[]): Promise<unknown>
  get?(key: string): Promise<unknown>
  /** Changes a key during the reads, where that differs from `commit`. */
  change?(key: string): Promise<unknown>
  /** The number of keys in one call of `commit`. */
  readonly batch: number
}

export const BODY: Buffer = Buffer.from(JSON.stringify({ text: 'x'.repeat(489) }))
export const TYPE = 'application/json'

export function storeTarget(store: Store): Target {
  const put = (key: string) => ({ key, contentType: TYPE, body: BODY })
  return { commit: keys => store.commit({ writes: keys.map(put) }), get: async key => store.get(key), batch: 1 }
}
