/**
 * A store over a log, for any number of servers at once. `engine.ts` has how it commits and reads, docs/decisions/0012 the reasons.
 * It answers no queries.
 */
import { AHEAD_MS_MAX } from '@freshet/core/counters'
import {
  type BucketChange,
  CHANGES_LIMIT_DEFAULT,
  type Commit,
  type CommitResult,
  checkCommit,
  checkLimit,
  checkPosition,
  type IndexState,
  type Key,
  type LogEntry,
  type OperationCounts,
  type Position,
  type QueryPage,
  type QueryVersion,
  type ReadCount,
  type ScanPage,
  type ScanRange,
  type Snapshot,
  type Store,
  type StoredValue,
  type StoreNode,
  type StoreSupports,
} from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { CommitListeners } from '../embedded/commit-listeners.js'
import { checkStorable, isTooLong } from '../embedded/records.js'
import { CommitGate } from '../leasing/commit-gate.js'
import type { RedisClock } from '../redis/redis-clock.js'
import { CommitQueue } from '../sql/commit-queue.js'
import { readForeign, readWindow } from '../sql/operation-records.js'
import { retrying } from '../sql/retrying.js'
import { EngineBusy, EngineLost } from '../sql/sql-engine.js'
import { storeClosed, storeUnavailable } from '../sql/sql-errors.js'
import { scanBucket } from './bucket-scan.js'
import type { Engine } from './engine.js'
import { RecordTooLarge } from './log-record.js'
import type { Meetings } from './meetings.js'
import type { Registers } from './parts.js'

export interface LoggedStoreParts {
  /** What it is in, for messages: `Cassandra`. */
  readonly kind: string
  readonly place: string
  readonly engine: Engine
  readonly clock: RedisClock
  readonly meetings: Meetings
  readonly registers: Registers
  readonly supports: StoreSupports
  readonly waitMsMax: number
  /** Where it is over several. */
  nodes?(): readonly StoreNode[]
  /** Ends what the parts are over. */
  close(): Promise<void>
}

const MEET_MS = 250
/** So often the log is looked at while somebody listens. */
const LISTEN_MS = 50
/** Many commits share a record of about so many bytes. */
const BYTES_PER_RECORD = 1024 * 1024

export class LoggedStore implements Store {
  readonly supports: StoreSupports
  readonly #parts: LoggedStoreParts
  readonly #engine: Engine
  readonly #queue: CommitQueue
  readonly #gate = new CommitGate()
  readonly #listeners = new CommitListeners()
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #timers: readonly NodeJS.Timeout[]
  readonly #busy = new Set<string>()
  #heard: Position = 0
  #closing: Promise<void> | undefined

