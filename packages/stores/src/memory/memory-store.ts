/**
 * A store in memory, gone with its process: for tests, for the simulator, and as the shortest answer to what a store
 * has to do. Every method does its work at once, in one turn, so atomicity and order come for free.
 */
import { randomUUID } from 'node:crypto'
import {
  addTo,
  COUNTER_TYPE,
  judgeOperation,
  RETENTION_MS_DEFAULT,
  rememberOperation,
  replayOf,
} from '@freshet/core/counters'
import {
  answerQuery,
  chooseAccess,
  dependenciesOf,
  describeAccess,
  queryTooBroad,
  SCAN_MAX_DEFAULT,
} from '@freshet/core/queries'
import {
  type Addition,
  type BucketChange,
  CHANGES_LIMIT_DEFAULT,
  type Commit,
  type CommitResult,
  changedLists,
  checkCommit,
  checkLimit,
  checkPosition,
  declaredAt,
  Holders,
  type IndexState,
  indexesIn,
  type Key,
  type LogEntry,
  type OperationCounts,
  type Position,
  positionAtTime,
  type Query,
  type QueryPage,
  type QueryVersion,
  type ReadVersion,
  type ScanPage,
  type ScanRange,
  type Snapshot,
  type Store,
  type StoredValue,
  type StoreSupports,
  type Tag,
  type Version,
  type Write,
} from '@freshet/core/store'
import { bucketOfKey, checkQuery, FreshetError } from '@freshet/protocol'
import { CommitGate } from '../leasing/commit-gate.js'
import { MemoryBucket } from './memory-bucket.js'
import { MemoryOperations } from './memory-operations.js'

export interface MemoryStoreOptions {
  /** A clock that never goes back; the process's own unless given. */
  readonly nowMs?: () => number
  /** Its positions are beyond this one; that of the time of day unless given. */
  readonly positionsAfter?: Position
  /** So many entries a query may look at for one page; 10,000 unless given. */
  readonly scanMax?: number
  /** So long operations are remembered; a day unless given. */
  readonly retentionMs?: number
}

export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { nowMs = () => performance.now(), positionsAfter = positionAtTime(Date.now()) } = options
  const { scanMax = SCAN_MAX_DEFAULT, retentionMs = RETENTION_MS_DEFAULT } = options
  checkPosition('positionsAfter', positionsAfter)
  return new MemoryStore({ clock: nowMs, start: positionsAfter, scanMax, retentionMs })
}

interface Parts {
  readonly clock: () => number
  readonly start: Position
  readonly scanMax: number
  readonly retentionMs: number
}

class MemoryStore implements Store {
  readonly supports: StoreSupports
  readonly log: string = randomUUID()
  readonly #clock: () => number
  readonly #scanMax: number
  readonly #buckets = new Map<Key, MemoryBucket>()
  readonly #operations = new MemoryOperations()
  readonly #holders = new Holders()
  readonly #memories = new Map<string, Uint8Array>()
  readonly #listeners = new Set<(position: Position) => void>()
  readonly #gate = new CommitGate()
  #entries: LogEntry[] = []
  #position: Position
  #trimmedTo: Position
  #timeMs = 0
  #isClosed = false
  #willNotify = false

  constructor({ clock, start, scanMax, retentionMs }: Parts) {
    this.supports = { durability: 'none', multiKeyCommits: true, queries: true, retentionMs }
    this.#clock = clock
    this.#scanMax = scanMax
    this.#position = start
    this.#trimmedTo = start
  }

  get(key: Key): StoredValue | undefined {
    this.#checkOpen()
    const found = this.#find(key)
    return found && { ...found, body: found.body.slice() }
  }

