/**
 * An engine in memory, which ends with its process: for tests, for the simulator, and as the shortest example of an engine.
 * Each method does its work at once, in one turn, so atomicity and order need no effort.
 */
import { randomUUID } from 'node:crypto'
import {
  type BucketChange,
  type Commit,
  type CommitResult,
  Holders,
  type Key,
  type OperationCounts,
  type Position,
  type StoredValue,
  type StoreSupports,
} from '@freshet/core/store'
import {
  CommitListeners,
  type Engine,
  type LogBegin,
  type LogPart,
  type Subject,
  type View,
} from '@freshet/store/engine'
import { BucketState } from './bucket-state.js'
import { MemoryTables } from './memory-tables.js'

export interface MemoryEngineOptions {
  readonly clock: () => number
  /** Its positions are greater than this one. */
  readonly start: Position
  readonly retentionMs: number
}

const NO_STATE = new BucketState({ version: 0, indexes: [], tagVersions: new Map(), values: new Map() })

export class MemoryEngine implements Engine {
  readonly place = 'this process'
  readonly supports: StoreSupports
  readonly log: string = randomUUID()
  readonly hasLeases = true
  readonly listeners: CommitListeners = new CommitListeners()
  readonly #clock: () => number
  readonly #tables: MemoryTables
  readonly #holders = new Holders()
  readonly #memories = new Map<string, Uint8Array>()
  #timeMs = 0

  constructor({ clock, start, retentionMs }: MemoryEngineOptions) {
    this.supports = { durability: 'none', retentionMs }
    this.#clock = clock
    this.#tables = new MemoryTables(start, retentionMs)
  }

  get(key: Key): StoredValue | undefined {
    const found = this.#tables.find(key)
    return found && owned(found)
  }

  inOneState<Result>({ bucket }: Subject, read: (view: View) => Promise<Result>): Promise<Result> {
    return read(this.#viewOf(bucket))
  }

  async buckets(): Promise<BucketChange[]> {
    return Array.from(this.#tables.buckets, ([bucket, { version }]) => ({ bucket, version }))
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const before = this.#tables.position
    const result = this.#tables.commit(commit, this.nowMs())
    if (this.#tables.position > before) this.listeners.notifySoon(this.#tables.position)
    return result
  }

  position(): Position {
    return this.#tables.position
  }

  changes(after: Position): LogPart {
    return { ...this.begin(), entries: this.#tables.entriesAfter(after) }
  }

  begin(): LogBegin {
    return { log: this.log, trimmedTo: this.#tables.trimmedTo }
  }

  async trim(upTo: Position): Promise<void> {
    this.#tables.trim(upTo)
  }

  nowMs(): number {
    this.#timeMs = Math.max(this.#timeMs, this.#clock())
    return this.#timeMs
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    this.#memories.set(name, value)
  }

  recall(name: string): Uint8Array | undefined {
    return this.#memories.get(name)?.slice()
  }

  hold(name: string, holder: string, ms: number): boolean {
    return this.#holders.hold(name, holder, ms, this.nowMs())
  }

  async forgetOperations(): Promise<void> {
    this.#tables.operations.forget(this.nowMs(), this.supports)
  }

  operationCounts(): OperationCounts {
    return this.#tables.operations.counts()
  }

  async close(): Promise<void> {}

  /** A view of one bucket as it is now; without a bucket, of keys, for a single read. */
  #viewOf(bucket: Key | undefined): View {
    const { position, buckets } = this.#tables
    const state = bucket === undefined ? undefined : (buckets.get(bucket)?.state ?? NO_STATE)
    const { version, indexes, tagVersions } = state ?? NO_STATE
    const find = (key: Key) => (state ? state.get(key) : this.#tables.find(key))
    return {
      page: (_, range) => ({ values: (state ?? NO_STATE).page(range).map(owned), version, position }),
      values: keys => ({ value: presentAmong(keys, find), position }),
      indexes: () => ({ value: { indexes, version }, position }),
      tagVersions: tags => new Map(tags.map(tag => [tag, tagVersions.get(tag) ?? 0])),
      entries: range => (state ?? NO_STATE).entries(range),
    }
  }
}

function presentAmong(keys: readonly Key[], find: (key: Key) => StoredValue | undefined): Map<Key, StoredValue> {
  const found = new Map<Key, StoredValue>()
  for (const key of keys) {
    const value = find(key)
    if (value) found.set(key, owned(value))
  }
  return found
}

/** The caller owns the bytes that it receives. */
function owned<Value extends StoredValue>(value: Value): Value {
  return { ...value, body: value.body.slice() }
}
