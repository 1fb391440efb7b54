/** What reads: one object at a time, by one of the ways to read from three nodes. */
import type { Position, Store } from '@freshet/core/store'

export type CurrencyEngine = 'PostgreSQL' | 'Redis' | 'Cells'

/**
 * `current`: never stale; the nearest replica, the next only if it is behind in what is asked for, at last the primary. `primary`: the
 * primary alone. Both as a server reads, which asks the primary where it is, follows its log to there, and then reads;
 * `get`: the store by itself, which asks for both at once. `quorum`: two of three nodes, the newest of what they say.
 */
export type CurrencyKind = 'current' | 'primary' | 'current, get' | 'primary, get' | 'quorum'

export interface CurrencySettings {
  readonly engine: CurrencyEngine
  readonly kind: CurrencyKind
  /** The first is the primary, where there is one. */
  readonly nodes: readonly string[]
  /** Who says what was there before a read began: the primary, near. */
  readonly truth: string
  readonly reads: number
  readonly seed: number
}

export interface ReadTotals {
  /** How many nodes were asked for a value. */
  readonly nodeReads: number
  /** Of those, how many had an older one than the latest; where nobody compares, 0. */
  readonly behind: number
}

export interface Versioned {
  readonly version: number
}

export interface CurrencyTarget {
  /** How many objects there are. */
  readonly keys: number
  /** Who knows what was written last; else the primary is asked. */
  latest?(key: string): Promise<number>
  beforeRound?(): Promise<void>
  get(key: string): Promise<Versioned | undefined>
  /** Since it was opened. */
  totals(): ReadTotals
}

export const KEYS = 1000
export const BUCKET = 'bench/currency'

export function keyOf(i: number): string {
  return `${BUCKET}/${i}`
}

/** A store that may have replicas: it counts by itself who was asked. */
export function storeTarget(store: Store, isServer: boolean): CurrencyTarget {
  let reads = 0
  let followed: Position | undefined
  return {
    keys: KEYS,
    async get(key) {
      reads++
      if (!isServer) return store.get(key)
      const position = await store.position()
      if (position !== followed) await store.changes(followed ?? position)
      followed = position
      return store.get(key, position)
    },
    totals() {
      const counts = store.readCounts?.() ?? []
      if (counts.length === 0) return { nodeReads: reads, behind: 0 }
      const behind = counts.reduce((sum, each) => sum + (each.behind ?? 0), 0)
      return { nodeReads: counts.reduce((sum, each) => sum + each.reads, behind), behind }
    },
  }
}

/** Asks two nodes at once. */
export function quorumTarget(nodes: readonly ((key: string) => Promise<Versioned | undefined>)[]): CurrencyTarget {
  let reads = 0
  return {
    keys: KEYS,
    async get(key) {
      const two = nodes.slice(0, 2)
      reads++
      const found = await Promise.all(two.map(ask => ask(key)))
      return found.reduce((a, b) => ((a?.version ?? 0) >= (b?.version ?? 0) ? a : b))
    },
    totals: () => ({ nodeReads: 2 * reads, behind: 0 }),
  }
}
