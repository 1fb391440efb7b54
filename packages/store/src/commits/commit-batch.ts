/**
 * What one transaction will do, decided before it does any of it. Each commit of the batch is decided (`decide` of core) by
 * the state with the effects of the commits before it, and its effects are collected here. So a conflict in one commit
 * affects no other, and an error while deciding cannot leave half a commit behind.
 *
 * Engines keep values in different forms: `Kept` is the form of this engine.
 */
import {
  type BuildStep,
  type CommitView,
  type Content,
  decide,
  type EntryChange,
  type IndexNumbers,
  type IndexRecord,
} from '@freshet/core/commit'
import {
  type ClientWindow,
  type ForeignOperation,
  type OperationTables,
  rememberOperation,
} from '@freshet/core/counters'
import {
  type Commit,
  type CommitResult,
  declaredAt,
  type Key,
  type Position,
  type PutWrite,
  type Tag,
  type Version,
} from '@freshet/core/store'
import { bucketOfKey } from '@freshet/protocol'
import type { Changed } from '../records/log-batch.js'

/** The state before a batch, all of it in memory; a result is valid until the next call. */
export interface BatchState<Kept> {
  readonly position: Position
  /** The time of the commits. */
  readonly timeMs: number
  readonly retentionMs: number
  readonly indexNumbers: IndexNumbers
  /** The operations that were done, and where they are recorded. */
  readonly operations: OperationTables
  kept(key: Key): Kept | undefined
  /** A value in the form in which the engine keeps it. */
  keep(position: Position, write: PutWrite): Kept
  versionIn(kept: Kept): Version
  contentIn(kept: Kept): Content | undefined
  bucketVersion(bucket: Key): Version
  indexesOf(bucket: Key): readonly IndexRecord[]
  tagVersion(tag: Tag): Version
  /** The keys of each commit after a position; undefined among them: some are no longer known. */
  changesAfter(position: Position): Iterable<readonly Key[] | undefined>
}

export class CommitBatch<Kept> implements CommitView {
  /** The new value of each key; undefined: the key is deleted. */
  readonly values: Map<Key, Kept | undefined> = new Map()
  readonly buckets: Map<Key, Position> = new Map()
  /** What each commit changes. */
  readonly log: Changed[] = []
  readonly tags: Map<Tag, Position> = new Map()
  /** In the order in which they take effect. */
  readonly entries: EntryChange[] = []
  readonly #state: BatchState<Kept>
  /** Those that were read so far. */
  readonly #indexes = new Map<Key, readonly IndexRecord[]>()
  readonly #redeclared = new Set<Key>()
  #numbers: IndexNumbers | undefined
  #position: Position
  #hasRemembered = false

  constructor(state: BatchState<Kept>) {
    this.#state = state
    this.#position = state.position
  }

  /** The position after this batch. */
  get position(): Position {
    return this.#position
  }

  get timeMs(): number {
    return this.#state.timeMs
  }

  get retentionMs(): number {
    return this.#state.retentionMs
  }

  /** If false, there is nothing to write. */
  get hasChanges(): boolean {
    return this.log.length > 0 || this.#hasRemembered || this.entries.length > 0 || this.#redeclared.size > 0
  }

  /** The buckets whose indexes have changed. */
  get indexes(): ReadonlyMap<Key, readonly IndexRecord[]> {
    return new Map(Array.from(this.#redeclared, bucket => [bucket, this.indexesOf(bucket)]))
  }

  /** Undefined if they have not changed. */
  get changedNumbers(): IndexNumbers | undefined {
    return this.#numbers
  }

  get indexNumbers(): IndexNumbers {
    return this.#numbers ?? this.#state.indexNumbers
  }

  /** The caller has checked the commit. */
  commit(commit: Commit): CommitResult {
    const { result, effects } = decide(commit, this)
    if (effects === undefined) return result
    const { position, writes, indexes, operation, units } = effects
    if (indexes) {
      for (const [bucket, records] of indexes.declared) this.#setIndexes(bucket, records)
      if (indexes.numbers) this.setNumbers(indexes.numbers)
      this.entries.push(...indexes.entries)
      for (const tag of indexes.tags) this.tags.set(tag, position)
    }
    for (const write of writes) {
      const { key } = write
      this.values.set(key, 'delete' in write ? undefined : this.#state.keep(position, write))
      this.buckets.set(bucketOfKey(key), position)
    }
    if (writes.length > 0) {
      this.#position = position
      this.log.push({ keys: writes.map(({ key }) => key), tags: indexes ? [...indexes.tags] : NONE })
    }
    if (operation) {
      this.#hasRemembered = true
      rememberOperation(operation, { position, units }, this.#state.operations, this.timeMs)
    }
    return result
  }

  /** A second entry, with a later time, for changes that are already in the log. */
  logAgain(changed: Changed): void {
    this.#position++
    this.log.push(changed)
  }

  setNumbers(numbers: IndexNumbers): void {
    this.#numbers = numbers
  }

  /** A step of building the indexes of a bucket. */
  build(bucket: Key, { indexes, entries }: BuildStep): void {
    this.#setIndexes(bucket, indexes)
    this.entries.push(...entries)
  }

  #setIndexes(bucket: Key, indexes: readonly IndexRecord[]): void {
    this.#indexes.set(bucket, indexes)
    this.#redeclared.add(bucket)
  }

  versionOf(key: Key): Version {
    const kept = this.#keptOf(key)
    return kept === undefined ? 0 : this.#state.versionIn(kept)
  }

  contentOf(key: Key): Content | undefined {
    const kept = this.#keptOf(key)
    return kept === undefined ? undefined : this.#state.contentIn(kept)
  }

  bucketVersion(bucket: Key): Version {
    return this.buckets.get(bucket) ?? this.#state.bucketVersion(bucket)
  }

  /** The changes of this batch first, since they are in memory. */
  *changesAfter(position: Position): Generator<readonly Key[] | undefined> {
    const before = this.#position - this.log.length
    for (const { keys } of this.log.slice(Math.max(0, position - before))) yield keys
    yield* this.#state.changesAfter(position)
  }

  tagVersion(tag: Tag): Version {
    return this.tags.get(tag) ?? this.#state.tagVersion(tag)
  }

  declaredAt(bucket: Key, fields: readonly string[]): Position | undefined {
    return declaredAt(this.indexesOf(bucket), fields)
  }

  indexesOf(bucket: Key): readonly IndexRecord[] {
    let found = this.#indexes.get(bucket)
    if (found === undefined) {
      found = this.#state.indexesOf(bucket)
      this.#indexes.set(bucket, found)
    }
    return found
  }

  window(client: string): ClientWindow | undefined {
    return this.#state.operations.window(client)
  }

  foreign(id: string): ForeignOperation | 'seen' | 'full' | undefined {
    return this.#state.operations.foreign(id)
  }

  #keptOf(key: Key): Kept | undefined {
    return this.values.has(key) ? this.values.get(key) : this.#state.kept(key)
  }
}

const NONE: readonly never[] = []
