/**
 * The engine of an embedded store, in the one process that writes to it. Any number of processes may read the same folder
 * beside it (`lmdb-reader-engine.ts`, `serve-readers.ts`).
 *
 * Its guarantees, beyond the contract of an Engine:
 * - One writer. Opening draws a new epoch; every transaction checks that the epoch is still its own.
 * - No position twice. Opening continues from the time of day (`positionAtTime`), so that no position that was ever shown is
 *   given again: neither if the machine lost its last moments in a power failure (a disk that lies about flushing), nor if
 *   this is a new store in the place of another, or an old one restored from a backup. If that clock is behind, it skips two
 *   batches.
 * - Another log after the store was restored from a backup (`store-place.ts`): sessions start over.
 * - A clock that does not go back. Each batch stores it, and an idle store every ten seconds; opening continues from there.
 *   So after a crash it may repeat up to ten seconds that are in no log entry.
 */
import { randomBytes } from 'node:crypto'
import type { CompactOptions } from '@freshet/core/counters'
import {
  type Commit,
  type CommitResult,
  Holders,
  indexesIn,
  type Key,
  type OperationCounts,
  type Position,
  type StoreSupports,
  type Write,
} from '@freshet/core/store'
import { monotonicMs, StoreClock } from '@freshet/store/clock'
import type { Engine } from '@freshet/store/engine'
import type { Batch } from './batch.js'
import type { Opening } from './begin-epoch.js'
import { DurableMark } from './durable-mark.js'
import type { Environment } from './environment.js'
import { GroupCommit } from './group-commit.js'
import { IndexBuilder } from './indexes/index-builder.js'
import { storeClosed, storeDamaged } from './lmdb-errors.js'
import { LmdbReads } from './lmdb-reads.js'
import { countOperations, DoneOperations } from './operations/done-operations.js'
import { writeLastReached, writeReached } from './store-place.js'
import type { WriterLock } from './writer-lock.js'

const CHECKPOINT_MS = 10_000
const RELAXED_FLUSH_MS = 1000

export interface LmdbEngineOptions extends Opening {
  readonly path: string
  readonly supports: StoreSupports
  readonly environment: Environment
  readonly compact: CompactOptions | undefined
  readonly damagedKeys: readonly Key[]
  /** The engine releases it when it is closed. */
  readonly lock: WriterLock
}

export interface DurabilityObserver {
  onDurable(position: Position): void
  onFailed(error: unknown): void
}

export class LmdbEngine extends LmdbReads implements Engine {
  readonly supports: StoreSupports
  readonly hasLeases = true
  /** For readers in other processes. */
  readonly clock: StoreClock
  /** The keys whose records were found damaged when the store was opened: reading them throws STORE_DAMAGED. */
  readonly damagedKeys: readonly Key[]
  readonly #lock: WriterLock
  readonly #operations: DoneOperations
  readonly #groupCommit: GroupCommit
  readonly #builder: IndexBuilder
  readonly #holders = new Holders()
  readonly #observers = new Set<DurabilityObserver>()
  readonly #checkpoints: NodeJS.Timeout
  readonly #flushes: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined
  #noting: Promise<void> = Promise.resolve()

