/**
 * The read half of an embedded store, the same in the process that writes and in those that only read.
 *
 * A read sees one state of the engine. What is in that state and above the durable mark is waited for, not left out: the
 * older value is no longer to be had, and what was read becomes true for everyone the moment it is durable. (Absence, too:
 * a deletion leaves no version behind, so a miss asks how far the state goes.)
 */
import { setImmediate } from 'node:timers/promises'
import {
  type BucketChange,
  CHANGES_LIMIT_DEFAULT,
  checkLimit,
  checkPosition,
  compareUtf8,
  type IndexState,
  isBeyond,
  isWithin,
  type Key,
  type LogEntry,
  type MaybePromise,
  type Position,
  type Query,
  type QueryPage,
  type QueryVersion,
  type ScanPage,
  type ScanRange,
  type Snapshot,
  type StoredEntry,
  type StoredValue,
  scanLimit,
} from '@freshet/core/store'
import { checkQuery, FreshetError } from '@freshet/protocol'
import type { DurableMark } from './durable-mark.js'
import type { Engine, ReadTransaction } from './engine.js'
import { storeDamaged } from './engine-errors.js'
import { QueryReads } from './indexes/query-reads.js'
import { countOperations } from './operations/done-operations.js'
import { decodeHead, decodeLogBatch, decodeNumber, decodeValue, type Head, isTooLong } from './records.js'

/** After so many entries a scan lets others have the thread. */
const ENTRIES_PER_TURN = 500

export interface ReadsOptions {
  readonly path: string
  readonly engine: Engine
  readonly mark: DurableMark
  /**
   * Other processes commit, too. The engine lets the reads of one turn share a state, and in that turn a commit may have
   * been acknowledged elsewhere; so each read begins with the latest state. Where only this process commits, the engine
   * moves on by itself before a commit is acknowledged.
   */
  readonly isShared: boolean
  /** So many entries a query may look at for one page. */
  readonly scanMax: number
  /** If given, all is read from this one, and nothing that comes later is seen. Whoever gave it ends it. */
  readonly state?: ReadTransaction
}

export class Reads {
  readonly #path: string
  readonly #engine: Engine
  readonly #mark: DurableMark
  readonly #isShared: boolean
  readonly #scanMax: number
  readonly #state: ReadTransaction | undefined
  readonly #underWay = new Set<Promise<unknown>>()

  constructor({ path, engine, mark, isShared, scanMax, state }: ReadsOptions) {
    this.#state = state
    this.#path = path
    this.#engine = engine
    this.#mark = mark
    this.#isShared = isShared
    this.#scanMax = scanMax
  }

  get(key: Key): MaybePromise<StoredValue | undefined> {
    if (this.#isShared) this.#engine.refresh()
    const value = this.#read(key)
    const position = value?.version ?? this.head().position
    return this.#mark.has(position) ? value : this.#mark.reached(position).then(() => value)
  }

  async getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    return this.#inOneState(async transaction => keys.map(key => this.#read(key, transaction)))
  }

