/** The contents of a store in memory, and the view that decides its commits. */
import { type CommitView, type Content, decide, type IndexNumbers, type IndexRecord } from '@freshet/core/commit'
import { type ClientWindow, type ForeignOperation, rememberOperation } from '@freshet/core/counters'
import {
  type Commit,
  type CommitResult,
  declaredAt,
  type Key,
  type LogEntry,
  type Position,
  type StoredValue,
  type Tag,
  type Version,
} from '@freshet/core/store'
import { bucketOfKey } from '@freshet/protocol'
import { MemoryBucket } from './memory-bucket.js'
import { MemoryOperations } from './memory-operations.js'

export class MemoryTables implements CommitView {
  readonly retentionMs: number
  readonly buckets: Map<Key, MemoryBucket> = new Map()
  readonly operations: MemoryOperations = new MemoryOperations()
  indexNumbers: IndexNumbers = { last: 0, dropped: [] }
  timeMs = 0
  position: Position
  /** The position after which the log begins. */
  trimmedTo: Position
  /** Positions have no gaps, so an entry's index follows from its position. */
  #log: LogEntry[] = []

  constructor(start: Position, retentionMs: number) {
    this.position = start
    this.trimmedTo = start
    this.retentionMs = retentionMs
  }

  commit(commit: Commit, nowMs: number): CommitResult {
    this.timeMs = nowMs
    const { result, effects } = decide(commit, this)
    if (effects === undefined) return result
    const { position, writes, indexes, operation, units } = effects
    if (operation) rememberOperation(operation, { position, units }, this.operations, nowMs)
    if (writes.length === 0) return result
    for (const [bucket, records] of indexes?.declared ?? []) this.#bucketNamed(bucket).declare(bucket, records)
    if (indexes?.numbers) this.indexNumbers = { ...indexes.numbers, dropped: [] }
    const tags = [...(indexes?.tags ?? [])]
    for (const tag of tags) this.#bucketNamed(bucketOfTag(tag)).tag(tag, position)
    for (const write of writes) this.#bucketNamed(bucketOfKey(write.key)).apply(write, position)
    this.#log.push({ position, timeMs: nowMs, keys: writes.map(({ key }) => key), tags })
    this.position = position
    return result
  }

  find(key: Key): StoredValue | undefined {
    return this.buckets.get(bucketOfKey(key))?.get(key)
  }

  entriesAfter(position: Position): readonly LogEntry[] {
    return this.#log.slice(Math.max(0, position - this.trimmedTo))
  }

  trim(upTo: Position): void {
    const target = Math.min(upTo, this.position)
    if (target <= this.trimmedTo) return
    this.#log = this.#log.slice(target - this.trimmedTo)
    this.trimmedTo = target
  }

  versionOf(key: Key): Version {
    return this.find(key)?.version ?? 0
  }

  contentOf(key: Key): Content | undefined {
    return this.find(key)
  }

  bucketVersion(bucket: Key): Version {
    return this.buckets.get(bucket)?.version ?? 0
  }

  *changesAfter(position: Position): Generator<readonly Key[] | undefined> {
    if (position < this.trimmedTo) yield undefined
    for (const { keys } of this.entriesAfter(position)) yield keys
  }

  indexesOf(bucket: Key): readonly IndexRecord[] {
    return this.buckets.get(bucket)?.indexes ?? []
  }

  tagVersion(tag: Tag): Version {
    return this.buckets.get(bucketOfTag(tag))?.tagVersion(tag) ?? 0
  }

  declaredAt(bucket: Key, fields: readonly string[]): Position | undefined {
    return declaredAt(this.indexesOf(bucket), fields)
  }

  window(client: string): ClientWindow | undefined {
    return this.operations.window(client)
  }

  foreign(id: string): ForeignOperation | undefined {
    return this.operations.foreign(id)
  }

  #bucketNamed(name: Key): MemoryBucket {
    const bucket = this.buckets.get(name) ?? new MemoryBucket()
    this.buckets.set(name, bucket)
    return bucket
  }
}

function bucketOfTag(tag: Tag): Key {
  return tag.slice(0, tag.indexOf('?'))
}