  constructor(parts: LoggedStoreParts) {
    const { engine, clock, supports, waitMsMax } = parts
    this.#parts = parts
    this.#engine = engine
    this.supports = supports
    const { retentionMs } = supports
    const time = { nowMs: () => clock.nowMs(), monotonicMs: 0, learn: () => {} }
    const onCommitted = (position: Position) => this.hear(position)
    this.#queue = new CommitQueue({
      engine,
      clock: time,
      retentionMs,
      waitMsMax,
      onCommitted,
      bytesMax: BYTES_PER_RECORD,
    })
    this.#timers = [
      setInterval(() => this.#meet(), MEET_MS).unref(),
      setInterval(() => this.#listen(), LISTEN_MS).unref(),
    ]
  }

  get log(): string {
    return this.#engine.state.log
  }

  async get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    this.#checkOpen()
    return isTooLong(key) ? undefined : this.#reading(() => this.#engine.object(key, atLeast))
  }

  async getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    this.#checkOpen()
    return this.#reading(() => this.#engine.objects(keys))
  }

  async scan(bucket: Key, range: ScanRange = {}): Promise<ScanPage> {
    this.#checkOpen()
    return this.#reading(() => scanBucket(this.#engine, bucket, range))
  }

  async query(): Promise<QueryPage> {
    throw this.#noQueries()
  }

  async queryVersion(): Promise<QueryVersion> {
    throw this.#noQueries()
  }

  indexes(): readonly IndexState[] {
    this.#checkOpen()
    return []
  }

  async buckets(): Promise<readonly BucketChange[]> {
    this.#checkOpen()
    const changes = await this.#reading(() => this.#engine.buckets())
    return changes.sort((a, b) => (a.bucket < b.bucket ? -1 : 1))
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#checkOpen()
    checkCommit(commit)
    checkStorable(commit)
    const { writes, lists = [] } = commit
    const isQuery = lists.some(({ tags = [] }) => tags.length > 0)
    if (isQuery || writes.some(write => 'indexes' in write && write.indexes !== undefined)) throw this.#noQueries()
    try {
      return await this.#during(
        this.#gate.isOpenTo(commit)
          ? this.#queue.commit(commit)
          : this.#gate.pass(commit, () => this.#queue.commit(commit)),
      )
    } catch (error) {
      if (!(error instanceof RecordTooLarge)) throw error
      throw new FreshetError(
        'LIMIT_EXCEEDED',
        `The commit is too large for ${this.#parts.kind}. ${error.message} Write less at once.`,
      )
    }
  }

  async forgetOperations(): Promise<void> {
    this.#checkOpen()
    const beforeMs = this.#parts.clock.nowMs() - this.supports.retentionMs
    const work = async () => {
      await this.#engine.forget('clients', text => readWindow(text).lastMs < beforeMs - AHEAD_MS_MAX)
      await this.#engine.forget('operations', text => readForeign(text).timeMs < beforeMs)
    }
    await this.#reading(work)
  }

  async operationCounts(): Promise<OperationCounts> {
    this.#checkOpen()
    const [clients, foreign] = await this.#reading(() =>
      Promise.all([this.#engine.count('clients'), this.#engine.count('operations')]),
    )
    const diskBytes = clients.bytes + foreign.bytes
    const counts = { clients: clients.count, foreign: foreign.count }
    return { ...counts, memoryBytes: 0, diskBytes, mode: 'exact', falsePositiveRate: 0 }
  }

  async position(): Promise<Position> {
    this.#checkOpen()
    await this.#reading(() => this.#engine.look())
    return this.#engine.state.position
  }

  readCounts(): readonly ReadCount[] {
    return this.#engine.readCounts()
  }

  nodes(): readonly StoreNode[] {
    return this.#parts.nodes?.() ?? []
  }

  async changes(after: Position, limit: number = CHANGES_LIMIT_DEFAULT): Promise<readonly LogEntry[]> {
    this.#checkOpen()
    checkPosition('after', after)
    checkLimit(limit)
    return this.#reading(async () => {
      await this.#engine.look()
      const entries = await this.#engine.changes(after, limit)
      const { trimmedTo } = this.#engine.state
      if (after >= trimmedTo) return entries
      throw new FreshetError(
        'LOG_TRIMMED',
        `The log begins after position ${trimmedTo}; what follows ${after} is no longer complete. Start over.`,
      )
    })
  }

  async trimmedTo(): Promise<Position> {
    this.#checkOpen()
    await this.#reading(() => this.#engine.look())
    return this.#engine.state.trimmedTo
  }

  async trim(upTo: Position): Promise<void> {
    this.#checkOpen()
    checkPosition('upTo', upTo)
    await this.#during(this.#queue.between(() => this.#again(() => this.#engine.trim(upTo))))
  }

  nowMs(): number {
    this.#checkOpen()
    return this.#parts.clock.nowMs()
  }

  onCommit(listener: (position: Position) => void): () => void {
    this.#checkOpen()
    return this.#listeners.add(listener)
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    this.#checkOpen()
    const copy = Buffer.from(value)
    await this.#during(this.#queue.between(() => this.#again(() => this.#engine.remember(name, copy))))
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    this.#checkOpen()
    const found = await this.#reading(() => this.#engine.recall(name))
    return found && Buffer.from(found)
  }

  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    this.#checkOpen()
    const { registers, clock } = this.#parts
    return this.#reading(() => registers.hold(name, holder, ms, () => clock.nowMs()))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Somebody has committed. */
  hear(position: Position): void {
    if (position <= this.#heard) return
    this.#heard = position
    this.#listeners.notifySoon(position)
  }

  async #close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    this.#gate.close()
    await this.#queue.idle()
    await Promise.allSettled(this.#underWay)
    this.#listeners.clear()
    await this.#engine.close()
    await this.#parts.close()
  }

  #meet(): void {
    this.#inBackground('meet', () => this.#parts.meetings.meet())
    if (this.#engine.isLate) this.#inBackground('again', () => this.#queue.between(() => this.#engine.tellAgain()))
  }

  #listen(): void {
    if (!this.#listeners.isEmpty) this.#inBackground('listen', () => this.#engine.look())
  }

  /** One of a kind at a time. If the engine is away, whoever uses the store is told. */
  #inBackground(kind: string, work: () => Promise<void>): void {
    if (this.#busy.has(kind)) return
    this.#busy.add(kind)
    const done = () => this.#busy.delete(kind)
    this.#during(work()).then(done, done)
  }

  #reading<Result>(work: () => Promise<Result>): Promise<Result> {
    const { place, waitMsMax } = this.#parts
    return this.#during(retrying({ place, waitMsMax }, work))
  }

  /** Once more if the log was begun anew in between. */
  async #again(work: () => Promise<void>): Promise<void> {
    try {
      await work().catch(error => (error instanceof EngineBusy ? work() : Promise.reject(error)))
    } catch (error) {
      throw error instanceof EngineLost ? storeUnavailable(this.#parts.place, error, 'unknown') : error
    }
  }

  /** So that closing waits for it. */
  #during<Result>(work: Promise<Result>): Promise<Result> {
    this.#underWay.add(work)
    return work.finally(() => this.#underWay.delete(work))
  }

  #noQueries(): FreshetError {
    this.#checkOpen()
    return new FreshetError(
      'LIMIT_EXCEEDED',
      `A store in ${this.#parts.kind} has no indexes and answers no queries. List the bucket instead.`,
    )
  }

  #checkOpen(): void {
    if (this.#closing) throw storeClosed(this.#parts.place)
  }
}
