/**
 * An engine over a database that any number of servers use at once. No server keeps deciding state in memory: positions,
 * versions, the log, the clock and the record of operations are in the database, and change in one transaction.
 *
 * Why positions are in the order of commits: each writing transaction locks the one row of `head` before it reads anything,
 * and takes its positions from it. So transactions follow each other, and a reader who sees a position sees all commits
 * before it.
 */
import { AHEAD_MS_MAX } from '@freshet/core/counters'
import {
  type BucketChange,
  type Commit,
  type CommitResult,
  indexesIn,
  type Key,
  type MaybePromise,
  type OperationCounts,
  type Position,
  type ReadCount,
  type StoredValue,
  type StoreSupports,
} from '@freshet/core/store'
import { FleetClock, LEASE_MS } from '../clock/fleet-clock.js'
import { monotonicMs } from '../clock/store-clock.js'
import type { Attachment } from '../engine/attachment.js'
import { CommitListeners } from '../engine/commit-listeners.js'
import type { Engine, LogBegin, LogPart, Subject, View } from '../engine/engine.js'
import { type RetryingOptions, retrying } from '../engine/retrying.js'
import { UnderWay } from '../engine/under-way.js'
import { RemoteReads, type RemoteReplica } from '../reads/remote-reads.js'
import { CommitQueue, type Taken } from './commit-queue.js'
import type { Database } from './database.js'
import { IndexUpkeep } from './index-upkeep.js'

const TICK_MS = LEASE_MS / 4
/** How often, in ticks, the engine checks whether an index was left unfinished. */
const UPKEEP_TICKS = 40

export interface DatabaseEngineOptions {
  readonly database: Database
  readonly supports: StoreSupports
  readonly attachment: Attachment
  /** How long to wait for a database that does not answer. */
  readonly waitMsMax: number
  /** Replicas that may answer reads. */
  readonly standbys: readonly RemoteReplica[]
  readonly onWarning: (text: string) => void
}

export class DatabaseEngine implements Engine {
  readonly place: string
  readonly supports: StoreSupports
  readonly hasLeases = true
  readonly listeners: CommitListeners = new CommitListeners()
  readonly #database: Database
  readonly #attachment: Attachment
  readonly #clock: FleetClock
  readonly #patience: RetryingOptions
  readonly #queue: CommitQueue
  readonly #reads: RemoteReads
  readonly #upkeep: IndexUpkeep
  readonly #underWay = new UnderWay()
  readonly #ticks: NodeJS.Timeout
  #ticked = 0
  #isTicking = false
  #heard: Position = 0
  #asking: Promise<Position> | undefined
  #isStopped = false

  /** Resolves when the database has reported the time. */
  static async open(options: DatabaseEngineOptions): Promise<DatabaseEngine> {
    const { database, waitMsMax } = options
    const clock = new FleetClock(monotonicMs)
    const sentMs = clock.monotonicMs
    const { timeMs } = await retrying({ place: database.place, waitMsMax }, () => database.tick(0))
    clock.learn(timeMs, { sentMs, receivedMs: clock.monotonicMs })
    return new DatabaseEngine(options, clock)
  }

