/**
 * What one transaction will do, decided while it holds the head: every commit of the batch is validated against the state with
 * the effects of those before it, and what it writes is collected. The same decisions as `../embedded/batch.ts` makes, without
 * that one's care for memory; what they are made of is in core.
 */
import { randomUUID } from 'node:crypto'
import {
  addTo,
  type ClientWindow,
  COUNTER_TYPE,
  type ForeignOperation,
  judgeOperation,
  type OperationTables,
  type RetentionOptions,
  rememberOperation,
  replayOf,
} from '@freshet/core/counters'
import {
  type Addition,
  type Commit,
  type CommitResult,
  changedLists,
  indexesIn,
  type Key,
  type LogEntry,
  type Position,
  type PutWrite,
  type ReadVersion,
  type StoredValue,
  type Tag,
  type Version,
} from '@freshet/core/store'
import { bucketOfKey, idOfKey, type OwnOperationId } from '@freshet/protocol'
import { IndexChanges, type IndexTables } from '../embedded/indexes/index-changes.js'
import { decodeNumbers, encodeNumbers, type IndexNumbers } from '../embedded/indexes/index-records.js'
import { type Changed, decodeNumber, encodeNumber } from '../embedded/records.js'
import type { Changes, LockedState } from './sql-engine.js'

/** What the log has, as far as any list of the commits needs it, and as far as it was looked back. */
export interface ChangedBefore {
  readonly after: Position
  readonly entries: readonly LogEntry[]
}

const NOTHING_BEFORE: ChangedBefore = { after: 0, entries: [] }

export class SqlBatch implements OperationTables {
  /** By which it is found again, if nobody heard what became of it. */
  readonly id: string = randomUUID()
  readonly indexes: IndexChanges
  readonly #state: LockedState
  readonly #retention: RetentionOptions
  readonly #changedBefore: ChangedBefore
  readonly #values = new Map<Key, StoredValue | undefined>()
  readonly #buckets = new Map<Key, Position>()
  readonly #log: Changed[] = []
  readonly #windows = new Map<string, ClientWindow>()
  readonly #foreign = new Map<string, ForeignOperation>()
  readonly #indexRecords = new Map<Key, Uint8Array>()
  readonly #tags = new Map<Tag, Position>()
  readonly #entries = new Map<string, { readonly key: Buffer; readonly isThere: boolean }>()
  #numbers: IndexNumbers | undefined
  #position: Position

