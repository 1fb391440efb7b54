/**
 * A store in a folder of this machine, over LMDB. One process writes; any number may read the same folder beside it
 * (`embedded-reader.ts`, `serve-readers.ts`).
 *
 * What it keeps, beyond the contract of a Store:
 * - One writer. Opening draws a new epoch; every transaction checks that the epoch is still its own.
 * - No position twice. Opening goes on from the time of day (`positionAtTime`), so that none that was ever shown is given
 *   again: not if the machine lost its last moments with its power (a disk that lies about flushing), nor if this is a new
 *   store where another one was, or an old one put back from a backup. If that clock is behind, it skips two batches.
 * - Another log when it was copied back from a backup (`store-place.ts`): sessions start over.
 * - A clock that does not go back. Each batch stores it, and an idle store every ten seconds; opening goes on from there.
 *   After a crash it may so repeat up to ten seconds that are in no log entry.
 */
import { randomBytes } from 'node:crypto'
import { type CompactOptions, RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import {
  type BucketChange,
  type Commit,
  type CommitResult,
  checkCommit,
  checkPosition,
  Holders,
  type IndexState,
  indexesIn,
  type Key,
  type LogEntry,
  type MaybePromise,
  type OperationCounts,
  type Position,
  positionAtTime,
  type Query,
  type QueryPage,
  type QueryVersion,
  type ScanPage,
  type ScanRange,
  type Snapshot,
  type Store,
  type StoredValue,
  type StoreSupports,
  type Write,
} from '@freshet/core/store'
import { CommitGate } from '../leasing/commit-gate.js'
import type { Batch } from './batch.js'
import { beginEpoch, noteOpening, type Opening } from './begin-epoch.js'
import { CommitListeners } from './commit-listeners.js'
import { checkDataFile } from './data-file.js'
import { DurableMark } from './durable-mark.js'
import { type Engine, openEngine } from './engine.js'
import { storeClosed, storeDamaged } from './engine-errors.js'
import { GroupCommit } from './group-commit.js'
import { IndexBuilder } from './indexes/index-builder.js'
import { DoneOperations } from './operations/done-operations.js'
import { Reads } from './reads.js'
import { checkStorable } from './records.js'
import { monotonicMs, StoreClock } from './store-clock.js'
import { checkFormat, flushFolder, openingFailed, prepareFolder } from './store-folder.js'
import { readFound, readPlace, writeLastReached, writeReached } from './store-place.js'
import { takeWriterLock, type WriterLock } from './writer-lock.js'

const CHECKPOINT_MS = 10_000
const RELAXED_FLUSH_MS = 1000

export interface EmbeddedStoreOptions {
  /** A folder of its own; created if it is not there. */
  readonly path: string
  /**
   * 'disk' unless given: a commit is on disk before it is acknowledged. 'relaxed' flushes once a second: several times
   * faster, and safe when the process is killed; but if the machine goes down, all of the store may be lost, and it will
   * refuse to open. For tests, imports, and what you can make again.
   */
  readonly durability?: 'disk' | 'relaxed'
  /** The positions it gives from now on are beyond this one; that of the time of day unless given. */
  readonly positionsAfter?: Position
  /** So many entries a query may look at for one page; 10,000 unless given. */
  readonly scanMax?: number
  /** So long operations are remembered, and taken after they were made; a day unless given. */
  readonly retentionMs?: number
  /**
   * If given, of operations whose ids others made only hashes are remembered: 8 bytes on disk for each, but their first
   * answers cannot be given again, and a few that are new are refused. Those of our clients are remembered in full.
   */
  readonly compact?: CompactOptions
}

/**
 * Throws STORE_LOCKED if a living process has it open, STORE_UNUSABLE if the folder is none for a store, STORE_DAMAGED
 * if what is in it cannot be read.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { path, durability = 'disk', positionsAfter = positionAtTime(Date.now()) } = options
  const { scanMax = SCAN_MAX_DEFAULT, retentionMs = RETENTION_MS_DEFAULT, compact } = options
  checkPosition('positionsAfter', positionsAfter)
  await prepareFolder(path)
  const lock = await takeWriterLock(path)
  let engine: Engine | undefined
  try {
    const found = await readFound(path)
    await noteOpening(path, found)
    const damagedKeys = await checkDataFile(path)
    const mode = durability === 'disk' ? 'flushing' : 'relaxed'
    engine = await openEngine({ path, mode, inspect: meta => checkFormat(path, meta) })
    const opening = await beginEpoch(engine, durability, positionsAfter, { ...found, place: await readPlace(path) })
    await writeReached(path, { log: opening.log, position: opening.head.position })
    await flushFolder(path)
    return new EmbeddedStore({
      path,
      durability,
      lock,
      engine,
      scanMax,
      retentionMs,
      compact,
      damagedKeys,
      ...opening,
    })
  } catch (error) {
    await engine?.close()
    await lock.release()
    throw openingFailed(path, error)
  }
}

interface EmbeddedStoreParts extends Opening {
  readonly path: string
  readonly durability: 'disk' | 'relaxed'
  readonly lock: WriterLock
  readonly engine: Engine
  readonly scanMax: number
  readonly retentionMs: number
  readonly compact: CompactOptions | undefined
  readonly damagedKeys: readonly Key[]
}

export class EmbeddedStore implements Store {
  readonly supports: StoreSupports
  readonly durability: 'disk' | 'relaxed'
  readonly log: string
  /** For readers in other processes. */
  readonly clock: StoreClock
  readonly path: string
  /** Those whose records were found damaged when the store was opened: to read them throws STORE_DAMAGED. */
  readonly damagedKeys: readonly Key[]
  readonly #lock: WriterLock
  readonly #engine: Engine
  readonly #mark: DurableMark
  readonly #reads: Reads
  readonly #operations: DoneOperations
  readonly #groupCommit: GroupCommit
  readonly #builder: IndexBuilder
  readonly #listeners = new CommitListeners()
  readonly #holders = new Holders()
  readonly #gate = new CommitGate()
  readonly #trims = new Set<Promise<void>>()
  readonly #attached = new Set<EmbeddedStoreObserver>()
  readonly #checkpoints: NodeJS.Timeout
  readonly #flushes: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined
  #noting: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  /** Use `openEmbeddedStore`. */
  constructor(parts: EmbeddedStoreParts) {
    const { path, durability, lock, engine, scanMax, retentionMs, compact, head, log } = parts
    this.supports = { durability, multiKeyCommits: true, queries: true, retentionMs }
    this.durability = durability
    this.log = log
    this.path = path
    this.damagedKeys = parts.damagedKeys
    this.clock = new StoreClock({ baseMs: head.timeMs, originMs: monotonicMs() })
    this.#lock = lock
    this.#engine = engine
    this.#mark = new DurableMark(head.position)
    const seed = randomBytes(8).readBigUInt64BE()
    this.#operations = new DoneOperations({ tables: engine, retentionMs, seed, compact })
    this.#reads = new Reads({ path, engine, mark: this.#mark, isShared: false, scanMax })
    this.#groupCommit = new GroupCommit({
      path,
      engine,
      epoch: head.epoch,
      mark: this.#mark,
      nowMs: () => this.clock.nowMs(),
      operations: this.#operations,
      onDurable: position => this.#onDurable(position),
      onFailed: error => this.#onFailed(error),
    })
    this.#builder = new IndexBuilder({ engine, submit: plan => this.#groupCommit.submit(plan) })
    this.#builder.wake()
    this.#checkpoints = setInterval(() => this.#checkpoint(), CHECKPOINT_MS).unref()
    if (durability === 'relaxed') this.#flushes = setInterval(() => this.#flush(), RELAXED_FLUSH_MS).unref()
  }

  get(key: Key): MaybePromise<StoredValue | undefined> {
    this.#checkOpen()
    return this.#reads.get(key)
  }

  async getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    this.#checkOpen()
    return this.#reads.getMany(keys)
  }

  async scan(bucket: Key, range?: ScanRange): Promise<ScanPage> {
    this.#checkOpen()
    return this.#reads.scan(bucket, range)
  }

  async query(bucket: Key, query: Query): Promise<QueryPage> {
    this.#checkOpen()
    return this.#reads.query(bucket, query)
  }

  async queryVersion(bucket: Key, query: Query): Promise<QueryVersion> {
    this.#checkOpen()
    return this.#reads.queryVersion(bucket, query)
  }

  async indexes(bucket: Key): Promise<readonly IndexState[]> {
    this.#checkOpen()
    return this.#reads.indexes(bucket)
  }

  async buckets(): Promise<readonly BucketChange[]> {
    this.#checkOpen()
    return this.#reads.buckets()
  }

  commit(commit: Commit): Promise<CommitResult> {
    // Not an async function: each costs a turn of promises, and this is the path that all commits take.
    try {
      checkCommit(commit)
      checkStorable(commit)
      return this.commitChecked(commit)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** A commit that was checked elsewhere. Throws if the store is closed. */
  commitChecked(commit: Commit): Promise<CommitResult> {
    const committing = this.#gate.isOpenTo(commit)
      ? this.#submit(commit)
      : this.#gate.pass(commit, () => this.#submit(commit))
    if (commit.writes.some(declaresIndexes)) {
      // Who commits hears of a failure; here is nothing to build then.
      committing.then(
        () => this.#builder.wake(),
        () => {},
      )
    }
    return committing
  }

  async forgetOperations(): Promise<void> {
    this.#checkOpen()
    let after: string | undefined
    do {
      const from = after
      after = await this.#groupCommit.submit(batch => batch.forgetOperations(from))
    } while (after !== undefined)
  }

  operationCounts(): OperationCounts {
    this.#checkOpen()
    const tables = this.#reads.countOperations()
    const more = this.#operations.counts()
    return {
      ...more,
      clients: tables.clients + more.clients,
      foreign: tables.foreign + more.foreign,
      diskBytes: tables.diskBytes,
    }
  }

  position(): MaybePromise<Position> {
    this.#checkOpen()
    return this.#reads.position()
  }

  changes(after: Position, limit?: number): MaybePromise<readonly LogEntry[]> {
    this.#checkOpen()
    return this.#reads.changes(after, limit)
  }

  trimmedTo(): Position {
    this.#checkOpen()
    return this.#reads.trimmedTo()
  }

  async trim(upTo: Position): Promise<void> {
    this.#checkOpen()
    checkPosition('upTo', upTo)
    const trimming = this.#trimStepByStep(upTo)
    this.#trims.add(trimming)
    return trimming.finally(() => this.#trims.delete(trimming))
  }

  nowMs(): number {
    this.#checkOpen()
    return this.clock.nowMs()
  }

  onCommit(listener: (position: Position) => void): () => void {
    this.#checkOpen()
    return this.#listeners.add(listener)
  }

  hold(name: string, holder: string, ms: number): boolean {
    this.#checkOpen()
    return this.#holders.hold(name, holder, ms, this.clock.nowMs())
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    this.#checkOpen()
    const copy = value.slice()
    await this.#groupCommit.submit(batch => batch.remember(name, copy))
  }

  recall(name: string): Uint8Array | undefined {
    this.#checkOpen()
    return this.#reads.recall(name)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  get isOpen(): boolean {
    return this.#closing === undefined
  }

  get durablePosition(): Position {
    return this.#mark.position
  }

  /** Tells an observer, at once and in order, what becomes durable. Returns the way to stop it. */
  observe(observer: EmbeddedStoreObserver): () => void {
    this.#checkOpen()
    this.#attached.add(observer)
    return () => this.#attached.delete(observer)
  }

  /** Frees what readers that were killed had held on to; else the file would grow. Returns how many there were. */
  forgetDeadReaders(): number {
    return this.#closing ? 0 : this.#engine.readerCheck()
  }

  #submit(commit: Commit): Promise<CommitResult> {
    this.#checkOpen()
    return this.#groupCommit.submit(planCommit, commit)
  }

  async #trimStepByStep(upTo: Position): Promise<void> {
    while (!(await this.#groupCommit.submit(batch => batch.trim(upTo))));
  }

  #onDurable(position: Position): void {
    for (const observer of this.#attached) observer.onDurable(position)
    this.#listeners.notifySoon(position)
  }

  #onFailed(error: unknown): void {
    clearInterval(this.#checkpoints)
    for (const observer of this.#attached) observer.onFailed(error)
  }

  #checkpoint(): void {
    // A failure reaches everybody who waits or comes later; here is nobody to tell.
    this.#groupCommit.submit(batch => batch.checkpoint()).catch(() => {})
    this.#noteReached()
    this.#builder.retry()
  }

  /** One after the other. Where it cannot be written, as on a full disk, the next one may be. */
  #noteReached(): void {
    const place = { log: this.log, position: this.#mark.position }
    this.#noting = this.#noting.then(() => writeReached(this.path, place)).catch(() => {})
  }

  async #close(): Promise<void> {
    clearInterval(this.#checkpoints)
    clearInterval(this.#flushes)
    this.#gate.close()
    await Promise.allSettled(this.#trims)
    await this.#builder.stop()
    this.#checkpoint()
    await this.#groupCommit.idle()
    await this.#reads.idle()
    if (this.durability === 'relaxed') await this.#endRelaxed()
    this.#listeners.clear()
    for (const observer of this.#attached) observer.onFailed(storeClosed(this.path))
    this.#attached.clear()
    await this.#noting
    await this.#engine.close()
    await writeLastReached(this.path, { log: this.log, position: this.#mark.position }).catch(() => {})
    await this.#lock.release()
  }

  #flush(): void {
    this.#flushing ??= this.#engine
      .flush()
      .catch(error => this.#groupCommit.fail(storeDamaged(this.path, 'the disk refused a flush', error)))
      .finally(() => {
        this.#flushing = undefined
      })
  }

  /** All is on disk first, and only then is it said so. */
  async #endRelaxed(): Promise<void> {
    await this.#flushing
    await this.#engine.flush()
    // If the store has failed, its mark stays, and the next to open it will see it.
    await this.#groupCommit.submit(batch => batch.endRelaxed()).catch(() => {})
    await this.#engine.flush()
  }

  #checkOpen(): void {
    if (this.#closing) throw storeClosed(this.path)
  }
}

function declaresIndexes(write: Write): boolean {
  return indexesIn(write) !== undefined
}

function planCommit(batch: Batch, commit: Commit): CommitResult {
  return batch.commit(commit)
}

export interface EmbeddedStoreObserver {
  onDurable(position: Position): void
  onFailed(error: unknown): void
}
