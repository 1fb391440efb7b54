/**
 * The reads of an embedded store, the same in the writing process, in those that read beside it, and from a snapshot.
 *
 * A read sees one state of LMDB. It waits for data in that state that is above the durable mark, instead of leaving it out:
 * the older value is gone, and what was read becomes true for all readers the moment it is durable. (So does absence: a
 * deletion leaves no version behind, so a read that finds nothing waits for the whole state.)
 */
import type { BucketChange, Key, LogEntry, MaybePromise, Position, StoredValue } from '@freshet/core/store'
import { CommitListeners, type LogBegin, type LogPart, type Subject, type View } from '@freshet/store/engine'
import { decodeLogBatch, decodeNumber } from '@freshet/store/records'
import type { DurableMark } from './durable-mark.js'
import type { Environment, ReadTransaction } from './environment.js'
import { storeDamaged } from './lmdb-errors.js'
import { LmdbView } from './lmdb-view.js'
import { decodeHead } from './records.js'
import { valueAt } from './stored-value.js'

export interface LmdbReadsOptions {
  readonly path: string
  readonly environment: Environment
  readonly log: string
  readonly mark: DurableMark
  /**
   * Other processes commit, too. LMDB lets the reads of one turn share a state, and during that turn another process may have
   * had a commit acknowledged; so each read begins with the latest state. Where only this process commits, LMDB itself moves
   * to the new state before a commit is acknowledged.
   */
  readonly isShared: boolean
}

export class LmdbReads {
  readonly place: string
  readonly log: string
  readonly listeners: CommitListeners = new CommitListeners()
  protected readonly environment: Environment
  protected readonly mark: DurableMark
  /** If set, everything is read from it. The class that sets it must end it. */
  protected state: ReadTransaction | undefined
  readonly #isShared: boolean

  constructor({ path, environment, log, mark, isShared }: LmdbReadsOptions) {
    this.place = path
    this.environment = environment
    this.log = log
    this.mark = mark
    this.#isShared = isShared
  }

  get(key: Key): MaybePromise<StoredValue | undefined> {
    if (this.#isShared) this.environment.refresh()
    const { state } = this
    const value = valueAt(this.place, this.environment.values, key, state && { transaction: state })
    const position = value?.version ?? this.#reached(state)
    return this.mark.has(position) ? value : this.mark.reached(position).then(() => value)
  }

  /** Resolves when the whole state is durable. */
  async inOneState<Result>(_subject: Subject, read: (view: View) => Promise<Result>): Promise<Result> {
    if (this.#isShared) this.environment.refresh()
    const transaction = this.state ?? this.environment.useReadTransaction()
    try {
      const position = this.#reached(transaction)
      const result = await read(new LmdbView({ path: this.place, tables: this.environment, transaction, position }))
      if (!this.mark.has(position)) await this.mark.reached(position)
      return result
    } finally {
      if (transaction !== this.state) transaction.done()
    }
  }

  async buckets(): Promise<BucketChange[]> {
    if (this.#isShared) this.environment.refresh()
    const position = this.#reached(this.state)
    const records = [...this.environment.buckets.getRange({ start: '', transaction: this.state })]
    await this.mark.reached(position)
    return records.map(({ key, value }) => ({ bucket: key, version: decodeNumber(value) }))
  }

  position(): MaybePromise<Position> {
    // Where only this process commits, everything that was acknowledged is at or below the mark.
    if (!this.#isShared) return this.mark.position
    this.environment.refresh()
    const position = this.#reached(this.state)
    return this.mark.has(position) ? position : this.mark.reached(position).then(() => position)
  }

  changes(after: Position, limit: number): MaybePromise<LogPart> {
    const end = this.position()
    return typeof end === 'number' ? this.#logPart(after, end, limit) : end.then(to => this.#logPart(after, to, limit))
  }

  begin(): LogBegin {
    if (this.#isShared) this.environment.refresh()
    return this.#begin()
  }

  recall(name: string): Uint8Array | undefined {
    if (this.#isShared) this.environment.refresh()
    return this.environment.memory.get(name)
  }

  #logPart(after: Position, upTo: Position, limit: number): LogPart {
    const begin = this.#begin()
    const entries: LogEntry[] = []
    if (after >= upTo || after < begin.trimmedTo) return { ...begin, entries }
    const range = { start: after + 1, end: upTo + 1, transaction: this.state }
    for (const { key, value } of this.environment.log.getRange(range)) {
      entries.push(...decodeLogBatch(key, value).filter(({ position }) => position > after))
      if (entries.length >= limit) break
    }
    return { ...begin, entries }
  }

  #begin(): LogBegin {
    const record = this.environment.meta.get('trimmed', { transaction: this.state })
    return { log: this.log, trimmedTo: record ? decodeNumber(record) : 0 }
  }

  /** The position of a state; of the latest by default. */
  #reached(transaction: ReadTransaction | undefined): Position {
    const record = this.environment.meta.get('head', { transaction })
    if (record === undefined) throw storeDamaged(this.place, 'its head is missing')
    return decodeHead(record).position
  }
}
