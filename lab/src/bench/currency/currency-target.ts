/** Reads one object at a time from three nodes, in one of several ways. */
import type { Position, Store } from '@freshet/core/store'

export type CurrencyEngine = 'PostgreSQL' | 'Redis' | 'Cells'

/**
 * `current`: never stale; reads the nearest replica, the next one only if it is behind on the requested object, and finally the
 * primary. `primary`: the primary alone. Both read as a server does: it asks the primary for its position, follows its log up to
 * there, and then reads. `get`: the store by itself, which asks for both at once. `quorum`: two of three nodes, and the newest of
 * their answers.
 */
export type CurrencyKind = 'current' | 'primary' | 'current, get' | 'primary, get' | 'quorum'

export interface CurrencySettings {
  readonly engine: CurrencyEngine
  readonly kind: CurrencyKind
  /** The first is the primary, if there is one. */
  readonly nodes: readonly string[]
  /** The node that says what was there before a read began: the primary, near. */
  readonly truth: string
  readonly reads: number
  readonly seed: number
}

export interface ReadTotals {
  /** How many nodes were asked for a value. */
  readonly nodeReads: number
  /** How many of those values were older than the latest; 0 where nothing is compared. */
  readonly behind: number
}

export interface Versioned {
  readonly version: number
}

export interface CurrencyTarget {
  /** The number of objects. */
  readonly keys: number
  /** Returns the last version written. Without it, the primary is asked. */
  latest?(key: string): Promise<number>
  beforeRound?(): Promise<void>
  get(key: string): Promise<Versioned | undefined>
  /** Totals since the target was opened. */
  totals(): ReadTotals
}

export const KEYS = 1000
export const BUCKET = 'bench/currency'

export function keyOf(i: number): string {
  return `${BUCKET}/${i}`
}

/** A store that may have replicas: the store itself counts which nodes were asked. */
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
