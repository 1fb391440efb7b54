/**
 * A store over a SQL database that any number of servers use at once. Nothing that decides is in the memory of any of them:
 * positions, versions, the log, the clock, what was done under which id are the database's, and change in one transaction.
 *
 * How positions come in the order of commits: every transaction that writes locks the one row of `head` before it reads anything,
 * and gives positions from it. So transactions follow each other, and who sees a position sees all before it.
 */
import { AHEAD_MS_MAX } from '@freshet/core/counters'
import { listOf } from '@freshet/core/currency'
import {
  type BucketChange,
  CHANGES_LIMIT_DEFAULT,
  type Commit,
  type CommitResult,
  checkCommit,
  checkLimit,
  checkPosition,
  type IndexState,
  indexesIn,
  isBeyond,
  isWithin,
  type Key,
  type LogEntry,
  type MaybePromise,
  type OperationCounts,
  type Position,
  type Query,
  type QueryPage,
  type QueryVersion,
  type ReadCount,
  type ScanPage,
  type ScanRange,
  type Snapshot,
  type Store,
  type StoredEntry,
  type StoredValue,
  type StoreSupports,
  scanLimit,
} from '@freshet/core/store'
import { checkQuery, FreshetError } from '@freshet/protocol'
import { CommitListeners } from '../embedded/commit-listeners.js'
import { toState } from '../embedded/indexes/index-records.js'
import { checkStorable } from '../embedded/records.js'
import { GatheredReads } from '../gathering/gathered-reads.js'
import { CommitGate } from '../leasing/commit-gate.js'
import { AskPrimary, ReplicaReads } from '../replicas/replica-reads.js'
import type { Attachment } from './attachment.js'
import { CommitQueue, type Taken } from './commit-queue.js'
import { type FleetClock, LEASE_MS } from './fleet-clock.js'
import { IndexUpkeep } from './index-upkeep.js'
import { keyRange, scanBounds } from './key-range.js'
import { type RetryingOptions, retrying } from './retrying.js'
import type { SqlEngine, SqlReader, SqlStandby, SqlView } from './sql-engine.js'
import { storeClosed } from './sql-errors.js'
import { queryPage, queryVersion } from './sql-queries.js'

const TICK_MS = LEASE_MS / 4
/** Every so many ticks somebody looks whether an index was left unfinished. */
const UPKEEP_TICKS = 40
const VALUES_PER_READ = 1000

export interface SqlStoreOptions {
  readonly engine: SqlEngine
  readonly clock: FleetClock
  readonly supports: StoreSupports
  readonly attachment: Attachment
  readonly scanMax: number
  /** So long a database that does not answer is waited for. */
  readonly waitMsMax: number
  /** That reads may be answered by. */
  readonly standbys: readonly SqlStandby[]
  readonly onWarning: (text: string) => void
}

export class SqlStore implements Store {
  readonly supports: StoreSupports
  readonly #engine: SqlEngine
  readonly #attachment: Attachment
  readonly #clock: FleetClock
  readonly #scanMax: number
  readonly #patience: RetryingOptions
  readonly #queue: CommitQueue
  readonly #gathered: GatheredReads
  readonly #standbys: ReplicaReads<SqlStandby>
  readonly #upkeep: IndexUpkeep
  readonly #gate = new CommitGate()
  readonly #listeners = new CommitListeners()
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #ticks: NodeJS.Timeout
  #ticked = 0
  #isTicking = false
  /** The id of the log, as whoever follows it was told last. */
  #log: string
  #heard: Position = 0
  #asking: Promise<Position> | undefined
  #closing: Promise<void> | undefined

