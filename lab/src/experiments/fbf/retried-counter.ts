/**
 * A counter whose clients retry. Every increment is sent once, some again within the retry window, and a filter decides
 * which arrivals are new. A retry taken for new is counted twice; a new increment taken for a retry is lost.
 */
import type { Random } from '../../harness/random.js'
import { INSERTED, numberedKey } from './numbered-key.js'

/** The paper's insert: returns whether the operation was new. */
export interface RetryFilter {
  insert(key: Uint8Array, nowMs: number): boolean
}

export interface RetryLoad {
  readonly operations: number
  readonly perSecond: number
  /** The share of operations that are sent a second time. */
  readonly retryShare: number
  /** Retries come after a time below this, uniformly distributed. */
  readonly windowMs: number
}

export interface Miscount {
  readonly operations: number
  /** Operations counted a second time. */
  readonly overCount: number
  /** Operations never counted. */
  readonly underCount: number
}

export function countWithRetries(filter: RetryFilter, load: RetryLoad, random: Random): Miscount {
  const counted = new Uint8Array(load.operations)
  for (const { id, atMs } of arrivals(load, random)) {
    if (filter.insert(numberedKey(INSERTED, id), atMs)) counted[id]!++
  }
  return {
    operations: load.operations,
    overCount: counted.reduce((sum, times) => sum + Math.max(0, times - 1), 0),
    underCount: counted.reduce((sum, times) => sum + (times === 0 ? 1 : 0), 0),
  }
}

export interface Arrival {
  readonly id: number
  readonly atMs: number
}

/** Sorted by time. */
export function arrivals({ operations, perSecond, retryShare, windowMs }: RetryLoad, random: Random): Arrival[] {
  const all: Arrival[] = []
  for (let id = 0; id < operations; id++) {
    const atMs = (id * 1000) / perSecond
    all.push({ id, atMs })
    if (random.float() < retryShare) all.push({ id, atMs: atMs + random.float() * windowMs })
  }
  return all.sort((a, b) => a.atMs - b.atMs)
}
