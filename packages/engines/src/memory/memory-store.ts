/** A store in memory. */
import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import { checkPosition, type Position, positionAtTime, type Store } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import { MemoryEngine } from './memory-engine.js'

export interface MemoryStoreOptions {
  /** A clock that never goes back; the process's own by default. */
  readonly nowMs?: () => number
  /** Its positions are greater than this one; by default, than that of the time of day. */
  readonly positionsAfter?: Position
  /** How many entries a query may examine for one page; 10,000 by default. */
  readonly scanMax?: number
  /** How long operations are remembered; a day by default. */
  readonly retentionMs?: number
}

export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { nowMs = () => performance.now(), positionsAfter = positionAtTime(Date.now()) } = options
  const { scanMax = SCAN_MAX_DEFAULT, retentionMs = RETENTION_MS_DEFAULT } = options
  checkPosition('positionsAfter', positionsAfter)
  const engine = new MemoryEngine({ clock: nowMs, start: positionsAfter, retentionMs })
  return new EngineStore({ engine, scanMax })
}
