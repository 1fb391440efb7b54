/**
 * The store: the one implementation of `Store`, over any `Engine`. It checks arguments, lets commits wait for leases, scans
 * and queries over views of the engine, reports where the log begins, and waits for work under way before it closes.
 */
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
  type MaybePromise,
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
  type StoreQuery,
  type StoreSupports,
  scanLimit,
} from '@freshet/core/store'
import { checkQuery } from '@freshet/protocol'
import { CommitGate } from './commits/commit-gate.js'
import type { Engine, LogBegin, LogPart, Subject, View } from './engine/engine.js'
import { logTrimmed, storeClosed } from './engine/store-errors.js'
import { UnderWay } from './engine/under-way.js'
import { toState } from './indexes/index-records.js'
import { queryPage, queryVersion } from './reads/query-page.js'
import { isOneRead, scanPage } from './reads/scan-page.js'
import { checkStorable, isStorable } from './records/value-record.js'

/** No key that can be written has this character. */
const NO_BUCKET = '\u0001'

export interface EngineStoreOptions<Over extends Engine> {
  readonly engine: Over
  /** How many entries a query may look at for one page. */
  readonly scanMax: number
}

export class EngineStore<Over extends Engine = Engine> implements Store {
  readonly supports: StoreSupports
  readonly engine: Over
  readonly #scanMax: number
  readonly #gate = new CommitGate()
  readonly #underWay = new UnderWay()
  #log: string
  #closing: Promise<void> | undefined

  constructor({ engine, scanMax }: EngineStoreOptions<Over>) {
    this.engine = engine
    this.supports = engine.supports
    this.#scanMax = scanMax
    this.#log = engine.log
  }

  /** If the engine begins another log, this changes when `changes` or `trimmedTo` finds out. Followers then start over. */
  get log(): string {
    return this.#log
  }

  get(key: Key, atLeast?: Position): MaybePromise<StoredValue | undefined> {
    this.#checkOpen()
    return isStorable(key) ? this.engine.get(key, atLeast) : undefined
  }

