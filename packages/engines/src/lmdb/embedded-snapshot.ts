/** Opens one state of an embedded store for reading, even while a server is writing to it. */
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import type { Store } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import { checkDataFile, checkHeader } from './data-file.js'
import { type Environment, openEnvironment } from './environment.js'
import { storeUnusable } from './lmdb-errors.js'
import { LmdbSnapshotEngine } from './lmdb-snapshot-engine.js'
import { checkFormat, openingFailed, requireStore } from './store-folder.js'
import { isLocked } from './writer-lock.js'

/** The part of a Store that can be read. */
export interface StoreState
  extends Pick<
    Store,
    'log' | 'buckets' | 'get' | 'getMany' | 'scan' | 'indexes' | 'position' | 'changes' | 'trimmedTo' | 'close'
  > {
  /** Only on a snapshot: takes the latest state. No read may be under way. */
  renew?(): void
}

export class EmbeddedSnapshot extends EngineStore<LmdbSnapshotEngine> implements StoreState {
  renew(): void {
    this.engine.renew()
  }
}

/** Opens no writer, and takes no lock. Throws STORE_UNUSABLE if there is no store, STORE_DAMAGED if it is damaged. */
export async function openEmbeddedSnapshot(path: string): Promise<EmbeddedSnapshot> {
  await requireStore(path)
  if (await isLocked(path)) checkHeader(path)
  else await checkDataFile(path)
  let environment: Environment | undefined
  try {
    environment = await openEnvironment({ path, mode: 'reading', inspect: meta => checkFormat(path, meta) })
    const log = environment.meta.get('log')?.toString()
    if (log === undefined) throw storeUnusable(path, 'its creation was interrupted, so it is empty')
    return new EmbeddedSnapshot({ engine: new LmdbSnapshotEngine(path, environment, log), scanMax: SCAN_MAX_DEFAULT })
  } catch (error) {
    await environment?.close()
    throw openingFailed(path, error)
  }
}
