/** What `connect` gives: buckets, commits, the session. */
import type { CommitAnswer } from '@freshet/protocol'
import type { DropOptions } from './buckets/drop.js'
import { KvBucket } from './buckets/kv-bucket.js'
import { ObjectBucket } from './buckets/object-bucket.js'
import { Counters } from './counters/counters.js'
import type { RetryPolicy } from './http/back-off.js'
import type { Transport } from './http/transport.js'
import type { DatabaseSession } from './session/database-session.js'
import type { Transaction, TransactionOptions, TransactionParts } from './transactions/transaction.js'
import type { CommitPart, CommitRead } from './writing/commit.js'
import type { Flushed, Outbox } from './writing/outbox.js'
import type { WriteOptions } from './writing/write.js'

/** What `db.commit` relies on, beyond what its parts say: it is done only if all of `reads` still holds. */
export interface CommitOptions extends Omit<WriteOptions, 'ifVersion'> {
  readonly reads?: readonly CommitRead[]
}

/** How `db.transaction` reads, and how often it tries. */
export interface TransactOptions extends TransactionOptions {
  /** So many tries after the first, if what was read has changed meanwhile; default 20. */
  readonly retriesMax?: number
  /**
   * For objects that many want to change at once: when it is refused because of them, it is told when it is its turn, with
   * what they hold by then, and until it has tried again others who would write them wait. Nobody who reads does.
   */
  readonly lease?: boolean
}

/** Writes that outlive the page: `db.outbox`, where `connect` was given a storage for them. */
export interface DatabaseOutbox {
  /** So many writes are under way or wait, those of other pages with the same storage counted in. */
  readonly size: number
  /** Sends what waits, oldest first, under the ids it has had from the beginning. Call it when the network is back. */
  flush(): Promise<Flushed>
}

export interface DatabaseParts extends TransactionParts {
  readonly transport: Transport
  readonly timeoutMs: number
  readonly policy: RetryPolicy
  readonly outbox: Outbox | undefined
}

const CONFLICT_RETRIES_MAX = 20

/** What is in each bucket, as `freshet gen` writes it: `{ 'shop/products': Products }`. */
export type BucketTypes<Buckets> = { readonly [Name in keyof Buckets]: object }

/**
 * What `connect` gives: buckets, commits, transactions and the session, which every read and write of it belongs to.
 * Close it when done.
 */
export class Database<Buckets extends BucketTypes<Buckets> = Record<never, object>> {
  /** For the other rooms of this package. @internal */
  readonly parts: DatabaseParts
  readonly #close: () => void
  /** How far this reader has got. */
  readonly session: DatabaseSession

  constructor(parts: DatabaseParts, session: DatabaseSession, close: () => void) {
    this.parts = parts
    this.#close = close
    this.session = session
  }

  /** A bucket of JSON objects, named as `shop/products`. It need not exist: the first write creates it. */
  bucket<Name extends keyof Buckets & string>(name: Name): ObjectBucket<Buckets[Name]>
  bucket<T extends object = Record<string, unknown>>(name: string): ObjectBucket<T>
  bucket<T extends object>(name: string): ObjectBucket<T> {
    return new ObjectBucket<T>(name, this.parts)
  }

  /** A bucket of bytes. It must have been configured once: `db.kv(name).configure({})`. */
  kv(name: string): KvBucket {
    return new KvBucket(name, this.parts)
  }

  /** A bucket of counters. It must have been configured once: `db.counter(name).configure({})`. */
  counter(name: string): Counters {
    return new Counters(name, this.parts)
  }

  /**
   * Deletes a bucket, `shop/products`, or a namespace, `shop`, with all its buckets; for admins. Resolves when all of it is gone, which takes
   * its time where there are many objects; false if there was nothing to delete. Meanwhile nothing is written there: BUCKET_DELETING. Throws
   * BUCKET_IN_USE for what schemas of other buckets refer to, and for tables.
   */
  async drop(name: string, options: DropOptions = {}): Promise<boolean> {
    const { drop } = await import('./buckets/drop.js')
    const wasThere = await drop(this.parts, name, options)
    // What was deleted is deleted for whatever this session reads next.
    await this.session.refresh()
    return wasThere
  }

  /** The writes that wait to be sent again, if `connect` was given a storage for them. */
  get outbox(): DatabaseOutbox | undefined {
    const { outbox, writer } = this.parts
    return outbox && { size: outbox.size, flush: () => outbox.flush(writer) }
  }

  /**
   * Everything or nothing, in one step. Throws COMMIT_CONFLICT, with the versions that do hold in `details.conflicts`, if
   * something in `reads` has changed; the next read of those is not older than what the conflict told.
   */
  async commit(parts: readonly CommitPart[], { reads = [], ...options }: CommitOptions = {}): Promise<CommitAnswer> {
    const { commitOf } = await import('./writing/commit.js')
    return this.parts.writer.write<CommitAnswer>(commitOf(parts, reads), options)
  }

  /**
   * Runs `work` and commits what it wrote, if everything it read still holds; else runs it again, at most `retriesMax`
   * times, with what was outdated read anew. So `work` must have no other effects than on `tx`. What it returns is
   * returned. Serialisable: it is as if each transaction had run alone.
   *
   * If `work` throws, nothing is written. What it read is checked then too: an error that comes from outdated reads is no
   * reason to give up, but to try again.
   */
  async transaction<Result>(
    work: (tx: Transaction) => Promise<Result>,
    { retriesMax = CONFLICT_RETRIES_MAX, lease = false, ...options }: TransactOptions = {},
  ): Promise<Result> {
    const { runTransaction } = await import('./transactions/run-transaction.js')
    return runTransaction(this.parts, { ...this.parts.policy, retriesMax, lease }, options, work)
  }

  /** A transaction to be committed or rolled back by hand; where `transaction` fits, it is simpler. */
  async begin(options: TransactionOptions = {}): Promise<Transaction> {
    const { Transaction } = await import('./transactions/transaction.js')
    return new Transaction(this.parts, options)
  }

  /** Ends all that is under way, with REQUEST_FAILED, and everything in the background. */
  close(): void {
    this.#close()
  }
}