  private constructor(options: DatabaseEngineOptions, clock: FleetClock) {
    const { database, supports, attachment, waitMsMax, standbys, onWarning } = options
    this.place = database.place
    this.supports = supports
    this.#attachment = attachment
    this.#database = database
    this.#clock = clock
    this.#patience = { place: database.place, waitMsMax }
    const { retentionMs } = supports
    const onCommitted = (position: Position) => this.hear(position)
    this.#queue = new CommitQueue({ database, clock, retentionMs, waitMsMax, onCommitted })
    this.#reads = new RemoteReads({
      primary: {
        latest: (keys, atLeast) => this.#latest(keys, atLeast),
        inOneState: (subject, read) => this.#readPrimary(subject, read),
      },
      replicas: standbys,
      position: () => this.position(),
      changes: (after, limit) => this.#readLog(after, limit),
      onWarning,
    })
    this.#upkeep = new IndexUpkeep({ database, queue: this.#queue, clock })
    this.#upkeep.wake()
    this.#ticks = setInterval(() => this.#tick(), TICK_MS).unref()
  }

  get log(): string {
    return this.#attachment.log
  }

  get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    return this.#reads.get(key, atLeast)
  }

  inOneState<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result> {
    return this.#reads.inOneState(subject, read)
  }

  buckets(): Promise<BucketChange[]> {
    return this.#database.buckets()
  }

  isTable(bucket: Key): Promise<boolean> {
    return this.#database.isTable(bucket)
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const result = await this.#queue.commit(commit)
    if (result.committed && commit.writes.some(write => indexesIn(write) !== undefined)) this.#upkeep.wake()
    return result
  }

  async forgetOperations(): Promise<void> {
    const foreignMs = this.#clock.nowMs() - this.supports.retentionMs
    await this.#database.forgetOperations({ clientsMs: foreignMs - AHEAD_MS_MAX, foreignMs })
  }

  async operationCounts(): Promise<OperationCounts> {
    const counts = await this.#database.countOperations()
    return { ...counts, memoryBytes: 0, mode: 'exact', falsePositiveRate: 0 }
  }

  /** All calls in one turn share one query: a server calls this for each read. */
  position(): Promise<Position> {
    this.#asking ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#asking = undefined
        this.#underWay.during(this.#reached()).then(position => {
          this.#learn(position)
          resolve(position)
        }, reject)
      })
    })
    return this.#asking
  }

  readCounts(): readonly ReadCount[] {
    return this.#reads.counts()
  }

  changes(after: Position, limit: number): Promise<LogPart> {
    return this.#reads.changes(after, limit)
  }

  begin(): Promise<LogBegin> {
    return this.#database.head()
  }

  trim(upTo: Position): Promise<void> {
    return this.#database.trim(upTo)
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  remember(name: string, value: Uint8Array): Promise<void> {
    return this.#database.remember(name, value)
  }

  recall(name: string): Promise<Uint8Array | undefined> {
    return this.#database.recall(name)
  }

  hold(name: string, holder: string, ms: number): Promise<boolean> {
    return this.#database.hold(name, holder, ms)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#ticks)
    await this.#upkeep.stop()
    await this.#queue.idle()
  }

  async close(): Promise<void> {
    await this.#underWay.settled()
    await this.#reads.close()
    await this.#database.close()
  }

  /** Other programs may have changed tables that are buckets. */
  look(): void {
    // If the database is gone, the next read reports it.
    if (!this.#isStopped) this.position().catch(() => {})
  }

  /** Takes one part of the rows that were there before a table became a bucket. */
  takeBackfill(): Promise<Taken> {
    return retrying(this.#patience, () => this.#queue.takeBackfill())
  }

  /**
   * The connection was made again, and positions continue from the time of day: the database may be a different one, without
   * the last moments.
   */
  startOver(): void {
    this.#reads.replicas.startOver()
  }

  /** A server has committed. */
  hear(position: Position): void {
    if (position <= this.#heard) return
    this.#heard = position
    this.#learn(position)
    this.listeners.notifySoon(position)
  }

  #learn(position: Position): void {
    this.#attachment.learn(position)
    this.#reads.replicas.tell(position)
  }

  #tick(): void {
    if (++this.#ticked % UPKEEP_TICKS === 0) {
      this.#upkeep.wake()
      if (this.#database.sharesTables) this.#finishBackfill().catch(() => {})
    }
    // Commits set the time as well.
    if (this.#isTicking || this.#clock.silentMs < TICK_MS / 2) return
    this.#isTicking = true
    // While the database is gone the clock stands still, and the next read or commit reports it.
    this.#queue
      .between(() => this.#setTime())
      .catch(() => {})
      .finally(() => {
        this.#isTicking = false
      })
  }

  /** Adding a table may have been interrupted. */
  async #finishBackfill(): Promise<void> {
    while (!this.#isStopped && (await this.takeBackfill()).isFull);
  }

  async #setTime(): Promise<void> {
    const sentMs = this.#clock.monotonicMs
    const { known } = this.#attachment
    const { timeMs, position } = await this.#database.tick(this.#clock.nowMs())
    if (position < known.position) this.#attachment.doubt()
    this.#clock.learn(timeMs, { sentMs, receivedMs: this.#clock.monotonicMs })
    this.hear(position)
  }

  async #reached(): Promise<Position> {
    const { position, isPending } = await this.#database.head()
    if (!isPending) return position
    return (await retrying(this.#patience, () => this.#queue.takeIncoming())).position
  }

  async #readLog(after: Position, limit: number): Promise<LogPart> {
    const part = await this.#database.changes(after, limit)
    const newest = part.entries.at(-1)
    this.#attachment.learn(newest?.position ?? 0)
    this.#clock.isAtLeast(newest?.timeMs ?? 0)
    return part
  }

  async #latest(
    keys: readonly Key[],
    atLeast: Position | undefined,
  ): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>> {
    // What other programs have written to tables that are buckets comes first.
    if (atLeast === undefined && this.#database.sharesTables) await this.position()
    const values = await this.#database.latest(keys)
    for (const value of values.values()) if (value && 'version' in value) this.#attachment.learn(value.version)
    return values
  }

  async #readPrimary<Result extends { readonly position: Position }>(
    { isOneRead }: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result> {
    if (this.#database.sharesTables) await this.position()
    const result = await (isOneRead ? read(this.#database.view) : this.#database.inOneState(read))
    this.#attachment.learn(result.position)
    return result
  }
}
