/**
 * A transaction of the client, as the thesis has it (3.1.4, BOCC+): read from wherever, remember the versions, and commit on
 * condition that all of them still hold. What comes of it is judged by what was acknowledged to whom, and when.
 *
 * An abort is put down to one of two causes. Staleness: a version that no longer held was already outdated, to somebody's
 * knowledge, when the transaction began; no cache should have handed it out. A true conflict: everything read was current at
 * the beginning, and somebody else has changed it since; that is what optimistic transactions are for.
 */
import { type Database, FreshetError, type ReadMode, type Transaction, versionOf } from '@freshet/client'
import type { Position } from '@freshet/protocol'
import type { RecordedHistory } from '../../coherence-load/recorded-history.js'

export type Outcome = 'committed' | 'stale' | 'conflict'

export interface JudgedOptions {
  readonly db: Database
  readonly bucket: string
  /** 'any': a classic transaction; 'session': a coherent one. */
  readonly read: ReadMode
  /** Of the objects by their ids: the transaction notes in it what it has written. */
  readonly history: RecordedHistory
  /** When it began, before anything was asked for. */
  readonly beganMs: number
}

export async function beginJudged<Item extends { readonly number: number }>(
  options: JudgedOptions,
): Promise<JudgedTransaction<Item>> {
  return new JudgedTransaction<Item>(options, await options.db.begin({ read: options.read }))
}

export class JudgedTransaction<Item extends { readonly number: number }> {
  /** Reads of what was outdated when the transaction began. */
  staleReads = 0
  readonly #options: JudgedOptions
  readonly #transaction: Transaction
  /** By their ids: whether it was outdated. */
  readonly #reads = new Map<string, boolean>()
  readonly #writes = new Map<string, Item>()

  constructor(options: JudgedOptions, transaction: Transaction) {
    this.#options = options
    this.#transaction = transaction
  }

  /** The first read of an object counts. */
  async read(id: string): Promise<Item | undefined> {
    const { bucket, history, beganMs } = this.#options
    const item = await this.#transaction.bucket<Item>(bucket).get(id)
    const version: Position = item === undefined ? 0 : versionOf(item)
    const isStale = version < history.dueAt(id, beganMs)
    if (isStale) this.staleReads++
    this.#reads.set(id, isStale)
    return item
  }

  /** All that one transaction writes must have the same number, by which the history knows it. */
  write(id: string, item: Item): void {
    this.#writes.set(id, item)
    this.#transaction.bucket<Item>(this.#options.bucket).put(id, item)
  }

  async commit(): Promise<Outcome> {
    try {
      const { position } = await this.#transaction.commit()
      const { history } = this.#options
      for (const [id, { number }] of this.#writes) history.acknowledgePut(id, position, number, performance.now())
      return 'committed'
    } catch (error) {
      if (!(error instanceof FreshetError) || error.code !== 'COMMIT_CONFLICT') throw error
      return this.#causeOf(error)
    }
  }

  #causeOf({ details }: FreshetError): Outcome {
    const paths = (details.conflicts as readonly { readonly path: string }[]).map(({ path }) => path)
    return paths.some(path => this.#reads.get(path.slice(path.lastIndexOf('/') + 1))) ? 'stale' : 'conflict'
  }
}
