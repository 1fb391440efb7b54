/**
 * One write transaction: commits, decided by `CommitBatch` over the tables of LMDB, and the store's own upkeep.
 *
 * It is decided outside of the transaction. That is safe because one writer runs one transaction at a time: the state cannot
 * change in between, unless the epoch has changed too, and then the transaction does nothing.
 */

import { buildStep, type Content, type IndexNumbers, type IndexRecord, unbuiltOf } from '@freshet/core/commit'
import type { OperationTables } from '@freshet/core/counters'
import type { Commit, CommitResult, Key, Position, PutWrite, Tag, Version } from '@freshet/core/store'
import { type BatchState, CommitBatch } from '@freshet/store/commits'
import { STEP_OBJECTS } from '@freshet/store/database'
import {
  decodeIndexes,
  decodeNumbers,
  encodeIndexes,
  encodeNumbers,
  entriesUnder,
  entryKey,
  indexPrefix,
  tagKey,
} from '@freshet/store/indexes'
import {
  bodyOf,
  type Changed,
  decodeLogBatch,
  decodeNumber,
  encodeLogBatch,
  encodeNumber,
  encodeValue,
  versionOf,
} from '@freshet/store/records'
import type { Tables } from './environment.js'
import type { DoneOperations } from './operations/done-operations.js'
import type { RecordArena } from './record-arena.js'
import { encodeHead, type Head } from './records.js'

/** How many records of the log are deleted in one transaction: few enough that commits waiting behind it hardly notice. */
const TRIM_RECORDS_MAX = 1000
const NOTHING = new Uint8Array(0)

export interface BatchOptions {
  readonly tables: Tables
  /** Its records must stay allocated until the batch has been applied and is on disk. */
  readonly arena: RecordArena
  readonly head: Head
  readonly nowMs: number
  readonly operations: DoneOperations
}

export class Batch {
  readonly #tables: Tables
  readonly #operations: DoneOperations
  readonly #commits: CommitBatch<Uint8Array>
  readonly #memory = new Map<string, Uint8Array>()
  /** Entries of dropped indexes, to be removed. */
  #swept: readonly Buffer[] = []
  #trimmedTo: Position | undefined
  #trimmed: readonly Position[] = []
  #hasUpkeep = false
  #endsRelaxed = false

  constructor({ tables, arena, head, nowMs, operations }: BatchOptions) {
    this.#tables = tables
    this.#operations = operations
    // The time of log entries never goes back, even if the clock from which it started did.
    const timeMs = Math.max(head.timeMs, nowMs)
    operations.begin(timeMs, head.position)
    this.#commits = new CommitBatch(new TablesState(tables, arena, { position: head.position, timeMs }, operations))
  }

  /** The position after this batch. */
  get position(): Position {
    return this.#commits.position
  }

  /** The time of its log entries. */
  get timeMs(): number {
    return this.#commits.timeMs
  }

  /** The changes of all its commits together. */
  get changed(): Changed {
    const { values, log } = this.#commits
    return { keys: [...values.keys()], tags: [...new Set(log.flatMap(({ tags }) => tags))] }
  }

  /** If false, there is nothing to apply. */
  get hasChanges(): boolean {
    return this.#hasUpkeep || this.#commits.hasChanges
  }

  /** The caller has checked the commit. */
  commit(commit: Commit): CommitResult {
    return this.#commits.commit(commit)
  }

  /** A second entry, with a later time, for changes that are already in the log. */
  logAgain(changed: Changed): void {
    this.#commits.logAgain(changed)
  }

  remember(name: string, value: Uint8Array): void {
    this.#hasUpkeep = true
    this.#memory.set(name, value)
  }

  /** Stores the clock even if nothing else is written. */
  checkpoint(): void {
    this.#hasUpkeep = true
  }

  /** Records that all that was written without flushes has been flushed. */
  endRelaxed(): void {
    this.#hasUpkeep = true
    this.#endsRelaxed = true
  }

