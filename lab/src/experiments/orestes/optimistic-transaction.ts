/**
 * A transaction as the thesis has it (3.1.4, BOCC+): read from wherever, remember the versions, and commit on condition
 * that all of them still hold. `POST /commit` checks them and writes in one step; with nothing to write it only checks.
 *
 * An abort is put down to one of two causes. Staleness: a version that no longer held was already outdated, to somebody's
 * knowledge, when the transaction began; no cache should have handed it out. A true conflict: everything read was current at
 * the beginning, and somebody else has changed it since; that is what optimistic transactions are for.
 */
import {
  type CommitPart,
  type CommitRead,
  type Database,
  FreshetError,
  type ReadMode,
  versionOf,
} from '@freshet/client'
import type { Position } from '@freshet/protocol'
import type { RecordedHistory } from '../../coherence-load/recorded-history.js'

export type Outcome = 'committed' | 'stale' | 'conflict'

export interface TransactionOptions {
  readonly db: Database
  readonly bucket: string
  readonly read: ReadMode
  /** Of the objects by their ids: the transaction notes in it what it has written. */
  readonly history: RecordedHistory
  /** When it began, before anything was asked for. */
  readonly beganMs: number
}

export class OptimisticTransaction<Item extends { readonly number: number }> {
  /** Reads of what was outdated when the transaction began. */
  staleReads = 0
  readonly #options: TransactionOptions
  readonly #reads = new Map<string, CommitRead & { readonly isStale: boolean }>()
  readonly #writes = new Map<string, Item>()

  constructor(options: TransactionOptions) {
    this.#options = options
  }

  async read(id: string): Promise<Item | undefined> {
    const { db, bucket, read, history, beganMs } = this.#options
    const item = await db.bucket<Item>(bucket).get(id, { read })
    const version: Position = item === undefined ? 0 : versionOf(item)
    const isStale = version < history.dueAt(id, beganMs)
    if (isStale) this.staleReads++
    this.#reads.set(id, { bucket, id, version: version === 0 ? 'absent' : version, isStale })
    return item
  }

  /** All that one transaction writes must have the same number, by which the history knows it. */
  write(id: string, item: Item): void {
    this.#writes.set(id, item)
  }

  async commit(): Promise<Outcome> {
    const { db, bucket, history } = this.#options
    const parts: CommitPart[] = [...this.#writes].map(([id, value]) => ({ bucket, id, value }))
    try {
      const { position } = await db.commit(parts, { reads: [...this.#reads.values()] })
      for (const [id, { number }] of this.#writes) history.acknowledgePut(id, position, number, performance.now())
      return 'committed'
    } catch (error) {
      if (!(error instanceof FreshetError) || error.code !== 'COMMIT_CONFLICT') throw error
      return this.#causeOf(error)
    }
  }

  #causeOf({ details }: FreshetError): Outcome {
    const paths = (details.conflicts as readonly { readonly path: string }[]).map(({ path }) => path)
    const found = paths.map(path => this.#reads.get(path.slice(path.lastIndexOf('/') + 1)))
    return found.some(read => read?.isStale) ? 'stale' : 'conflict'
  }
}
