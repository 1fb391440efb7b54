/**
 * A batch of commits over a state that is read and locked as a whole before anything is decided, as in SQL databases and
 * logs. The same transaction writes the result (`Changes`).
 */
import { randomUUID } from 'node:crypto'
import type { BuildStep, Content, IndexNumbers, IndexRecord } from '@freshet/core/commit'
import type { ClientWindow, ForeignOperation, OperationTables, RetentionOptions } from '@freshet/core/counters'
import type { Commit, CommitResult, Key, Position, PutWrite, StoredValue, Tag, Version } from '@freshet/core/store'
import type { OwnOperationId } from '@freshet/protocol'
import { type BatchState, CommitBatch } from '../commits/commit-batch.js'
import { entryKey } from '../indexes/index-keys.js'
import { decodeIndexes, encodeIndexes, tagKey } from '../indexes/index-records.js'
import type { ChangedBefore, Changes, LockedState } from './database.js'

const NOTHING_BEFORE: ChangedBefore = { after: 0, entries: [] }

export class LockedBatch {
  /** Identifies the batch in the log if the reply to its transaction was lost. */
  readonly id: string = randomUUID()
  readonly #state: LockedTables
  readonly #batch: CommitBatch<StoredValue>

  constructor(state: LockedState, { retentionMs }: RetentionOptions, changedBefore: ChangedBefore = NOTHING_BEFORE) {
    this.#state = new LockedTables(state, retentionMs, changedBefore)
    this.#batch = new CommitBatch(this.#state)
  }

  /** The position of its last commit. */
  get position(): Position {
    return this.#batch.position
  }

  /** How many commits have taken a position. */
  get commits(): number {
    return this.#batch.log.length
  }

  /** The caller has checked the commit. */
  commit(commit: Commit): CommitResult {
    return this.#batch.commit(commit)
  }

  indexesOf(bucket: Key): readonly IndexRecord[] {
    return this.#batch.indexesOf(bucket)
  }

  /** Adds the result of a step of building indexes. */
  build(bucket: Key, step: BuildStep): void {
    this.#batch.build(bucket, step)
  }

  /** Undefined if there is nothing to write. */
  finish(): Changes | undefined {
    return this.#batch.hasChanges ? this.everything() : undefined
  }

  everything(): Changes {
    const { position, timeMs, values, buckets, log, indexes, changedNumbers, entries, tags } = this.#batch
    const spelled = entries.map(({ index, values, id, isThere }) => ({ key: entryKey(index, values, id), isThere }))
    return {
      position,
      timeMs,
      values,
      buckets,
      log: log.length === 0 ? undefined : { batch: this.id, commits: log },
      indexes: new Map(Array.from(indexes, ([bucket, records]) => [bucket, encodeIndexes(records)])),
      numbers: changedNumbers,
      // Of several changes of one entry, the last counts.
      entries: new Map(spelled.map(entry => [entry.key.toString('latin1'), entry])),
      tags: new Map(Array.from(tags, ([tag, version]) => [tagKey(tag), version])),
      windows: this.#state.windows,
      foreign: this.#state.foreigns,
    }
  }
}

class LockedTables implements BatchState<StoredValue>, OperationTables {
  readonly retentionMs: number
  readonly windows = new Map<string, ClientWindow>()
  readonly foreigns = new Map<string, ForeignOperation>()
  readonly #state: LockedState
  readonly #changedBefore: ChangedBefore

  constructor(state: LockedState, retentionMs: number, changedBefore: ChangedBefore) {
    this.#state = state
    this.retentionMs = retentionMs
    this.#changedBefore = changedBefore
  }

  get position(): Position {
    return this.#state.head.position
  }

  get timeMs(): number {
    return this.#state.head.timeMs
  }

  get indexNumbers(): IndexNumbers {
    return this.#state.head.numbers
  }

  get operations(): OperationTables {
    return this
  }

  kept(key: Key): StoredValue | undefined {
    return this.#state.values.get(key)
  }

  keep(version: Position, { contentType, body }: PutWrite): StoredValue {
    return { version, contentType, body }
  }

  versionIn({ version }: StoredValue): Version {
    return version
  }

  contentIn(value: StoredValue): Content {
    return value
  }

  bucketVersion(bucket: Key): Version {
    return this.#state.buckets.get(bucket) ?? 0
  }

  indexesOf(bucket: Key): readonly IndexRecord[] {
    return decodeIndexes(this.#state.indexes.get(bucket))
  }

  tagVersion(tag: Tag): Version {
    return this.#state.tags.get(tagKey(tag)) ?? 0
  }

  *changesAfter(position: Position): Generator<readonly Key[] | undefined> {
    if (position < Math.max(this.#state.head.trimmedTo, this.#changedBefore.after)) yield undefined
    for (const entry of this.#changedBefore.entries) if (entry.position > position) yield entry.keys
  }

  window(client: string): ClientWindow | undefined {
    return this.windows.get(client) ?? this.#state.windows.get(client)
  }

  setWindow({ client }: OwnOperationId, window: ClientWindow): void {
    this.windows.set(client, window)
  }

  foreign(id: string): ForeignOperation | undefined {
    return this.foreigns.get(id) ?? this.#state.foreign.get(id)
  }

  setForeign(id: string, operation: ForeignOperation): void {
    this.foreigns.set(id, operation)
  }
}