  constructor(state: LockedState, retention: RetentionOptions, changedBefore: ChangedBefore = NOTHING_BEFORE) {
    this.#state = state
    this.#retention = retention
    this.#changedBefore = changedBefore
    this.#position = state.head.position
    this.indexes = new IndexChanges(this.#indexTables())
  }

  /** After its last commit. */
  get position(): Position {
    return this.#position
  }

  /** How many have taken a position. */
  get commits(): number {
    return this.#log.length
  }

  /** The commit has been checked. */
  commit(commit: Commit): CommitResult {
    const { reads = [], lists = [], adds = [], operation } = commit
    const { timeMs } = this.#state.head
    if (operation !== undefined) {
      const judged = judgeOperation(operation, this, timeMs, this.#retention)
      if (judged.kind === 'replay') return replayOf(judged.done)
      if (judged.kind === 'refused') return { committed: false, conflicts: [], refusedOperation: judged.reason }
    }
    const conflicts = this.#conflicts(reads)
    const changed = changedLists(lists, this)
    if (changed.length > 0) return { committed: false, conflicts, changedLists: changed }
    if (conflicts.length > 0) return { committed: false, conflicts }
    const sums = adds.map(add => addTo(add, this.#valueOf(add.key)?.body))
    const refusedAdds = sums.filter(sum => 'reason' in sum)
    if (refusedAdds.length > 0) return { committed: false, conflicts, refusedAdds }
    const added = sums.filter(sum => 'body' in sum)
    const units = added.map(sum => sum.units)
    this.#write([...commit.writes, ...added.map(({ body }, i) => putOf(adds[i]!, body))])
    const position = this.#position
    if (operation !== undefined) rememberOperation(operation, { position, units }, this, timeMs)
    return { committed: true, position, ...(adds.length > 0 && { units }) }
  }

  #write(writes: Commit['writes']): void {
    if (writes.length === 0) return
    const position = ++this.#position
    // Indexes count from the commit that declares them, for all that it writes.
    for (const write of writes) {
      const indexes = indexesIn(write)
      if (indexes) this.indexes.declare(write.key, indexes, position)
    }
    const tags = new Set<Tag>()
    for (const write of writes) {
      const { key } = write
      const bucket = bucketOfKey(key)
      const id = idOfKey(key)
      const after =
        'delete' in write ? undefined : { version: position, contentType: write.contentType, body: write.body }
      if (id !== undefined && this.indexes.of(bucket).length > 0) {
        this.indexes.write({ bucket, id, before: this.#valueOf(key), after }, position, tags)
      }
      this.#values.set(key, after)
      this.#buckets.set(bucket, position)
    }
    this.#log.push({ keys: writes.map(({ key }) => key), tags: [...tags] })
  }

  /** Undefined if there is nothing to write. */
  finish(): Changes | undefined {
    this.indexes.apply(0)
    const remembered = this.#windows.size + this.#foreign.size
    const isEmpty = this.#log.length + this.#indexRecords.size + this.#entries.size + remembered === 0
    return isEmpty ? undefined : this.everything()
  }

  everything(): Changes {
    return {
      position: this.#position,
      timeMs: this.#state.head.timeMs,
      values: this.#values,
      buckets: this.#buckets,
      log: this.#log.length === 0 ? undefined : { batch: this.id, commits: this.#log },
      indexes: this.#indexRecords,
      numbers: this.#numbers,
      entries: this.#entries,
      tags: this.#tags,
      windows: this.#windows,
      foreign: this.#foreign,
    }
  }

  window(client: string): ClientWindow | undefined {
    return this.#windows.get(client) ?? this.#state.windows.get(client)
  }

  setWindow({ client }: OwnOperationId, window: ClientWindow): void {
    this.#windows.set(client, window)
  }

  foreign(id: string): ForeignOperation | undefined {
    return this.#foreign.get(id) ?? this.#state.foreign.get(id)
  }

  setForeign(id: string, operation: ForeignOperation): void {
    this.#foreign.set(id, operation)
  }

  bucketVersion(bucket: Key): Version {
    return this.#buckets.get(bucket) ?? this.#state.buckets.get(bucket) ?? 0
  }

  /** Those of this batch first, since they are at hand. Undefined if some have been trimmed. */
  *changesAfter(position: Position): Generator<readonly Key[] | undefined> {
    const { head } = this.#state
    for (const { keys } of this.#log.slice(Math.max(0, position - head.position))) yield keys
    if (position < Math.max(head.trimmedTo, this.#changedBefore.after)) yield undefined
    for (const entry of this.#changedBefore.entries) if (entry.position > position) yield entry.keys
  }

  tagVersion(tag: Tag): Version {
    return this.indexes.tagVersion(tag)
  }

  declaredAt(bucket: Key, fields: readonly string[]): Position | undefined {
    return this.indexes.declaredAt(bucket, fields)
  }

  #conflicts(reads: readonly ReadVersion[]): ReadVersion[] {
    return reads
      .map(({ key, version }) => ({ key, version, found: this.#valueOf(key)?.version ?? 0 }))
      .filter(({ version, found }) => version !== found)
      .map(({ key, found }) => ({ key, version: found }))
  }

  #valueOf(key: Key): StoredValue | undefined {
    return this.#values.has(key) ? this.#values.get(key) : this.#state.values.get(key)
  }

  /** The tables as they were read, and where what is put goes. */
  #indexTables(): IndexTables {
    const { indexes, tags, head } = this.#state
    return {
      indexes: {
        get: bucket => indexes.get(bucket),
        put: (bucket, record) => this.#indexRecords.set(bucket, record),
      },
      tags: {
        get: key => {
          const version = tags.get(key)
          return version === undefined ? undefined : Buffer.from(encodeNumber(version))
        },
        put: (key, record) => this.#tags.set(key, decodeNumber(Buffer.from(record))),
      },
      meta: {
        get: name => (name === 'indexes' ? Buffer.from(encodeNumbers(head.numbers)) : undefined),
        put: (name, record) => {
          if (name === 'indexes') this.#numbers = decodeNumbers(Buffer.from(record))
        },
      },
      entries: {
        getKeys: () => [],
        put: key => this.#entries.set(key.toString('latin1'), { key, isThere: true }),
        remove: key => this.#entries.set(key.toString('latin1'), { key, isThere: false }),
      },
    }
  }
}

function putOf({ key }: Addition, body: Uint8Array): PutWrite {
  return { key, contentType: COUNTER_TYPE, body }
}
