/** How many reads each source answered, and how many were stale. */

/** browser: the browser's own cache. shared: a cache on the way, such as a proxy or a CDN. */
export type Source = 'browser' | 'shared' | 'server'

export interface Tally {
  readonly reads: number
  readonly browser: number
  readonly shared: number
  readonly server: number
  readonly stale: number
}

export const NO_READS: Tally = { reads: 0, browser: 0, shared: 0, server: 0, stale: 0 }

export function counted(tally: Tally, source: Source, isStale: boolean): Tally {
  return {
    ...tally,
    reads: tally.reads + 1,
    [source]: tally[source] + 1,
    stale: tally.stale + (isStale ? 1 : 0),
  }
}
