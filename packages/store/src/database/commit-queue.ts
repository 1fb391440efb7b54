/**
 * Group commit: commits that arrive while one transaction is under way go into the next. Each server has one transaction at a
 * time; between servers, the head's lock orders them.
 *
 * The outcome of a transaction whose reply was lost is looked up, not guessed. The transaction had locked the head, so the
 * next transaction that gets the lock knows that it has ended, and the log says how. Only if the database stays away for too
 * long is the outcome of a commit reported as unknown.
 */
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import type { RetentionOptions } from '@freshet/core/counters'
import { type Commit, type CommitResult, indexesIn, type Key, type Position } from '@freshet/core/store'
import { bucketOfKey, FreshetError } from '@freshet/protocol'
import type { FleetClock } from '../clock/fleet-clock.js'
import { CommitRefused, EngineBusy, EngineLost } from '../engine/engine-errors.js'
import { storeUnavailable } from '../engine/store-errors.js'
import { decodeIndexes, tagKey } from '../indexes/index-records.js'
import type { ChangedBefore, Changes, Database, Incoming, LockedState, Needs } from './database.js'
import { LockedBatch } from './locked-batch.js'

const COMMITS_PER_BATCH_MAX = 1000
/** A larger statement would not be faster, and a very large one would be refused. */
const BYTES_PER_BATCH_MAX = 16 * 1024 * 1024
const LOG_BATCHES_MAX = 10_000
const PAUSE_MS = 20

export interface CommitQueueOptions extends RetentionOptions {
  readonly database: Pick<Database, 'place' | 'transact' | 'isCommitted'>
  readonly clock: Pick<FleetClock, 'nowMs' | 'monotonicMs' | 'learn'>
  /** How long to wait for a database that does not answer. */
  readonly waitMsMax: number
  /** The most bytes in one transaction, or one commit; 16 MiB by default. */
  readonly bytesMax?: number
  /** Called before the callers get their results. */
  readonly onCommitted: (position: Position) => void
}

interface Task {
  readonly commit: Commit
  readonly askedMs: number
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

export class CommitQueue {
  readonly #options: CommitQueueOptions
  readonly #waiting: Task[] = []
  readonly #others: (() => Promise<void>)[] = []
  /** Buckets that had indexes when they were last written to: commits to them will need the previous values. */
  readonly #indexed = new Set<Key>()
  #running: Promise<void> | undefined
  /** Has not begun yet. */
  #taking: Promise<Taken> | undefined
  /** After a batch was refused, its commits are tried one by one, so that one that cannot be made does not fail the others. */
  #alone = 0

  constructor(options: CommitQueueOptions) {
    this.#options = options
  }