  async getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    return { value: keys.map(key => this.get(key)), position: this.position() }
  }

  async scan(bucket: Key, range: ScanRange = {}): Promise<ScanPage> {
    this.#checkOpen()
    const found = this.#buckets.get(bucket)
    const page = (found ?? new MemoryBucket()).scan(range)
    return { ...page, version: found?.version ?? 0, position: this.#position }
  }

  async query(bucket: Key, query: Query): Promise<QueryPage> {
    const version = this.#queryVersion(bucket, query)
    const found = this.#buckets.get(bucket) ?? new MemoryBucket()
    const access = chooseAccess(query, found.indexes)
    const { entries } = found.scan({ limit: Number.MAX_SAFE_INTEGER })
    const page = answerQuery(entries, query, access)
    if (page.examined > this.#scanMax) {
      throw queryTooBroad({ bucket, query, indexes: found.indexes, scanMax: this.#scanMax })
    }
    return { ...page, ...version, plan: describeAccess(access) }
  }

  async queryVersion(bucket: Key, query: Query): Promise<QueryVersion> {
    return this.#queryVersion(bucket, query)
  }

  #queryVersion(bucket: Key, query: Query): QueryVersion {
    this.#checkOpen()
    checkQuery(query)
    const position = this.#position
    const depends = dependenciesOf(bucket, query, this.indexes(bucket))
    if (depends === undefined) return { version: this.bucketVersion(bucket), position, dependsOn: 'bucket' }
    const declaredAt = this.declaredAt(bucket, depends.fields) ?? position
    const version = Math.max(declaredAt, ...depends.tags.map(tag => this.tagVersion(tag)))
    return { version, position, dependsOn: depends.tags }
  }

  indexes(bucket: Key): readonly IndexState[] {
    this.#checkOpen()
    return this.#buckets.get(bucket)?.indexes ?? []
  }

  async buckets(): Promise<readonly BucketChange[]> {
    this.#checkOpen()
    const changes = [...this.#buckets].map(([bucket, { version }]) => ({ bucket, version }))
    return changes.sort((a, b) => (a.bucket < b.bucket ? -1 : 1))
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#checkOpen()
    checkCommit(commit)
    if (this.#gate.isOpenTo(commit)) return this.#commit(commit)
    return this.#gate.pass(commit, async () => this.#commit(commit))
  }

  #commit(commit: Commit): CommitResult {
    this.#checkOpen()
    const { operation, adds = [] } = commit
    if (operation !== undefined) {
      const judged = judgeOperation(operation, this.#operations, this.nowMs(), this.supports)
      if (judged.kind === 'replay') return replayOf(judged.done)
      if (judged.kind === 'refused') return { committed: false, conflicts: [], refusedOperation: judged.reason }
    }
    const conflicts = this.#conflicts(commit.reads ?? [])
    const changed = changedLists(commit.lists ?? [], this)
    if (changed.length > 0) return { committed: false, conflicts, changedLists: changed }
    if (conflicts.length > 0) return { committed: false, conflicts }
    const added = adds.map(add => addTo(add, this.#find(add.key)?.body))
    const refusedAdds = added.filter(each => 'reason' in each)
    if (refusedAdds.length > 0) return { committed: false, conflicts, refusedAdds }
    const sums = added.filter(each => 'body' in each)
    const writes = [...commit.writes, ...sums.map(({ body }, i) => putOf(adds[i]!, body))]
    const position = this.#position + (writes.length === 0 ? 0 : 1)
    const units = sums.map(sum => sum.units)
    if (operation !== undefined) rememberOperation(operation, { position, units }, this.#operations, this.nowMs())
    if (writes.length === 0) return { committed: true, position }
    const tags = this.#declareAndTag(writes, position)
    for (const write of writes) this.#bucketOf(write.key).apply(write, position)
    this.#entries.push({ position, timeMs: this.nowMs(), keys: writes.map(({ key }) => key), tags })
    this.#position = position
    this.#notifySoon()
    return { committed: true, position, ...(adds.length === 0 ? {} : { units }) }
  }

  async forgetOperations(): Promise<void> {
    this.#checkOpen()
    this.#operations.forget(this.nowMs(), this.supports)
  }

  operationCounts(): OperationCounts {
    this.#checkOpen()
    return this.#operations.counts()
  }

  position(): Position {
    this.#checkOpen()
    return this.#position
  }

  changes(after: Position, limit: number = CHANGES_LIMIT_DEFAULT): readonly LogEntry[] {
    this.#checkOpen()
    checkPosition('after', after)
    checkLimit(limit)
    if (after < this.#trimmedTo) {
      throw new FreshetError(
        'LOG_TRIMMED',
        `The log begins after position ${this.#trimmedTo}; what follows ${after} is no longer complete. Start over.`,
      )
    }
    // Positions have no gaps here, so an entry's index follows from its position.
    return this.#entries.slice(after - this.#trimmedTo).slice(0, limit)
  }

  trimmedTo(): Position {
    this.#checkOpen()
    return this.#trimmedTo
  }

  async trim(upTo: Position): Promise<void> {
    this.#checkOpen()
    checkPosition('upTo', upTo)
    const target = Math.min(upTo, this.#position)
    if (target <= this.#trimmedTo) return
    this.#entries = this.#entries.slice(target - this.#trimmedTo)
    this.#trimmedTo = target
  }

  nowMs(): number {
    this.#checkOpen()
    this.#timeMs = Math.max(this.#timeMs, this.#clock())
    return this.#timeMs
  }

  onCommit(listener: (position: Position) => void): () => void {
    this.#checkOpen()
    // A function of its own, so that the same listener added twice is called twice and stopped once.
    const own = (position: Position) => listener(position)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  hold(name: string, holder: string, ms: number): boolean {
    this.#checkOpen()
    return this.#holders.hold(name, holder, ms, this.nowMs())
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    this.#checkOpen()
    this.#memories.set(name, value.slice())
  }

  recall(name: string): Uint8Array | undefined {
    this.#checkOpen()
    return this.#memories.get(name)?.slice()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#gate.close()
    this.#listeners.clear()
  }

  bucketVersion(bucket: Key): Version {
    return this.#buckets.get(bucket)?.version ?? 0
  }

  *changesAfter(position: Position): Generator<readonly Key[] | undefined> {
    if (position < this.#trimmedTo) yield undefined
    for (const { keys } of this.#entries.slice(Math.max(0, position - this.#trimmedTo))) yield keys
  }

  tagVersion(tag: Tag): Version {
    return this.#buckets.get(tag.slice(0, tag.indexOf('?')))?.tagVersions.get(tag) ?? 0
  }

  declaredAt(bucket: Key, fields: readonly string[]): Position | undefined {
    return declaredAt(this.#buckets.get(bucket)?.indexes ?? [], fields)
  }

  /** Indexes count from the commit that declares them, for all that it writes. */
  #declareAndTag(writes: readonly Write[], position: Position): readonly Tag[] {
    for (const write of writes) {
      const indexes = indexesIn(write)
      if (indexes) this.#bucketOf(write.key).declare(indexes, position)
    }
    const tags = new Set<Tag>()
    for (const write of writes) {
      const own = new Set<Tag>()
      const bucket = this.#bucketOf(write.key)
      bucket.addTags(own, bucketOfKey(write.key), write)
      for (const tag of own) {
        tags.add(tag)
        bucket.tagVersions.set(tag, position)
      }
    }
    return [...tags]
  }

  #find(key: Key): StoredValue | undefined {
    return this.#buckets.get(bucketOfKey(key))?.get(key)
  }

  #bucketOf(key: Key): MemoryBucket {
    const name = bucketOfKey(key)
    const bucket = this.#buckets.get(name) ?? new MemoryBucket()
    this.#buckets.set(name, bucket)
    return bucket
  }

  #conflicts(reads: readonly ReadVersion[]): ReadVersion[] {
    const versionOf = (key: Key): Version => this.#find(key)?.version ?? 0
    return reads
      .filter(({ key, version }) => versionOf(key) !== version)
      .map(({ key }) => ({ key, version: versionOf(key) }))
  }

  #notifySoon(): void {
    if (this.#willNotify) return
    this.#willNotify = true
    queueMicrotask(() => {
      this.#willNotify = false
      for (const listener of [...this.#listeners]) listener(this.#position)
    })
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new FreshetError('STORE_CLOSED', 'The store in memory was closed. Create another one.')
  }
}

function putOf({ key }: Addition, body: Uint8Array): Write {
  return { key, contentType: COUNTER_TYPE, body }
}
