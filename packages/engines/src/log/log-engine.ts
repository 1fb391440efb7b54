/**
 * An engine over a log, for any number of servers at once. `log-database.ts` says how it commits and reads, docs/decisions/0012
 * why. This file has the queue of commits, the clock, and the background work.
 */
import { AHEAD_MS_MAX } from '@freshet/core/counters'
import {
  type BucketChange,
  type Commit,
  type CommitResult,
  indexesIn,
  type Key,
  type OperationCounts,
  type Position,
  type ReadCount,
  type StoredValue,
  type StoreNode,
  type StoreSupports,
} from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { SharedClock } from '@freshet/store/clock'
import { readForeign, readWindow } from '@freshet/store/commits'
import { CommitQueue, IndexUpkeep } from '@freshet/store/database'
import {
  CommitListeners,
  type Engine,
  EngineBusy,
  EngineLost,
  type LogBegin,
  type LogPart,
  retrying,
  type Subject,
  storeUnavailable,
  UnderWay,
  type View,
} from '@freshet/store/engine'
import type { ClockMeetings } from './clock-meetings.js'
import type { LogDatabase } from './log-database.js'
import { RecordTooLarge } from './log-record.js'
import type { Registers } from './log-storage.js'

export interface LogEngineParts {
  /** What keeps the log, for messages: `Cassandra`. */
  readonly kind: string
  readonly database: LogDatabase
  readonly clock: SharedClock
  readonly meetings: ClockMeetings
  readonly registers: Registers
  readonly supports: StoreSupports
  readonly waitMsMax: number
  /** For a store over several nodes: the state of each. */
  nodes?(): readonly StoreNode[]
  /** Closes what the engine runs on. */
  close(): Promise<void>
}

const MEET_MS = 250
/** How often the log is looked at while there are listeners. */
const LISTEN_MS = 50
/** How often the engine looks for unfinished indexes. */
const UPKEEP_MS = 10_000
/** Commits share a record until it has about this many bytes. */
const BYTES_PER_RECORD = 1024 * 1024

export class LogEngine implements Engine {
  readonly place: string
  readonly supports: StoreSupports
  readonly hasLeases = true
  readonly listeners: CommitListeners = new CommitListeners()
  readonly #parts: LogEngineParts
  readonly #database: LogDatabase
  readonly #queue: CommitQueue
  readonly #upkeep: IndexUpkeep
  readonly #underWay = new UnderWay()
  readonly #timers: readonly NodeJS.Timeout[]
  readonly #busy = new Set<string>()
  #heard: Position = 0
  #asking: Promise<Position> | undefined