  /** The caller has checked the commit. */
  commit(commit: Commit): Promise<CommitResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commit, askedMs: performance.now(), resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Gives positions to all that other programs had written, before this call, to tables that are buckets. */
  takeIncoming(): Promise<Taken> {
    // A take that has not begun yet is good for this call too.
    this.#taking ??= this.#take(false, () => {
      this.#taking = undefined
    })
    return this.#taking
  }

  /**
   * Takes one part of the rows that were there before a table became a bucket, so that other commits can come between the
   * parts.
   */
  takeBackfill(): Promise<Taken> {
    return this.#take(true, () => {})
  }

  async #take(isBackfill: boolean, onBegin: () => void): Promise<Taken> {
    for (;;) {
      const attempt = newAttempt([])
      await this.between(() => {
        onBegin()
        return this.#attempt(attempt, isBackfill)
      })
      const { noted, isFull } = attempt.incoming!
      if (!isFull || isBackfill) return { position: attempt.batch!.position, noted, isFull }
    }
  }

  /** Runs another transaction between two batches. */
  between<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#others.push(() => work().then(resolve, reject))
      this.#running ??= this.#run()
    })
  }

  /** Resolves when nothing is waiting or under way. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #run(): Promise<void> {
    // Commits that arrive in the same turn join the batch.
    await setImmediate()
    while (this.#waiting.length + this.#others.length > 0) {
      await this.#others.shift()?.()
      if (this.#waiting.length > 0) await this.#runBatch(this.#next())
      // So do the next commits of callers that have just been answered.
      await setImmediate()
    }
    this.#running = undefined
  }

  #next(): Task[] {
    const { bytesMax = BYTES_PER_BATCH_MAX } = this.#options
    const most = this.#alone > 0 ? 1 : COMMITS_PER_BATCH_MAX
    this.#alone = Math.max(0, this.#alone - 1)
    let count = 0
    for (let bytes = 0; count < most && count < this.#waiting.length && bytes < bytesMax; count++) {
      bytes += bytesOf(this.#waiting[count]!.commit)
    }
    return this.#waiting.splice(0, count)
  }

  async #runBatch(tasks: readonly Task[]): Promise<void> {
    const { database, waitMsMax } = this.#options
    // The deadline of the commit that has waited longest: commits that arrive while the database is away do not wait in turn.
    const deadlineMs = tasks[0]!.askedMs + waitMsMax
    for (;;) {
      const attempt = newAttempt(tasks)
      try {
        return await this.#attempt(attempt)
      } catch (error) {
        if (error instanceof EngineLost && error.isUnknown && (await this.#settle(attempt, error, deadlineMs))) return
        const isPassing = error instanceof EngineLost || error instanceof EngineBusy
        if (isPassing && performance.now() < deadlineMs) await delay(PAUSE_MS * Math.random())
        else return this.#refuse(tasks, isPassing ? storeUnavailable(database.place, error, 'not-done') : error)
      }
    }
  }

  async #attempt(attempt: Attempt, isBackfill = false): Promise<void> {
    const { database, clock, retentionMs } = this.#options
    const asked = attempt.tasks.map(({ commit }) => commit)
    const needs = { ...this.#needsOf(asked), taking: isBackfill ? ('backfill' as const) : ('changes' as const) }
    const sentMs = clock.monotonicMs
    let receivedMs = 0
    await database.transact(needs, clock.nowMs(), async state => {
      receivedMs = clock.monotonicMs
      attempt.incoming = state.incoming
      const before = state.incoming.writes.length > 0 ? [{ writes: state.incoming.writes }] : []
      // What other programs have written comes first, including what this transaction cannot take.
      attempt.isPartial = state.incoming.isFull && asked.length > 0
      const commits = attempt.isPartial ? before : [...before, ...asked]
      await this.#readBefore(state, commits, needs.keys)
      attempt.batch = new LockedBatch(state, { retentionMs }, await changedBefore(state, commits))
      attempt.results = commits.map(commit => attempt.batch!.commit(commit)).slice(before.length)
      attempt.changes = attempt.batch.finish()
      return attempt.changes
    })
    if (attempt.changes) clock.learn(attempt.changes.timeMs, { sentMs, receivedMs })
    if (attempt.isPartial) throw new EngineBusy(new Error('Other programs have written more than one commit can take.'))
    this.#answer(attempt)
  }

  #answer({ tasks, results, batch }: Attempt): void {
    this.#options.onCommitted(batch!.position)
    for (const [i, { resolve }] of tasks.entries()) resolve(results[i]!)
  }

  /** Finds out what became of a lost transaction. False: it was not committed and may be retried. */
  async #settle(attempt: Attempt, lost: EngineLost, deadlineMs: number): Promise<boolean> {
    const { database } = this.#options
    const { tasks, batch, isPartial } = attempt
    // A transaction that took no position can be repeated.
    if (batch === undefined || batch.commits === 0 || isPartial) return false
    for (;;) {
      let reason: unknown = lost
      try {
        const isCommitted = await database.isCommitted(batch.position, batch.id)
        if (isCommitted) this.#answer(attempt)
        if (isCommitted !== undefined) return isCommitted
      } catch (error) {
        reason = error
      }
      if (reason === lost || performance.now() >= deadlineMs) {
        for (const { reject } of tasks) reject(storeUnavailable(database.place, reason, 'unknown'))
        return true
      }
      await delay(PAUSE_MS)
    }
  }

  #refuse(tasks: readonly Task[], error: unknown): void {
    if (tasks.length === 1 || error instanceof FreshetError) {
      for (const { reject } of tasks) reject(error instanceof CommitRefused ? error.reason : error)
    } else {
      this.#waiting.unshift(...tasks)
      this.#alone = tasks.length
    }
  }

  #needsOf(commits: readonly Commit[]): Needs & { readonly keys: Set<Key> } {
    const sets = { keys: set(), buckets: set(), indexes: set(), tags: set(), clients: set(), foreign: set() }
    for (const { reads = [], lists = [], writes, adds = [], operation } of commits) {
      for (const { key } of [...reads, ...adds]) sets.keys.add(key)
      for (const { key } of [...writes, ...adds]) {
        const bucket = bucketOfKey(key)
        sets.indexes.add(bucket)
        if (this.#indexed.has(bucket)) sets.keys.add(key)
      }
      for (const { bucket, tags = [] } of lists) {
        sets.buckets.add(bucket)
        if (tags.length > 0) sets.indexes.add(bucket)
        for (const tag of tags) sets.tags.add(tagKey(tag))
      }
      if (operation?.id.kind === 'own') sets.clients.add(operation.id.client)
      if (operation?.id.kind === 'foreign') sets.foreign.add(operation.id.id)
    }
    return sets
  }

  /** Reads the previous values of written objects, as far as indexes need them. */
  async #readBefore(state: LockedState, commits: readonly Commit[], keysRead: ReadonlySet<Key>): Promise<void> {
    const writes = commits.flatMap(commit => commit.writes)
    const declaring = writes.filter(write => indexesIn(write)?.length).map(({ key }) => key)
    const indexed = new Set(declaring)
    for (const [bucket, record] of state.indexes) {
      if (decodeIndexes(record).length > 0) indexed.add(bucket)
      else this.#indexed.delete(bucket)
    }
    if (indexed.size === 0) return
    for (const bucket of indexed) this.#indexed.add(bucket)
    const keys = writes.map(({ key }) => key).filter(key => indexed.has(bucketOfKey(key)) && !keysRead.has(key))
    if (keys.length === 0) return
    for (const [key, value] of await state.more([...new Set(keys)])) state.values.set(key, value)
  }
}

