/**
 * A store in a process beside the one that writes, such as a worker of a cluster. It reads the same files by itself, on
 * its own core; what it writes goes over the channel to the writer.
 */
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import {
  type BucketChange,
  type Commit,
  type CommitResult,
  checkCommit,
  checkPosition,
  type IndexState,
  type Key,
  type LogEntry,
  type MaybePromise,
  type OperationCounts,
  type Position,
  type Query,
  type QueryPage,
  type QueryVersion,
  type ScanPage,
  type ScanRange,
  type Snapshot,
  type Store,
  type StoredValue,
  type StoreSupports,
} from '@freshet/core/store'
import type { Attached, ReaderChannel } from './channel.js'
import { CommitListeners } from './commit-listeners.js'
import { type Engine, openEngine } from './engine.js'
import { storeClosed } from './engine-errors.js'
import { Reads } from './reads.js'
import { checkStorable } from './records.js'
import { StoreClock } from './store-clock.js'
import { checkFormat, openingFailed } from './store-folder.js'
import { WriterLine } from './writer-line.js'

export interface EmbeddedReaderOptions {
  /** The folder that the writer has open. */
  readonly path: string
  /** Leads to the writer, which has passed its end to `serveReaders(store).attach`. */
  readonly channel: ReaderChannel
  /** So many entries a query may look at for one page; 10,000 unless given. */
  readonly scanMax?: number
}

/** Resolves once the writer has answered. Throws what the writer's store throws, or STORE_CLOSED if the channel ends. */
export async function openEmbeddedReader(options: EmbeddedReaderOptions): Promise<Store> {
  const { path, channel, scanMax = SCAN_MAX_DEFAULT } = options
  const line = new WriterLine(path, channel)
  const attached = await line.attach()
  try {
    const engine = await openEngine({ path, mode: 'reading', inspect: meta => checkFormat(path, meta) })
    return new EmbeddedReader({ path, line, engine, attached, scanMax })
  } catch (error) {
    line.end(storeClosed(path))
    throw openingFailed(path, error)
  }
}

interface EmbeddedReaderParts {
  readonly path: string
  readonly line: WriterLine
  readonly engine: Engine
  readonly attached: Attached
  readonly scanMax: number
}

class EmbeddedReader implements Store {
  readonly supports: StoreSupports
  readonly log: string
  readonly #path: string
  readonly #line: WriterLine
  readonly #engine: Engine
  readonly #reads: Reads
  readonly #clock: StoreClock
  readonly #listeners = new CommitListeners()
  #closing: Promise<void> | undefined

  constructor({ path, line, engine, attached: { clock, durability, retentionMs }, scanMax }: EmbeddedReaderParts) {
    this.supports = { durability, multiKeyCommits: true, queries: true, retentionMs }
    this.log = engine.meta.get('log')!.toString()
    this.#path = path
    this.#line = line
    this.#engine = engine
    this.#reads = new Reads({ path, engine, mark: line.mark, isShared: true, scanMax })
    this.#clock = new StoreClock(clock)
    line.onDurable = position => this.#listeners.notifySoon(position)
  }

  get(key: Key): MaybePromise<StoredValue | undefined> {
    this.#checkOpen()
    return this.#reads.get(key)
  }

  async getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    this.#checkOpen()
    return this.#reads.getMany(keys)
  }

  async scan(bucket: Key, range?: ScanRange): Promise<ScanPage> {
    this.#checkOpen()
    return this.#reads.scan(bucket, range)
  }

  async query(bucket: Key, query: Query): Promise<QueryPage> {
    this.#checkOpen()
    return this.#reads.query(bucket, query)
  }

  async queryVersion(bucket: Key, query: Query): Promise<QueryVersion> {
    this.#checkOpen()
    return this.#reads.queryVersion(bucket, query)
  }

  async indexes(bucket: Key): Promise<readonly IndexState[]> {
    this.#checkOpen()
    return this.#reads.indexes(bucket)
  }

  async buckets(): Promise<readonly BucketChange[]> {
    this.#checkOpen()
    return this.#reads.buckets()
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#checkOpen()
    checkCommit(commit)
    checkStorable(commit)
    return (await this.#line.ask({ commit })) as CommitResult
  }

  async forgetOperations(): Promise<void> {
    this.#checkOpen()
    await this.#line.ask({ forgetOperations: true })
  }

  async operationCounts(): Promise<OperationCounts> {
    this.#checkOpen()
    return (await this.#line.ask({ countOperations: true })) as OperationCounts
  }

  position(): MaybePromise<Position> {
    this.#checkOpen()
    return this.#reads.position()
  }

  changes(after: Position, limit?: number): MaybePromise<readonly LogEntry[]> {
    this.#checkOpen()
    return this.#reads.changes(after, limit)
  }

  trimmedTo(): Position {
    this.#checkOpen()
    return this.#reads.trimmedTo()
  }

  async trim(upTo: Position): Promise<void> {
    this.#checkOpen()
    checkPosition('upTo', upTo)
    await this.#line.ask({ trim: upTo })
  }

  nowMs(): number {
    this.#checkOpen()
    return this.#clock.nowMs()
  }

  onCommit(listener: (position: Position) => void): () => void {
    this.#checkOpen()
    return this.#listeners.add(listener)
  }

  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    this.#checkOpen()
    return (await this.#line.ask({ hold: name, holder, ms })) as boolean
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    this.#checkOpen()
    await this.#line.ask({ remember: name, value: value.slice() })
  }

  recall(name: string): Uint8Array | undefined {
    this.#checkOpen()
    return this.#reads.recall(name)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.all([this.#line.idle(), this.#reads.idle()])
    this.#line.detach()
    this.#listeners.clear()
    await this.#engine.close()
  }

  #checkOpen(): void {
    if (this.#closing) throw storeClosed(this.#path)
  }
}