  constructor(parts: LogEngineParts) {
    const { database, clock, supports, waitMsMax } = parts
    this.#parts = parts
    this.#database = database
    this.place = database.place
    this.supports = supports
    const time = { nowMs: () => clock.nowMs(), monotonicMs: 0, learn: () => {} }
    this.#queue = new CommitQueue({
      database,
      clock: time,
      retentionMs: supports.retentionMs,
      waitMsMax,
      onCommitted: position => this.hear(position),
      bytesMax: BYTES_PER_RECORD,
    })
    this.#upkeep = new IndexUpkeep({
      database: {
        transact: (needs, nowMs, decide) => database.transact(needs, nowMs, decide),
        unfinishedIndexes: () => database.unfinishedIndexes(),
        removeEntries: index => this.#removeEntries(index),
      },
      queue: this.#queue,
      clock: time,
    })
    this.#upkeep.wake()
    this.#timers = [
      setInterval(() => this.#meet(), MEET_MS).unref(),
      setInterval(() => this.#listen(), LISTEN_MS).unref(),
      setInterval(() => this.#upkeep.wake(), UPKEEP_MS).unref(),
    ]
  }

  get log(): string {
    return this.#database.state.log
  }

  get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    return this.#reading(() => this.#database.object(key, atLeast))
  }

  inOneState<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result> {
    return this.#reading(() => this.#database.inOneState(subject, read))
  }

  buckets(): Promise<BucketChange[]> {
    return this.#reading(() => this.#database.buckets())
  }

  async commit(commit: Commit): Promise<CommitResult> {
    try {
      const result = await this.#queue.commit(commit)
      if (result.committed && commit.writes.some(write => indexesIn(write) !== undefined)) this.#upkeep.wake()
      return result
    } catch (error) {
      if (!(error instanceof RecordTooLarge)) throw error
      const { kind } = this.#parts
      throw new FreshetError(
        'LIMIT_EXCEEDED',
        `The commit is too large for ${kind}. ${error.message} Write less in one commit.`,
      )
    }
  }

  async forgetOperations(): Promise<void> {
    const beforeMs = this.nowMs() - this.supports.retentionMs
    await this.#reading(async () => {
      await this.#database.forget('clients', text => readWindow(text).lastMs < beforeMs - AHEAD_MS_MAX)
      await this.#database.forget('operations', text => readForeign(text).timeMs < beforeMs)
    })
  }

  async operationCounts(): Promise<OperationCounts> {
    const [clients, foreign] = await this.#reading(() =>
      Promise.all([this.#database.count('clients'), this.#database.count('operations')]),
    )
    const diskBytes = clients.bytes + foreign.bytes
    const counts = { clients: clients.count, foreign: foreign.count }
    return { ...counts, memoryBytes: 0, diskBytes, mode: 'exact', falsePositiveRate: 0 }
  }

  /** Calls that come before the log is looked at share the answer: a server calls this for each read. */
  position(): Promise<Position> {
    this.#asking ??= Promise.resolve().then(async () => {
      this.#asking = undefined
      await this.#reading(() => this.#database.look())
      return this.#database.state.position
    })
    return this.#asking
  }

  readCounts(): readonly ReadCount[] {
    return this.#database.readCounts()
  }

  nodes(): readonly StoreNode[] {
    return this.#parts.nodes?.() ?? []
  }

  changes(after: Position, limit: number): Promise<LogPart> {
    return this.#reading(async () => {
      await this.#database.look()
      const entries = await this.#database.changes(after, limit)
      return { entries, ...this.#begin }
    })
  }

  async begin(): Promise<LogBegin> {
    await this.#reading(() => this.#database.look())
    return this.#begin
  }

  async trim(upTo: Position): Promise<void> {
    await this.#queue.between(() => this.#again(() => this.#database.trim(upTo)))
  }

  nowMs(): number {
    return this.#parts.clock.nowMs()
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
    await this.#queue.between(() => this.#again(() => this.#database.remember(name, bytes)))
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    const found = await this.#reading(() => this.#database.recall(name))
    return found && Buffer.from(found)
  }

  hold(name: string, holder: string, ms: number): Promise<boolean> {
    const { registers } = this.#parts
    return this.#reading(() => registers.hold(name, holder, ms, () => this.nowMs()))
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#upkeep.stop()
    await this.#queue.idle()
  }

  async close(): Promise<void> {
    await this.#underWay.settled()
    await this.#database.close()
    await this.#parts.close()
  }

  /** A server, this one or another, has committed up to `position`. */
  hear(position: Position): void {
    if (position <= this.#heard) return
    this.#heard = position
    this.listeners.notifySoon(position)
  }

  get #begin(): LogBegin {
    const { log, trimmedTo } = this.#database.state
    return { log, trimmedTo }
  }

  /** Removes all entries, by one record. */
  async #removeEntries(index: number): Promise<number> {
    await this.#queue.between(() => this.#database.clearIndex(index))
    return 0
  }

  #meet(): void {
    this.#inBackground('meet', () => this.#parts.meetings.meet())
    if (this.#database.isLate) this.#inBackground('again', () => this.#queue.between(() => this.#database.repeatLate()))
  }

  #listen(): void {
    if (!this.listeners.isEmpty) this.#inBackground('listen', () => this.#database.look())
  }

  /** Runs one task of a kind at a time. If the log cannot be reached, the next read or commit reports it. */
  #inBackground(kind: string, work: () => Promise<void>): void {
    if (this.#busy.has(kind)) return
    this.#busy.add(kind)
    const done = () => this.#busy.delete(kind)
    this.#underWay.during(work()).then(done, done)
  }

  #reading<Result>(work: () => Promise<Result>): Promise<Result> {
    const { place } = this
    const { waitMsMax } = this.#parts
    return this.#underWay.during(retrying({ place, waitMsMax }, work))
  }

  /** Tries once more if the log began again meanwhile. */
  async #again(work: () => Promise<void>): Promise<void> {
    try {
      await work().catch(error => (error instanceof EngineBusy ? work() : Promise.reject(error)))
    } catch (error) {
      throw error instanceof EngineLost ? storeUnavailable(this.place, error, 'unknown') : error
    }
  }
}