  constructor({ engine, clock, supports, attachment, scanMax, waitMsMax, standbys, onWarning }: SqlStoreOptions) {
    this.supports = supports
    this.#log = attachment.log
    this.#attachment = attachment
    this.#engine = engine
    this.#clock = clock
    this.#scanMax = scanMax
    this.#patience = { place: engine.place, waitMsMax }
    const { retentionMs } = supports
    const onCommitted = (position: Position) => this.hear(position)
    this.#queue = new CommitQueue({ engine, clock, retentionMs, waitMsMax, onCommitted })
    this.#standbys = new ReplicaReads<SqlStandby>({
      replicas: standbys,
      reached: async standby => (await standby.values([])).position,
      position: () => this.#askPosition(),
      changes: (after, limit) => this.#during(this.#changes(after, limit)),
      onWarning,
    })
    this.#gathered = new GatheredReads((keys, atLeast) => this.#during(this.#values(keys, atLeast)))
    this.#upkeep = new IndexUpkeep({ engine, queue: this.#queue, clock })
    this.#upkeep.wake()
    this.#ticks = setInterval(() => this.#tick(), TICK_MS).unref()
  }

  /** Another one when the database may have lost something: from when whoever follows it finds out. */
  get log(): string {
    return this.#log
  }

  get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    this.#checkOpen()
    return isWritable(key) ? this.#gathered.get(key, atLeast) : Promise.resolve(undefined)
  }

  async getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    this.#checkOpen()
    const { value, position } = await this.#read(keys, reader => reader.values(keys.filter(isWritable)))
    return { value: keys.map((key, i) => ownValue(keys, i, value.get(key))), position }
  }

  async scan(bucket: Key, range: ScanRange = {}): Promise<ScanPage> {
    this.#checkOpen()
    const limit = scanLimit(range)
    const isShort = range.filter === undefined && limit < VALUES_PER_READ
    const read = (view: SqlView) => scanPage(view, nameOf(bucket), range, limit)
    return this.#read([listOf(bucket)], reader => (isShort ? read(reader) : reader.inOneState(read)))
  }

  async query(bucket: Key, query: Query): Promise<QueryPage> {
    this.#checkOpen()
    checkQuery(query)
    const read = (view: SqlView) => queryPage(view, nameOf(bucket), query, this.#scanMax)
    return this.#read([listOf(bucket)], reader =>
      reader.inOneState(async view => {
        if (reader === this.#engine) return read(view)
        const [page] = await Promise.all([read(view), checkReady(view, nameOf(bucket))])
        return page
      }),
    )
  }

  async queryVersion(bucket: Key, query: Query): Promise<QueryVersion> {
    this.#checkOpen()
    checkQuery(query)
    const read = (view: SqlView) => queryVersion(view, nameOf(bucket), query)
    return this.#read([listOf(bucket)], reader => reader.inOneState(read))
  }

  async indexes(bucket: Key): Promise<readonly IndexState[]> {
    this.#checkOpen()
    const { value } = await this.#during(this.#engine.indexes(nameOf(bucket)))
    return value.indexes.map(toState)
  }

  async buckets(): Promise<readonly BucketChange[]> {
    this.#checkOpen()
    return this.#during(this.#engine.buckets())
  }

  async isTable(bucket: Key): Promise<boolean> {
    this.#checkOpen()
    return (await this.#during(this.#engine.tables())).some(table => table.bucket === bucket)
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#checkOpen()
    checkCommit(commit)
    checkStorable(commit)
    for (const write of commit.writes) if (!('delete' in write)) checkContentType(write.contentType)
    const submit = () => {
      this.#checkOpen()
      return this.#queue.commit(commit)
    }
    const result = await (this.#gate.isOpenTo(commit) ? submit() : this.#gate.pass(commit, submit))
    if (result.committed && commit.writes.some(write => indexesIn(write) !== undefined)) this.#upkeep.wake()
    return result
  }

  async forgetOperations(): Promise<void> {
    this.#checkOpen()
    const foreignMs = this.#clock.nowMs() - this.supports.retentionMs
    await this.#during(this.#engine.forgetOperations({ clientsMs: foreignMs - AHEAD_MS_MAX, foreignMs }))
  }

  async operationCounts(): Promise<OperationCounts> {
    this.#checkOpen()
    return {
      ...(await this.#during(this.#engine.countOperations())),
      memoryBytes: 0,
      mode: 'exact',
      falsePositiveRate: 0,
    }
  }

  position(): Promise<Position> {
    this.#checkOpen()
    return this.#askPosition()
  }

  readCounts(): readonly ReadCount[] {
    return this.#standbys.isEmpty ? [] : this.#standbys.counts()
  }

  /** Those who ask in one turn share the question: a server asks for each read. */
  #askPosition(): Promise<Position> {
    this.#asking ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#asking = undefined
        this.#during(this.#reached()).then(position => {
          this.#tell(position)
          resolve(position)
        }, reject)
      })
    })
    return this.#asking
  }

  async changes(after: Position, limit: number = CHANGES_LIMIT_DEFAULT): Promise<readonly LogEntry[]> {
    this.#checkOpen()
    checkPosition('after', after)
    checkLimit(limit)
    return this.#during(this.#changes(after, limit))
  }

  async #changes(after: Position, limit: number): Promise<readonly LogEntry[]> {
    const { told } = this.#standbys
    const { log, trimmedTo, entries } = await this.#engine.changes(after, limit)
    if (after < trimmedTo) {
      this.#log = log
      throw new FreshetError(
        'LOG_TRIMMED',
        `The log begins after position ${trimmedTo}; what follows ${after} is no longer complete. Start over.`,
      )
    }
    const last = entries.at(-1)?.position ?? after
    this.#attachment.learn(entries.at(-1)?.position ?? 0)
    this.#standbys.follow(after, entries, entries.length < limit ? Math.max(last, told) : last)
    return entries.slice(0, limit)
  }

  async trimmedTo(): Promise<Position> {
    this.#checkOpen()
    const { log, trimmedTo } = await this.#during(this.#engine.head())
    this.#log = log
    return trimmedTo
  }

  async trim(upTo: Position): Promise<void> {
    this.#checkOpen()
    checkPosition('upTo', upTo)
    await this.#during(this.#engine.trim(upTo))
  }

  nowMs(): number {
    this.#checkOpen()
    return this.#clock.nowMs()
  }

  onCommit(listener: (position: Position) => void): () => void {
    this.#checkOpen()
    return this.#listeners.add(listener)
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    this.#checkOpen()
    await this.#during(this.#engine.remember(name, value.slice()))
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    this.#checkOpen()
    return this.#during(this.#engine.recall(name))
  }

  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    this.#checkOpen()
    return this.#during(this.#engine.hold(name, holder, ms))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Whether anybody wants to hear of commits. */
  get isListenedTo(): boolean {
    return !this.#listeners.isEmpty
  }

  /** Others may have changed tables that are buckets. */
  look(): void {
    // If the database is gone there is nothing to see, and whoever uses the store is told.
    if (!this.#closing) this.#askPosition().catch(() => {})
  }

  /** Of what was there before a table became a bucket, one part. */
  takeBackfill(): Promise<Taken> {
    this.#checkOpen()
    return this.#during(retrying(this.#patience, () => this.#queue.takeBackfill()))
  }

  /** The database was connected to anew, and has gone on from the time of day: it may be another one, without its last moments. */
  startOver(): void {
    this.#standbys.startOver()
  }

  /** Somebody has committed. */
  hear(position: Position): void {
    if (position <= this.#heard) return
    this.#heard = position
    this.#tell(position)
    this.#listeners.notifySoon(position)
  }

  #tell(position: Position): void {
    this.#attachment.learn(position)
    this.#standbys.tell(position)
  }

  async #close(): Promise<void> {
    clearInterval(this.#ticks)
    this.#gate.close()
    await this.#upkeep.stop()
    await this.#queue.idle()
    await Promise.allSettled(this.#underWay)
    this.#listeners.clear()
    await this.#standbys.close()
    await this.#engine.close()
  }

  #tick(): void {
    if (++this.#ticked % UPKEEP_TICKS === 0) {
      this.#upkeep.wake()
      if (this.#engine.sharesTables) this.#finishBackfill().catch(() => {})
    }
    // Commits do the same.
    if (this.#isTicking || this.#clock.silentMs < TICK_MS / 2) return
    this.#isTicking = true
    // While the database is gone the clock stands still, and whoever uses the store is told.
    this.#queue
      .between(() => this.#setTime())
      .catch(() => {})
      .finally(() => {
        this.#isTicking = false
      })
  }

  /** What whoever has made a table a bucket has left unfinished. */
  async #finishBackfill(): Promise<void> {
    while (!this.#closing && (await this.takeBackfill()).isFull);
  }

  async #setTime(): Promise<void> {
    const sentMs = this.#clock.monotonicMs
    const { known } = this.#attachment
    const { timeMs, position } = await this.#engine.tick(this.#clock.nowMs())
    if (position < known.position) this.#attachment.doubt()
    this.#clock.learn(timeMs, { sentMs, receivedMs: this.#clock.monotonicMs })
    this.hear(position)
  }

  async #reached(): Promise<Position> {
    const { position, isPending } = await this.#engine.head()
    return isPending ? this.#takeIncoming() : position
  }

  async #takeIncoming(): Promise<Position> {
    return (await retrying(this.#patience, () => this.#queue.takeIncoming())).position
  }

  async #values(
    keys: readonly Key[],
    atLeast: Position | undefined,
  ): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>> {
    if (atLeast === undefined && this.#engine.sharesTables) await this.#askPosition()
    const values = await (this.#standbys.isEmpty
      ? this.#engine.latest(keys)
      : this.#standbys.readEach<MaybePromise<StoredValue | undefined>>({
          atLeast,
          keys,
          ask: (standby, asked) => standby.values(asked),
          askPrimary: asked => this.#engine.latest(asked),
        }))
    for (const value of values.values()) if (value && 'version' in value) this.#attachment.learn(value.version)
    return values
  }

  /** `names`: what it depends on. */
  #read<Result extends { readonly position: Position }>(
    names: readonly string[],
    read: (reader: SqlReader) => Promise<Result>,
  ): Promise<Result> {
    const { isEmpty } = this.#standbys
    const fromPrimary = async () => {
      // What others have written to tables that are buckets comes first.
      if (this.#engine.sharesTables) await this.#askPosition()
      const result = await read(this.#engine)
      this.#attachment.learn(result.position)
      return result
    }
    if (isEmpty) return this.#during(fromPrimary())
    return this.#during(this.#standbys.read<Result>({ atLeast: undefined, names, ask: read, askPrimary: fromPrimary }))
  }

  /** So that closing waits for it. */
  #during<Result>(work: Promise<Result>): Promise<Result> {
    this.#underWay.add(work)
    return work.finally(() => this.#underWay.delete(work))
  }

  #checkOpen(): void {
    if (this.#closing) throw storeClosed(this.#engine.place)
  }
}

async function scanPage(view: SqlView, bucket: Key, range: ScanRange, limit: number): Promise<ScanPage> {
  const folder = `${bucket}/`
  const entries: StoredEntry[] = []
  let { low, high } = scanBounds(folder, range)
  for (;;) {
    const size = Math.min(limit + 1, VALUES_PER_READ)
    const { values, version, position } = await view.page(bucket, keyRange(low, high, size))
    for (const { key, ...value } of values) {
      const id = key.slice(folder.length)
      if (isBeyond(id, range)) return { entries, version, position }
      const last = entries.at(-1)
      if (last !== undefined && entries.length === limit) return { entries, next: last.id, version, position }
      const entry = { id, ...value }
      if (isWithin(id, range) && (range.filter?.(entry) ?? true)) entries.push(entry)
    }
    if (values.length < size) return { entries, version, position }
    low = { key: values.at(-1)!.key, isIncluded: false }
  }
}

/** That an index is ready changes no object, and is not in the log: a standby may not know it yet, and read all of a bucket instead. */
async function checkReady(view: SqlView, bucket: Key): Promise<void> {
  const { value } = await view.indexes(bucket)
  if (value.indexes.some(({ isReady }) => !isReady)) throw new AskPrimary()
}

/** A key that is asked for twice is answered with bytes of its own, twice. */
function ownValue(keys: readonly Key[], i: number, value: StoredValue | undefined): StoredValue | undefined {
  return value === undefined || keys.indexOf(keys[i]!) === i ? value : { ...value, body: Buffer.from(value.body) }
}

/** No text of a database has a character 0, so no key has. */
function isWritable(key: Key): boolean {
  return !key.includes('\0')
}

function checkContentType(contentType: string): void {
  if (contentType.includes('\0')) throw new TypeError(`${JSON.stringify(contentType)} cannot be a content type.`)
}

/** What cannot be a bucket is asked for as one that is not there. */
function nameOf(bucket: Key): Key {
  return isWritable(bucket) ? bucket : ''
}
