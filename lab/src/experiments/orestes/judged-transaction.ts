/**
 * A transaction of the client, as in the thesis (3.1.4, BOCC+): read from anywhere, remember the versions, and commit on
 * condition that all of them still hold. The outcome is judged by what was acknowledged to whom, and when.
 *
 * An abort has one of two causes. Staleness: a version that no longer held was already known to be outdated when the
 * transaction began; no cache should have served it. A true conflict: everything read was current at the beginning, and
 * another client has changed it since. Optimistic transactions exist for the latter.
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
  /** By object id. The transaction records in it what it has written. */
  readonly history: RecordedHistory
  /** When the transaction began, before the first request. */
  readonly beganMs: number
}

export async function beginJudged<Item extends { readonly number: number }>(
  options: JudgedOptions,
): Promise<JudgedTransaction<Item>> {
  return new JudgedTransaction<Item>(options, await options.db.begin({ read: options.read }))
}

export class JudgedTransaction<Item extends { readonly number: number }> {
  /** Reads that were already outdated when the transaction began. */
  staleReads = 0
  readonly #options: JudgedOptions
  readonly #transaction: Transaction
  /** By object id: whether the read was outdated. */
  readonly #reads = new Map<string, boolean>()
  readonly #writes = new Map<string, Item>()

  constructor(options: JudgedOptions, transaction: Transaction) {
    this.#options = options
    this.#transaction = transaction
  }

  /** Only the first read of an object counts. */
  async read(id: string): Promise<Item | undefined> {
    const { bucket, history, beganMs } = this.#options
    const item = await this.#transaction.bucket<Item>(bucket).get(id)
    const version: Position = item === undefined ? 0 : versionOf(item)
    const isStale = version < history.dueAt(id, beganMs)
    if (isStale) this.staleReads++
    this.#reads.set(id, isStale)
    return item
  }

  /** All writes of a transaction must have the same number, by which the history identifies them. */
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