  async scan(bucket: Key, range: ScanRange = {}): Promise<ScanPage> {
    const limit = scanLimit(range)
    const { value, position } = await this.#inOneState(async transaction => {
      const page = await this.#scanPage(bucket, range, limit, transaction)
      const record = isTooLong(bucket) ? undefined : this.#engine.buckets.get(bucket, { transaction })
      return { ...page, version: record ? decodeNumber(record) : 0 }
    })
    return { ...value, position }
  }

  async query(bucket: Key, query: Query): Promise<QueryPage> {
    checkQuery(query)
    const { value, position } = await this.#inOneState(transaction => this.#queries(transaction).page(bucket, query))
    return { ...value, position }
  }

  async queryVersion(bucket: Key, query: Query): Promise<QueryVersion> {
    checkQuery(query)
    const { value, position } = await this.#inOneState(async transaction =>
      this.#queries(transaction).version(bucket, query),
    )
    return { ...value, position }
  }

  async indexes(bucket: Key): Promise<readonly IndexState[]> {
    const { value } = await this.#inOneState(async transaction => this.#queries(transaction).indexes(bucket))
    return value
  }

  #queries(transaction: ReadTransaction): QueryReads {
    return new QueryReads({
      engine: this.#engine,
      transaction,
      scanMax: this.#scanMax,
      readEntry: (bucket, id) => {
        const value = this.#read(`${bucket}/${id}`, transaction)
        if (value === undefined) throw storeDamaged(this.#path, `an index of ${bucket} names ${id}, which is not there`)
        return { id, ...value }
      },
    })
  }

  async buckets(): Promise<readonly BucketChange[]> {
    const { value } = await this.#inOneState(async transaction => {
      const changes = [...this.#engine.buckets.getRange({ start: '', transaction })]
      return changes.map(({ key, value }) => ({ bucket: key, version: decodeNumber(value) }))
    })
    return value
  }

  position(): MaybePromise<Position> {
    // Here, what is acknowledged is at or below the mark.
    if (!this.#isShared) return this.#mark.position
    this.#engine.refresh()
    const { position } = this.head()
    return this.#mark.has(position) ? position : this.#mark.reached(position).then(() => position)
  }

  changes(after: Position, limit: number = CHANGES_LIMIT_DEFAULT): MaybePromise<readonly LogEntry[]> {
    checkPosition('after', after)
    checkLimit(limit)
    const end = this.position()
    return typeof end === 'number' ? this.#readLog(after, end, limit) : end.then(to => this.#readLog(after, to, limit))
  }

  #readLog(after: Position, upTo: Position, limit: number): readonly LogEntry[] {
    const trimmedTo = this.#readTrimmedTo()
    if (after < trimmedTo) {
      throw new FreshetError(
        'LOG_TRIMMED',
        `The log begins after position ${trimmedTo}; what follows ${after} is no longer complete. Start over.`,
      )
    }
    const entries: LogEntry[] = []
    if (after >= upTo) return entries
    for (const { key, value } of this.#engine.log.getRange({
      start: after + 1,
      end: upTo + 1,
      transaction: this.#state,
    })) {
      entries.push(...decodeLogBatch(key, value).filter(({ position }) => position > after))
      if (entries.length >= limit) break
    }
    return entries.slice(0, limit)
  }

  trimmedTo(): Position {
    if (this.#isShared) this.#engine.refresh()
    return this.#readTrimmedTo()
  }

  recall(name: string): Uint8Array | undefined {
    if (this.#isShared) this.#engine.refresh()
    return this.#engine.memory.get(name)
  }

  countOperations(): ReturnType<typeof countOperations> {
    if (this.#isShared) this.#engine.refresh()
    return countOperations(this.#engine)
  }

  head(transaction: ReadTransaction | undefined = this.#state): Head {
    const record = this.#engine.meta.get('head', { transaction })
    if (record === undefined) throw storeDamaged(this.#path, 'its head is missing')
    return decodeHead(record)
  }

  #readTrimmedTo(): Position {
    const record = this.#engine.meta.get('trimmed', { transaction: this.#state })
    return record ? decodeNumber(record) : 0
  }

  #read(key: Key, transaction: ReadTransaction | undefined = this.#state): StoredValue | undefined {
    if (isTooLong(key) || key === '') return undefined
    const { values } = this.#engine
    const buffer = transaction ? values.getBinaryFast(key, { transaction }) : values.getBinaryFast(key)
    if (buffer === undefined) return undefined
    return this.#decode(key, buffer, values.lastSize)
  }

  #decode(key: Key, buffer: Uint8Array, size: number): StoredValue {
    const value = decodeValue(buffer, size)
    if (value === undefined) throw storeDamaged(this.#path, `what it holds under ${JSON.stringify(key)} is no value`)
    return value
  }

  /** Resolves when no read holds on to a state: only then may the engine be closed. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }

  #inOneState<Value>(read: (transaction: ReadTransaction) => Promise<Value>): Promise<Snapshot<Value>> {
    const reading = this.#readOneState(read)
    this.#underWay.add(reading)
    return reading.finally(() => this.#underWay.delete(reading))
  }

  /** Reads everything from one state, and answers when all of that state is durable. */
  async #readOneState<Value>(read: (transaction: ReadTransaction) => Promise<Value>): Promise<Snapshot<Value>> {
    if (this.#isShared) this.#engine.refresh()
    const transaction = this.#state ?? this.#engine.useReadTransaction()
    try {
      const { position } = this.head(transaction)
      const value = await read(transaction)
      await this.#mark.reached(position)
      return { value, position }
    } finally {
      if (transaction !== this.#state) transaction.done()
    }
  }

  async #scanPage(
    bucket: Key,
    range: ScanRange,
    limit: number,
    transaction: ReadTransaction,
  ): Promise<{ readonly entries: StoredEntry[]; readonly next?: string }> {
    const folder = `${bucket}/`
    const bounds = boundsOf(folder, range)
    const entries: StoredEntry[] = []
    let { start, exclusiveStart } = bounds
    while (!isTooLong(folder)) {
      let seen = 0
      for (const { key, value } of this.#engine.values.getRange({ ...bounds, start, exclusiveStart, transaction })) {
        const id = key.slice(folder.length)
        if (isBeyond(id, range)) return { entries }
        const last = entries.at(-1)
        if (last !== undefined && entries.length === limit) return { entries, next: last.id }
        start = key
        if (isWithin(id, range)) this.#addEntry(entries, id, key, value, range)
        if (++seen === ENTRIES_PER_TURN) break
      }
      if (seen < ENTRIES_PER_TURN) break
      exclusiveStart = true
      await setImmediate()
    }
    return { entries }
  }

  #addEntry(entries: StoredEntry[], id: string, key: Key, record: Buffer, { filter }: ScanRange): void {
    const entry = { id, ...this.#decode(key, record, record.length) }
    if (filter?.(entry) ?? true) entries.push(entry)
  }
}

interface Bounds {
  readonly start: Key
  readonly exclusiveStart: boolean
  readonly end: Key
}

/** As narrow as the engine can have them. Those that no key can reach are left to `isWithin`. */
function boundsOf(folder: Key, { from = '', to, after, prefix = '' }: ScanRange): Bounds {
  const lowest = compareUtf8(from, prefix) > 0 ? from : prefix
  const exclusiveStart = after !== undefined && compareUtf8(after, lowest) >= 0
  const start = folder + (exclusiveStart ? after : lowest)
  const end = to === undefined ? undefined : folder + to
  return {
    start: isTooLong(start) ? folder : start,
    exclusiveStart: exclusiveStart && !isTooLong(start),
    // What follows every key in the folder: 0 is the character after the slash.
    end: end === undefined || isTooLong(end) ? `${folder.slice(0, -1)}0` : end,
  }
}
