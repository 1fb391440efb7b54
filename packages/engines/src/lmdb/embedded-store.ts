/** Opens a store in a folder of this machine, over LMDB, for the one process that writes to it. */
import { type CompactOptions, RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import { checkPosition, type Position, positionAtTime } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import { beginEpoch, noteOpening } from './begin-epoch.js'
import { checkDataFile } from './data-file.js'
import { type Environment, openEnvironment } from './environment.js'
import { LmdbEngine } from './lmdb-engine.js'
import { checkFormat, flushFolder, openingFailed, prepareFolder } from './store-folder.js'
import { readFound, readPlace, writeReached } from './store-place.js'
import { takeWriterLock } from './writer-lock.js'

export interface EmbeddedStoreOptions {
  /** A folder of its own; created if it does not exist. */
  readonly path: string
  /**
   * 'disk' by default: a commit is on disk before it is acknowledged. 'relaxed' flushes once a second: several times faster,
   * and safe if the process is killed; but if the machine goes down, the whole store may be lost, and it will refuse to open.
   * For tests, imports, and data that you can create again.
   */
  readonly durability?: 'disk' | 'relaxed'
  /** The store gives positions beyond this one; by default, beyond the position of the time of day. */
  readonly positionsAfter?: Position
  /** How many entries a query may examine for one page; 10,000 by default. */
  readonly scanMax?: number
  /** How long operations are remembered, and accepted after they were made; a day by default. */
  readonly retentionMs?: number
  /**
   * If given, the store remembers only hashes of operations whose ids other programs made: 8 bytes on disk each, but their
   * first results cannot be returned again, and a few new ones are refused. Operations of our own clients are remembered in
   * full.
   */
  readonly compact?: CompactOptions
}

export type EmbeddedStore = EngineStore<LmdbEngine>

/**
 * Throws STORE_LOCKED if a living process has it open, STORE_UNUSABLE if the folder cannot be used for a store, STORE_DAMAGED
 * if its data cannot be read.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { path, durability = 'disk', positionsAfter = positionAtTime(Date.now()) } = options
  const { scanMax = SCAN_MAX_DEFAULT, retentionMs = RETENTION_MS_DEFAULT, compact } = options
  checkPosition('positionsAfter', positionsAfter)
  await prepareFolder(path)
  const lock = await takeWriterLock(path)
  let environment: Environment | undefined
  try {
    const found = await readFound(path)
    await noteOpening(path, found)
    const damagedKeys = await checkDataFile(path)
    const mode = durability === 'disk' ? 'flushing' : 'relaxed'
    environment = await openEnvironment({ path, mode, inspect: meta => checkFormat(path, meta) })
    const place = await readPlace(path)
    const opening = await beginEpoch(environment, durability, positionsAfter, { ...found, place })
    await writeReached(path, { log: opening.log, position: opening.head.position })
    await flushFolder(path)
    const supports = { durability, retentionMs }
    const engine = new LmdbEngine({ path, supports, lock, environment, compact, damagedKeys, ...opening })
    return new EngineStore({ engine, scanMax })
  } catch (error) {
    await environment?.close()
    await lock.release()
    throw openingFailed(path, error)
  }
}
