/**
 * What one write transaction will do, decided before it does any of it: every commit of the batch is validated against
 * the state with the effects of those before it, and what it writes is collected. So a conflict in one touches no other,
 * and nothing that can go wrong in deciding can leave half a commit behind.
 *
 * It is decided outside of the transaction. That is sound because there is one writer with one transaction at a time: the
 * state cannot change in between, or else the epoch has, and then the transaction does nothing.
 */
import { addTo, COUNTER_TYPE, judgeOperation, rememberOperation, replayOf } from '@freshet/core/counters'
import {
  type Addition,
  type Commit,
  type CommitResult,
  type CounterRefusal,
  changedLists,
  indexesIn,
  type Key,
  type Operation,
  type Position,
  type PutWrite,
  type ReadVersion,
  type Tag,
  type Version,
} from '@freshet/core/store'
import { bucketOfKey, idOfKey } from '@freshet/protocol'
import type { Tables } from './engine.js'
import { IndexChanges, STEP_OBJECTS } from './indexes/index-changes.js'
import type { DoneOperations } from './operations/done-operations.js'
import type { RecordArena } from './record-arena.js'
import {
  bodyOf,
  type Changed,
  type Content,
  decodeLogBatch,
  decodeNumber,
  encodeHead,
  encodeLogBatch,
  encodeNumber,
  encodeValue,
  type Head,
  versionOf,
} from './records.js'

/** An object's record, as it is or will be in the table of values; undefined: not there. */
type ObjectRecord = Uint8Array | undefined

/** So many records of the log are deleted in one transaction: commits that wait behind it hardly notice. */
const TRIM_RECORDS_MAX = 1000

export interface BatchOptions {
  readonly tables: Tables
  /** Its records are there until it has been applied, and that is on disk. */
  readonly arena: RecordArena
  readonly head: Head
  readonly nowMs: number
  readonly operations: DoneOperations
}

export class Batch {
  readonly #tables: Tables
  readonly #arena: RecordArena
  /** What each key will hold: a record, with its version in it; undefined: nothing. */
  readonly #values = new Map<Key, ObjectRecord>()
  readonly #buckets = new Map<Key, Position>()
  readonly #indexes: IndexChanges
  readonly #operations: DoneOperations
  /** What each commit changes. */
  readonly #log: Changed[] = []
  readonly #memory = new Map<string, Uint8Array>()
  #trimmedTo: Position | undefined
  #trimmed: readonly Position[] = []
  #position: Position
  #timeMs: number
  #hasChanges = false
  #endsRelaxed = false