  /** Takes one step of a trim. True if nothing is left to delete. */
  trim(upTo: Position): boolean {
    const before = this.#trimmedTo ?? readTrimmedTo(this.#tables)
    this.#trimmedTo = Math.max(before, Math.min(upTo, this.position))
    // Another trim in the same batch has already taken its step.
    if (this.#trimmed.length > 0) return false
    const range = { start: 0, end: this.#trimmedTo + 1, limit: TRIM_RECORDS_MAX }
    this.#trimmed = [...this.#tables.log.getKeys(range)]
    this.#hasUpkeep ||= this.#trimmed.length > 0 || this.#trimmedTo > before
    return this.#trimmed.length < TRIM_RECORDS_MAX
  }

  /** Takes one step of building a bucket's indexes. True if there may be more to do. */
  buildIndexes(bucket: Key): boolean {
    const indexes = this.#commits.indexesOf(bucket)
    const [first] = unbuiltOf(indexes)
    if (first === undefined) return false
    const folder = `${bucket}/`
    // The key after every key in the folder: 0 is the character after the slash.
    const range = { start: folder + (first.cursor ?? ''), end: `${bucket}0` }
    const total = first.total || this.#tables.values.getKeysCount({ ...range })
    const exclusiveStart = first.cursor !== undefined
    const found = [...this.#tables.values.getRange({ ...range, exclusiveStart, limit: STEP_OBJECTS })]
    const { values } = this.#commits
    const objects = found.map(({ key, value }): [string, Content | undefined] => {
      const record = values.has(key) ? values.get(key) : value
      return [key.slice(folder.length), record && bodyOf(record)]
    })
    const cursor = found.length < STEP_OBJECTS ? undefined : objects.at(-1)![0]
    this.#commits.build(bucket, buildStep(indexes, objects, { cursor, total }))
    return true
  }

  /** Takes one step of forgetting operations. Returns where to continue; undefined if nothing is left to forget. */
  forgetOperations(after: string | undefined): string | undefined {
    const last = this.#operations.forget(after)
    this.#hasUpkeep ||= this.#operations.hasChanges
    return last
  }

  /** Takes one step of removing the entries of dropped indexes. */
  sweepIndexes(): void {
    this.#hasUpkeep = true
    const { last, dropped } = this.#commits.indexNumbers
    const [number] = dropped
    if (number === undefined) return
    const { low, high } = entriesUnder(indexPrefix(number))
    this.#swept = [...this.#tables.entries.getKeys({ start: low, end: high, limit: STEP_OBJECTS })]
    if (this.#swept.length === 0) this.#commits.setNumbers({ last, dropped: dropped.slice(1) })
  }

  /** The only place that writes to LMDB's tables. */
  apply(epoch: number): void {
    const { values, buckets, log, memory, meta } = this.#tables
    const commits = this.#commits
    for (const [key, record] of commits.values) record ? values.put(key, record) : values.remove(key)
    for (const [bucket, position] of commits.buckets) buckets.put(bucket, encodeNumber(position))
    if (commits.log.length > 0) log.put(this.position, encodeLogBatch(this.timeMs, commits.log))
    this.#applyIndexes(epoch)
    this.#operations.apply(epoch)
    for (const [name, value] of this.#memory) memory.put(name, value)
    if (this.#trimmedTo !== undefined) meta.put('trimmed', encodeNumber(this.#trimmedTo), epoch)
    for (const position of this.#trimmed) log.remove(position)
    if (this.#endsRelaxed) meta.remove('relaxed')
    meta.put('head', encodeHead({ epoch, position: this.position, timeMs: this.timeMs }), epoch)
  }

  #applyIndexes(epoch: number): void {
    const { indexes, entries, tags, meta } = this.#tables
    for (const key of this.#swept) entries.remove(key)
    for (const { index, values, id, isThere } of this.#commits.entries) {
      const key = entryKey(index, values, id)
      isThere ? entries.put(key, NOTHING) : entries.remove(key)
    }
    for (const [tag, position] of this.#commits.tags) tags.put(tagKey(tag), encodeNumber(position))
    for (const [bucket, records] of this.#commits.indexes) indexes.put(bucket, encodeIndexes(records))
    const { changedNumbers } = this.#commits
    if (changedNumbers !== undefined) meta.put('indexes', encodeNumbers(changedNumbers), epoch)
  }
}

class TablesState implements BatchState<Uint8Array> {
  readonly position: Position
  readonly timeMs: number
  readonly operations: OperationTables
  readonly retentionMs: number
  readonly #tables: Tables
  readonly #arena: RecordArena

  constructor(
    tables: Tables,
    arena: RecordArena,
    { position, timeMs }: Pick<Head, 'position' | 'timeMs'>,
    operations: DoneOperations,
  ) {
    this.#tables = tables
    this.#arena = arena
    this.position = position
    this.timeMs = timeMs
    this.operations = operations
    this.retentionMs = operations.retentionMs
  }

  get indexNumbers(): IndexNumbers {
    return decodeNumbers(this.#tables.meta.get('indexes'))
  }

  /** Valid until LMDB's next read. */
  kept(key: Key): Uint8Array | undefined {
    const { values } = this.#tables
    return values.getBinaryFast(key)?.subarray(0, values.lastSize)
  }

  keep(position: Position, write: PutWrite): Uint8Array {
    return encodeValue(position, write, this.#arena.allocate)
  }

  versionIn(record: Uint8Array): Version {
    return versionOf(record)
  }

  contentIn(record: Uint8Array): Content | undefined {
    return bodyOf(record)
  }

  bucketVersion(bucket: Key): Version {
    const record = this.#tables.buckets.get(bucket)
    return record ? decodeNumber(record) : 0
  }

  indexesOf(bucket: Key): readonly IndexRecord[] {
    return decodeIndexes(this.#tables.indexes.get(bucket))
  }

  tagVersion(tag: Tag): Version {
    const record = this.#tables.tags.get(tagKey(tag))
    return record ? decodeNumber(record) : 0
  }

  *changesAfter(position: Position): Generator<readonly Key[] | undefined> {
    if (position < readTrimmedTo(this.#tables)) yield undefined
    for (const { key, value } of this.#tables.log.getRange({ start: position + 1 })) {
      for (const entry of decodeLogBatch(key, value)) if (entry.position > position) yield entry.keys
    }
  }
}

function readTrimmedTo({ meta }: Tables): Position {
  const record = meta.get('trimmed')
  return record ? decodeNumber(record) : 0
}