  constructor({ path, supports, lock, environment, compact, damagedKeys, head, log }: LmdbEngineOptions) {
    super({ path, environment, log, mark: new DurableMark(head.position), isShared: false })
    this.supports = supports
    this.damagedKeys = damagedKeys
    this.clock = new StoreClock({ baseMs: head.timeMs, originMs: monotonicMs() })
    this.#lock = lock
    const seed = randomBytes(8).readBigUInt64BE()
    this.#operations = new DoneOperations({ tables: environment, retentionMs: supports.retentionMs, seed, compact })
    this.#groupCommit = new GroupCommit({
      path,
      environment,
      epoch: head.epoch,
      mark: this.mark,
      nowMs: () => this.clock.nowMs(),
      operations: this.#operations,
      onDurable: position => this.#onDurable(position),
      onFailed: error => this.#onFailed(error),
    })
    this.#builder = new IndexBuilder({ environment, submit: plan => this.#groupCommit.submit(plan) })
    this.#builder.wake()
    this.#checkpoints = setInterval(() => this.#checkpoint(), CHECKPOINT_MS).unref()
    if (this.#isRelaxed) this.#flushes = setInterval(() => this.#flush(), RELAXED_FLUSH_MS).unref()
  }

  commit(commit: Commit): Promise<CommitResult> {
    const committing = this.#groupCommit.submit(planCommit, commit)
    if (commit.writes.some(declaresIndexes)) {
      // The caller gets the error of a failed commit; then there is nothing to build.
      committing.then(
        () => this.#builder.wake(),
        () => {},
      )
    }
    return committing
  }

  async forgetOperations(): Promise<void> {
    let after: string | undefined
    do {
      const from = after
      after = await this.#groupCommit.submit(batch => batch.forgetOperations(from))
    } while (after !== undefined)
  }

  operationCounts(): OperationCounts {
    const tables = countOperations(this.environment)
    const more = this.#operations.counts()
    return {
      ...more,
      clients: tables.clients + more.clients,
      foreign: tables.foreign + more.foreign,
      diskBytes: tables.diskBytes,
    }
  }

  async trim(upTo: Position): Promise<void> {
    while (!(await this.#groupCommit.submit(batch => batch.trim(upTo))));
  }

  nowMs(): number {
    return this.clock.nowMs()
  }

  remember(name: string, value: Uint8Array): Promise<void> {
    return this.#groupCommit.submit(batch => batch.remember(name, value))
  }

  hold(name: string, holder: string, ms: number): boolean {
    return this.#holders.hold(name, holder, ms, this.clock.nowMs())
  }

  get durablePosition(): Position {
    return this.mark.position
  }

  /** Calls the observer at once, and in order, when something becomes durable. Returns a function that stops it. */
  observe(observer: DurabilityObserver): () => void {
    this.#observers.add(observer)
    return () => this.#observers.delete(observer)
  }

  /** Frees the states that killed readers held; otherwise the file would grow. Returns how many such readers there were. */
  forgetDeadReaders(): number {
    return this.environment.readerCheck()
  }

  async stop(): Promise<void> {
    clearInterval(this.#checkpoints)
    clearInterval(this.#flushes)
    await this.#builder.stop()
    await this.#groupCommit.idle()
  }

  async close(): Promise<void> {
    this.#checkpoint()
    await this.#groupCommit.idle()
    if (this.#isRelaxed) await this.#endRelaxed()
    for (const observer of this.#observers) observer.onFailed(storeClosed(this.place))
    this.#observers.clear()
    await this.#noting
    await this.environment.close()
    await writeLastReached(this.place, this.#logPlace).catch(() => {})
    await this.#lock.release()
  }

  get #isRelaxed(): boolean {
    return this.supports.durability === 'relaxed'
  }

  get #logPlace(): { readonly log: string; readonly position: Position } {
    return { log: this.log, position: this.mark.position }
  }

  #onDurable(position: Position): void {
    for (const observer of this.#observers) observer.onDurable(position)
    this.listeners.notifySoon(position)
  }

  #onFailed(error: unknown): void {
    clearInterval(this.#checkpoints)
    for (const observer of this.#observers) observer.onFailed(error)
  }

  #checkpoint(): void {
    // All present and later commits get the error of a failure; a checkpoint has no caller to report it to.
    this.#groupCommit.submit(batch => batch.checkpoint()).catch(() => {})
    this.#noteReached()
    this.#builder.retry()
  }

  /** One write after another. If one fails, for example on a full disk, the next may succeed. */
  #noteReached(): void {
    const place = this.#logPlace
    this.#noting = this.#noting.then(() => writeReached(this.place, place)).catch(() => {})
  }

  #flush(): void {
    this.#flushing ??= this.environment
      .flush()
      .catch(error => this.#groupCommit.fail(storeDamaged(this.place, 'the disk refused a flush', error)))
      .finally(() => {
        this.#flushing = undefined
      })
  }

  /** Everything is on disk before a record says so. */
  async #endRelaxed(): Promise<void> {
    await this.#flushing
    await this.environment.flush()
    // If the store has failed, the mark of relaxed mode remains, and the next process that opens it finds it.
    await this.#groupCommit.submit(batch => batch.endRelaxed()).catch(() => {})
    await this.environment.flush()
  }
}

function declaresIndexes(write: Write): boolean {
  return indexesIn(write) !== undefined
}

function planCommit(batch: Batch, commit: Commit): CommitResult {
  return batch.commit(commit)
}
