/**
 * One state of an embedded store, held: what backups and exports read while the server goes on beside them, in its own process.
 * LMDB keeps the pages of a state for as long as somebody reads it, so the store's file grows by what is written meanwhile;
 * `renew` lets go of the state and takes the latest.
 *
 * The latest commits of a state may not be on disk yet, and not be acknowledged. If the machine goes down in that moment, the
 * store has never had them, and what was read here did. Whoever goes on from a position must look whether the log still has it.
 */
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import type {
  BucketChange,
  IndexState,
  Key,
  LogEntry,
  MaybePromise,
  Position,
  ScanPage,
  ScanRange,
  Snapshot,
  Store,
  StoredValue,
} from '@freshet/core/store'
import { checkDataFile, checkHeader } from './data-file.js'
import { DurableMark } from './durable-mark.js'
import { type Engine, openEngine, type ReadTransaction } from './engine.js'
import { storeUnusable } from './engine-errors.js'
import { Reads } from './reads.js'
import { checkFormat, openingFailed, requireStore } from './store-folder.js'
import { isLocked } from './writer-lock.js'

/** What of a Store is to be read. */
export type StoreState = Pick<
  Store,
  'log' | 'buckets' | 'get' | 'getMany' | 'scan' | 'indexes' | 'position' | 'changes' | 'trimmedTo' | 'close'
>

/** Opens no writer, and takes no lock. Throws STORE_UNUSABLE if there is no store, STORE_DAMAGED. */
export async function openEmbeddedSnapshot(path: string): Promise<EmbeddedSnapshot> {
  await requireStore(path)
  if (await isLocked(path)) checkHeader(path)
  else await checkDataFile(path)
  let engine: Engine | undefined
  try {
    engine = await openEngine({ path, mode: 'reading', inspect: meta => checkFormat(path, meta) })
    const log = engine.meta.get('log')?.toString()
    if (log === undefined) throw storeUnusable(path, 'its creation was cut short, so there is nothing in it')
    return new EmbeddedSnapshot(path, engine, log)
  } catch (error) {
    await engine?.close()
    throw openingFailed(path, error)
  }
}

export class EmbeddedSnapshot implements StoreState {
  readonly log: string
  readonly #path: string
  readonly #engine: Engine
  #state: ReadTransaction
  #reads: Reads

  /** Use `openEmbeddedSnapshot`. */
  constructor(path: string, engine: Engine, log: string) {
    this.log = log
    this.#path = path
    this.#engine = engine
    this.#state = engine.useReadTransaction()
    this.#reads = this.#readsOf(this.#state)
  }

  /** From now on it is the state of this moment. No read may be under way. */
  renew(): void {
    this.#state.done()
    this.#engine.refresh()
    this.#state = this.#engine.useReadTransaction()
    this.#reads = this.#readsOf(this.#state)
  }

  get(key: Key): MaybePromise<StoredValue | undefined> {
    return this.#reads.get(key)
  }

  getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    return this.#reads.getMany(keys)
  }

  scan(bucket: Key, range?: ScanRange): Promise<ScanPage> {
    return this.#reads.scan(bucket, range)
  }

  indexes(bucket: Key): Promise<readonly IndexState[]> {
    return this.#reads.indexes(bucket)
  }

  buckets(): Promise<readonly BucketChange[]> {
    return this.#reads.buckets()
  }

  position(): Position {
    return this.#reads.head().position
  }

  changes(after: Position, limit?: number): MaybePromise<readonly LogEntry[]> {
    return this.#reads.changes(after, limit)
  }

  trimmedTo(): Position {
    return this.#reads.trimmedTo()
  }

  async close(): Promise<void> {
    await this.#reads.idle()
    this.#state.done()
    await this.#engine.close()
  }

  #readsOf(state: ReadTransaction): Reads {
    const mark = new DurableMark(Number.MAX_SAFE_INTEGER)
    return new Reads({
      path: this.#path,
      engine: this.#engine,
      mark,
      isShared: true,
      scanMax: SCAN_MAX_DEFAULT,
      state,
    })
  }
}