interface Attempt {
  readonly tasks: readonly Task[]
  results: readonly CommitResult[]
  batch: LockedBatch | undefined
  changes: Changes | undefined
  incoming: Incoming | undefined
  /** The changes of other programs were committed, the requested commits were not. */
  isPartial: boolean
}

function newAttempt(tasks: readonly Task[]): Attempt {
  return { tasks, results: [], batch: undefined, changes: undefined, incoming: undefined, isPartial: false }
}

export interface Taken {
  readonly position: Position
  readonly noted: number
  readonly isFull: boolean
}

/** What lists need to know of changes before this batch. */
async function changedBefore(state: LockedState, commits: readonly Commit[]): Promise<ChangedBefore | undefined> {
  const lists = commits.flatMap(({ lists = [] }) => lists).filter(({ tags = [] }) => tags.length === 0)
  const versions = lists
    .filter(({ bucket, version }) => (state.buckets.get(bucket) ?? 0) > version && version >= state.head.trimmedTo)
    .map(({ version }) => version)
  return versions.length === 0 ? undefined : state.changedAfter(Math.min(...versions), LOG_BATCHES_MAX)
}

function bytesOf({ writes }: Commit): number {
  return writes.reduce((sum, write) => sum + ('delete' in write ? 0 : write.body.length), 0)
}

function set(): Set<string> {
  return new Set()
}