  constructor({ tables, arena, head, nowMs, operations }: BatchOptions) {
    this.#tables = tables
    this.#arena = arena
    this.#indexes = new IndexChanges(tables)
    this.#position = head.position
    // The clock of a log entry never goes back, even if the clock that it was started from did.
    this.#timeMs = Math.max(head.timeMs, nowMs)
    this.#operations = operations
    operations.begin(this.#timeMs, head.position)
  }

  /** The position after this batch. */
  get position(): Position {
    return this.#position
  }

  /** The time that its log entries have. */
  get timeMs(): number {
    return this.#timeMs
  }

  /** What its commits change, all together. */
  get changed(): Changed {
    return { keys: [...this.#values.keys()], tags: [...new Set(this.#log.flatMap(({ tags }) => tags))] }
  }

  /** If not, there is nothing to apply. */
  get hasChanges(): boolean {
    return this.#hasChanges
  }

  /** The commit has been checked. */
  commit(commit: Commit): CommitResult {
    const { reads = NONE, lists = NONE, adds = NONE, operation } = commit
    if (operation !== undefined) {
      const judged = judgeOperation(operation, this.#operations, this.#timeMs, this.#operations)
      if (judged.kind === 'replay') return replayOf(judged.done)
      if (judged.kind === 'refused') return { committed: false, conflicts: [], refusedOperation: judged.reason }
    }
    const conflicts = this.#conflicts(reads)
    const changed = changedLists(lists, this)
    if (changed.length > 0) return { committed: false, conflicts, changedLists: changed }
    if (conflicts.length > 0) return { committed: false, conflicts }
    const added = adds.length === 0 ? NOTHING_ADDED : this.#add(adds)
    if ('refusedAdds' in added) return { committed: false, conflicts, ...added }
    const { units } = added
    const writes = added.writes.length === 0 ? commit.writes : [...commit.writes, ...added.writes]
    if (writes.length === 0) return this.#changeNothing(operation)
    const position = ++this.#position
    this.#hasChanges = true
    // Indexes count from the commit that declares them, for all that it writes.
    for (const write of writes) {
      const indexes = indexesIn(write)
      if (indexes) this.#indexes.declare(write.key, indexes, position)
    }
    let tags: Set<Tag> | undefined
    for (const write of writes) {
      const { key } = write
      const bucket = bucketOfKey(key)
      const record = 'delete' in write ? undefined : encodeValue(position, write, this.#arena.allocate)
      if (this.#indexes.of(bucket).length > 0) {
        tags ??= new Set()
        this.#index(bucket, key, record, position, tags)
      }
      this.#values.set(key, record)
      this.#buckets.set(bucket, position)
    }
    this.#log.push({ keys: writes.map(({ key }) => key), tags: tags ? [...tags] : NONE })
    if (operation !== undefined) rememberOperation(operation, { position, units }, this.#operations, this.#timeMs)
    return adds.length === 0 ? { committed: true, position } : { committed: true, position, units }
  }

  /** Decides what counters come to. */
  #add(adds: readonly Addition[]): AddedUp | { readonly refusedAdds: readonly CounterRefusal[] } {
    const units: number[] = []
    const writes: PutWrite[] = []
    let refusedAdds: CounterRefusal[] | undefined
    for (const add of adds) {
      const sum = addTo(add, this.#bodyOf(add.key))
      if ('reason' in sum) {
        refusedAdds ??= []
        refusedAdds.push(sum)
      } else {
        units.push(sum.units)
        writes.push({ key: add.key, contentType: COUNTER_TYPE, body: sum.body })
      }
    }
    return refusedAdds ? { refusedAdds } : { units, writes }
  }

  #changeNothing(operation: Operation | undefined): CommitResult {
    const position = this.#position
    if (operation !== undefined) {
      this.#hasChanges = true
      rememberOperation(operation, { position, units: NONE }, this.#operations, this.#timeMs)
    }
    return { committed: true, position }
  }

  #index(bucket: Key, key: Key, record: ObjectRecord, position: Position, tags: Set<Tag>): void {
    const id = idOfKey(key)
    if (id === undefined) return
    const before = this.#recordOf(key)
    this.#indexes.write(
      { bucket, id, before: before && bodyOf(before), after: record && bodyOf(record) },
      position,
      tags,
    )
  }

  /** A second entry for changes that are in the log already, under a later time. */
  logAgain(changed: Changed): void {
    this.#position++
    this.#hasChanges = true
    this.#log.push(changed)
  }

  remember(name: string, value: Uint8Array): void {
    this.#hasChanges = true
    this.#memory.set(name, value)
  }

  /** Keeps the clock even if nothing else is to be written. */
  checkpoint(): void {
    this.#hasChanges = true
  }

  /** What was written without flushes has been flushed. */
  endRelaxed(): void {
    this.#hasChanges = true
    this.#endsRelaxed = true
  }

  /** One step of a trim. True if nothing is left to delete. */
  trim(upTo: Position): boolean {
    const before = this.#readTrimmedTo()
    this.#trimmedTo = Math.max(before, Math.min(upTo, this.#position))
    // Another trim of the same batch has taken its step.
    if (this.#trimmed.length > 0) return false
    const range = { start: 0, end: this.#trimmedTo + 1, limit: TRIM_RECORDS_MAX }
    this.#trimmed = [...this.#tables.log.getKeys(range)]
    this.#hasChanges ||= this.#trimmed.length > 0 || this.#trimmedTo > before
    return this.#trimmed.length < TRIM_RECORDS_MAX
  }

  /** One step of building a bucket's indexes. True if there may be more to do. */
  buildIndexes(bucket: Key): boolean {
    const indexes = this.#indexes.unbuilt(bucket)
    const [first] = indexes
    if (first === undefined) return false
    const folder = `${bucket}/`
    // What follows every key in the folder: 0 is the character after the slash.
    const range = { start: folder + (first.cursor ?? ''), end: `${bucket}0` }
    const total = first.total || this.#tables.values.getKeysCount({ ...range })
    const exclusiveStart = first.cursor !== undefined
    const found = [...this.#tables.values.getRange({ ...range, exclusiveStart, limit: STEP_OBJECTS })]
    const objects = found.map(({ key, value }): [string, Content | undefined] => {
      const record = this.#values.has(key) ? this.#values.get(key) : value
      return [key.slice(folder.length), record && bodyOf(record)]
    })
    const cursor = found.length < STEP_OBJECTS ? undefined : objects.at(-1)![0]
    this.#hasChanges = true
    this.#indexes.build(bucket, indexes, objects, { cursor, total })
    return true
  }

  /** One step of forgetting operations. Where to go on after it; undefined if nothing is left to forget. */
  forgetOperations(after: string | undefined): string | undefined {
    const last = this.#operations.forget(after)
    this.#hasChanges ||= this.#operations.hasChanges
    return last
  }

  /** One step of removing what is left of indexes that were dropped. */
  sweepIndexes(): void {
    this.#hasChanges = true
    this.#indexes.sweep()
  }

  /** Only here the engine's tables are written to. */
  apply(epoch: number): void {
    const { values, buckets, log, memory, meta } = this.#tables
    for (const [key, record] of this.#values) record ? values.put(key, record) : values.remove(key)
    for (const [bucket, position] of this.#buckets) buckets.put(bucket, encodeNumber(position))
    if (this.#log.length > 0) log.put(this.#position, encodeLogBatch(this.#timeMs, this.#log))
    this.#indexes.apply(epoch)
    this.#operations.apply(epoch)
    for (const [name, value] of this.#memory) memory.put(name, value)
    if (this.#trimmedTo !== undefined) meta.put('trimmed', encodeNumber(this.#trimmedTo), epoch)
    for (const position of this.#trimmed) log.remove(position)
    if (this.#endsRelaxed) meta.remove('relaxed')
    meta.put('head', encodeHead({ epoch, position: this.#position, timeMs: this.#timeMs }), epoch)
  }

  bucketVersion(bucket: Key): Position {
    const written = this.#buckets.get(bucket)
    if (written !== undefined) return written
    const record = this.#tables.buckets.get(bucket)
    return record ? decodeNumber(record) : 0
  }

  /** Those of this batch first, since they are at hand. Undefined if some have been trimmed. */
  *changesAfter(position: Position): Generator<readonly Key[] | undefined> {
    const before = this.#position - this.#log.length
    for (const { keys } of this.#log.slice(Math.max(0, position - before))) yield keys
    if (position < this.#readTrimmedTo()) yield undefined
    for (const { key, value } of this.#tables.log.getRange({ start: position + 1 })) {
      for (const entry of decodeLogBatch(key, value)) if (entry.position > position) yield entry.keys
    }
  }

  tagVersion(tag: Tag): Version {
    return this.#indexes.tagVersion(tag)
  }

  declaredAt(bucket: Key, fields: readonly string[]): Position | undefined {
    return this.#indexes.declaredAt(bucket, fields)
  }

  #readTrimmedTo(): Position {
    const record = this.#tables.meta.get('trimmed')
    return this.#trimmedTo ?? (record ? decodeNumber(record) : 0)
  }

  #conflicts(reads: readonly ReadVersion[]): readonly ReadVersion[] {
    if (reads.length === 0) return reads
    return reads
      .map(({ key, version }) => ({ key, version, found: this.#versionOf(key) }))
      .filter(({ version, found }) => version !== found)
      .map(({ key, found }) => ({ key, version: found }))
  }

  #versionOf(key: Key): Version {
    const isWritten = this.#values.has(key)
    const record = isWritten ? this.#values.get(key) : this.#tables.values.getBinaryFast(key)
    return record ? versionOf(record) : 0
  }

  #bodyOf(key: Key): Uint8Array | undefined {
    const record = this.#recordOf(key)
    return record && bodyOf(record)?.body
  }

  /** As the commits before in this batch leave it. Good until the engine's next read. */
  #recordOf(key: Key): ObjectRecord {
    if (this.#values.has(key)) return this.#values.get(key)
    const { values } = this.#tables
    return values.getBinaryFast(key)?.subarray(0, values.lastSize)
  }
}

const NONE: readonly never[] = []

interface AddedUp {
  readonly units: readonly number[]
  readonly writes: readonly PutWrite[]
}

const NOTHING_ADDED: AddedUp = { units: NONE, writes: NONE }