  async getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    const readable = keys.filter(isStorable)
    return this.#read({ keys: readable, isOneRead: true }, async view => {
      const { value, position } = await view.values(readable)
      return { value: ownValues(keys.map(key => (isStorable(key) ? value.get(key) : undefined))), position }
    })
  }

  async scan(bucket: Key, range: ScanRange = {}): Promise<ScanPage> {
    const limit = scanLimit(range)
    const subject = { expected: limit + 1, isOneRead: isOneRead(range, limit) }
    return this.#readBucket(bucket, subject, (view, name) => scanPage(view, name, range, limit))
  }

  async query(bucket: Key, query: StoreQuery): Promise<QueryPage> {
    this.#checkOpen()
    checkQuery(query)
    return this.#readBucket(bucket, { query, expected: this.#scanMax + 1, isOneRead: false }, (view, name) =>
      queryPage(view, name, query, this.#scanMax),
    )
  }

  async queryVersion(bucket: Key, query: StoreQuery): Promise<QueryVersion> {
    this.#checkOpen()
    checkQuery(query)
    return this.#readBucket(bucket, { query, expected: 0, isOneRead: false }, (view, name) =>
      queryVersion(view, name, query),
    )
  }

  async indexes(bucket: Key): Promise<readonly IndexState[]> {
    const subject = { expected: 0, isOneRead: true }
    const { value } = await this.#readBucket(bucket, subject, async (view, name) => view.indexes(name))
    return value.indexes.map(toState)
  }

  async buckets(): Promise<readonly BucketChange[]> {
    this.#checkOpen()
    const changes = await this.#underWay.during(this.engine.buckets())
    return changes.sort((a, b) => (a.bucket < b.bucket ? -1 : 1))
  }

  async isTable(bucket: Key): Promise<boolean> {
    this.#checkOpen()
    const asked = this.engine.isTable?.(bucket)
    return asked === undefined ? false : this.#underWay.during(asked)
  }

  commit(commit: Commit): Promise<CommitResult> {
    // Not an async function: each costs a turn of promises, and this is the path that all commits take.
    try {
      this.#checkOpen()
      checkCommit(commit)
      checkStorable(commit)
      return this.commitChecked(commit)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** A commit that the caller has checked. Throws if the store is closed. */
  commitChecked(commit: Commit): Promise<CommitResult> {
    const submit = () => {
      this.#checkOpen()
      return this.engine.commit(commit)
    }
    return this.engine.hasLeases && !this.#gate.isOpenTo(commit) ? this.#gate.pass(commit, submit) : submit()
  }

  async forgetOperations(): Promise<void> {
    this.#checkOpen()
    await this.#underWay.during(this.engine.forgetOperations())
  }

  operationCounts(): MaybePromise<OperationCounts> {
    this.#checkOpen()
    return this.#waited(this.engine.operationCounts())
  }

  position(): MaybePromise<Position> {
    this.#checkOpen()
    return this.engine.position()
  }

  readCounts(): readonly ReadCount[] {
    return this.engine.readCounts?.() ?? []
  }

  nodes(): readonly StoreNode[] {
    return this.engine.nodes?.() ?? []
  }

  changes(after: Position, limit: number = CHANGES_LIMIT_DEFAULT): MaybePromise<readonly LogEntry[]> {
    this.#checkOpen()
    checkPosition('after', after)
    checkLimit(limit)
    const part = this.#waited(this.engine.changes(after, limit))
    return part instanceof Promise
      ? part.then(found => this.#entriesIn(found, after, limit))
      : this.#entriesIn(part, after, limit)
  }

  trimmedTo(): MaybePromise<Position> {
    this.#checkOpen()
    const begin = this.#waited(this.engine.begin())
    return begin instanceof Promise ? begin.then(found => this.#beginOf(found)) : this.#beginOf(begin)
  }

  async trim(upTo: Position): Promise<void> {
    this.#checkOpen()
    checkPosition('upTo', upTo)
    await this.#underWay.during(this.engine.trim(upTo))
  }

  nowMs(): number {
    this.#checkOpen()
    return this.engine.nowMs()
  }

  onCommit(listener: (position: Position) => void): () => void {
    this.#checkOpen()
    return this.engine.listeners.add(listener)
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    this.#checkOpen()
    await this.#underWay.during(this.engine.remember(name, value.slice()))
  }

  recall(name: string): MaybePromise<Uint8Array | undefined> {
    this.#checkOpen()
    return this.#waited(this.engine.recall(name))
  }

  hold(name: string, holder: string, ms: number): MaybePromise<boolean> {
    this.#checkOpen()
    return this.#waited(this.engine.hold(name, holder, ms))
  }

  get isOpen(): boolean {
    return this.#closing === undefined
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#gate.close()
    await this.engine.stop?.()
    await this.#underWay.settled()
    this.engine.listeners.clear()
    await this.engine.close()
  }

  /** A name that cannot be a bucket reads as a bucket that does not exist. */
  #readBucket<Result extends { readonly position: Position }>(
    bucket: Key,
    subject: Subject,
    read: (view: View, bucket: Key) => Promise<Result>,
  ): Promise<Result> {
    const name = isStorable(bucket) ? bucket : NO_BUCKET
    return this.#read({ ...subject, bucket: name }, view => read(view, name))
  }

  #read<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result> {
    this.#checkOpen()
    return this.#underWay.during(this.engine.inOneState(subject, read))
  }

  #entriesIn({ entries, ...begin }: LogPart, after: Position, limit: number): readonly LogEntry[] {
    if (after >= begin.trimmedTo) return entries.length > limit ? entries.slice(0, limit) : entries
    throw logTrimmed(after, this.#beginOf(begin))
  }

  #beginOf({ log, trimmedTo }: LogBegin): Position {
    this.#log = log
    return trimmedTo
  }

  /** Closing waits for the work if it is asynchronous. */
  #waited<Result>(work: MaybePromise<Result>): MaybePromise<Result> {
    return work instanceof Promise ? this.#underWay.during(work) : work
  }

  #checkOpen(): void {
    if (this.#closing) throw storeClosed(this.engine.place)
  }
}

/** A key that is requested twice gets two copies of its bytes. */
function ownValues(values: readonly (StoredValue | undefined)[]): readonly (StoredValue | undefined)[] {
  const seen = new Set<StoredValue>()
  return values.map(value => {
    if (value === undefined) return undefined
    const isSeen = seen.has(value)
    seen.add(value)
    return isSeen ? { ...value, body: value.body.slice() } : value
  })
}
