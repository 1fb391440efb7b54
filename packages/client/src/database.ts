/** What `connect` returns: buckets, commits, the session. */
import type { CommitAnswer } from '@freshet/protocol'
import type {
  AnyBuckets,
  BucketTypes,
  CommitPartIn,
  CommitReadIn,
  CounterBucketName,
  DeclaredObjects,
  DropName,
  KvBucketName,
  ObjectBucketName,
  ObjectIn,
} from './buckets/bucket-types.js'
import type { DropOptions } from './buckets/drop.js'
import { KvBucket } from './buckets/kv-bucket.js'
import { ObjectBucket } from './buckets/object-bucket.js'
import { Counters } from './counters/counters.js'
import type { RetryPolicy } from './http/back-off.js'
import type { Transport } from './http/transport.js'
import type { DatabaseSession } from './session/database-session.js'
import type { Transaction, TransactionOptions, TransactionParts } from './transactions/transaction.js'
import type { CommitPart } from './writing/commit.js'
import type { Flushed, Outbox } from './writing/outbox.js'
import type { WriteOptions } from './writing/write.js'

/** Options of `db.commit`. The commit is done only if all of `reads` still holds. */
export interface CommitOptions<Buckets = AnyBuckets> extends Omit<WriteOptions, 'ifVersion'> {
  /** Objects that the writes depend on, with the versions that must still hold. */
  readonly reads?: readonly CommitReadIn<Buckets>[]
}

/** Options of `db.transaction`: how it reads, and how often it tries. */
export interface TransactOptions extends TransactionOptions {
  /** How many times it is tried again if what was read has changed meanwhile; default 20. */
  readonly retriesMax?: number
  /**
   * For objects that many clients want to change at once. When the commit is refused because of them, it waits for its turn and
   * then gets their present values; until it has tried again, other clients that would write them wait. Readers never wait.
   */
  readonly lease?: boolean
}

/** Writes that outlive the page: `db.outbox`, if `connect` was given a storage for them. */
export interface DatabaseOutbox {
  /** How many writes are under way or waiting, including those of other pages with the same storage. */
  readonly size: number
  /**
   * Sends the waiting writes, oldest first, under their original ids. Call it when the network is back, and after a reload.
   *
   * @example
   * import { connect } from '@freshet/client'
   *
   * const db = await connect('http://localhost:7700', { outbox: localStorage })
   * globalThis.addEventListener?.('online', () => db.outbox?.flush())
   * const { done, refused, left } = (await db.outbox?.flush()) ?? { done: [], refused: [], left: 0 }
   * console.log(done.length, refused.length, left) // 0 0 0
   * db.close()
   */
  flush(): Promise<Flushed>
}

export interface DatabaseParts extends TransactionParts {
  readonly transport: Transport
  readonly timeoutMs: number
  readonly policy: RetryPolicy
  readonly outbox: Outbox | undefined
}

const CONFLICT_RETRIES_MAX = 20

/**
 * What `connect` returns: buckets, commits, transactions, and the session that all its reads and writes belong to. Close it
 * when done.
 */
export class Database<Buckets extends BucketTypes<Buckets> = AnyBuckets> {
  /** For the compiler alone, which then compares connections by what they declare. */
  declare protected readonly declared?: { readonly [Name in keyof Buckets]: unknown }
  /** For the other folders of this package. @internal */
  readonly parts: DatabaseParts
  readonly #close: () => void
  /** What this reader has seen so far. */
  readonly session: DatabaseSession

  constructor(parts: DatabaseParts, session: DatabaseSession, close: () => void) {
    this.parts = parts
    this.#close = close
    this.session = session
  }

  /**
   * A bucket of JSON objects, such as `shop/products`, whose objects have the type that `connect<Buckets>` declares. It need not
   * exist: the first write creates it. For a name that is computed at run time, see `BucketTypes`.
   *
   * @example
   * const products = db.bucket('shop/products')
   * await products.put('jug', { name: 'Jug', price: 12 })
   * console.log((await products.get('jug'))?.price) // 12
   */
  bucket<Name extends DeclaredObjects<Buckets>>(name: Name): ObjectBucket<ObjectIn<Buckets, Name>>
  /**
   * A bucket of JSON objects of the type T, which is not checked at run time: give the bucket a schema for that.
   *
   * @example
   * const named = db.bucket<{ name: string }>('shop/products')
   * console.log((await named.get('tea'))?.name.toUpperCase()) // TEA
   */
  bucket<T extends object = Record<string, unknown>>(name: ObjectBucketName<Buckets>): ObjectBucket<T>
  bucket<T extends object>(name: string): ObjectBucket<T> {
    return new ObjectBucket<T>(name, this.parts)
  }

  /**
   * A bucket of bytes. It must have been configured once: `db.kv(name).configure({})`.
   *
   * @example
   * await db.kv('shop/images').configure({})
   * await db.kv('shop/images').put('dot', new Uint8Array([1, 2, 3]), { contentType: 'image/x-dot' })
   * const dot = await db.kv('shop/images').get('dot')
   * console.log(dot?.bytes.length, dot?.contentType) // 3 image/x-dot
   */
  kv(name: KvBucketName<Buckets>): KvBucket {
    return new KvBucket(name, this.parts)
  }

  /**
   * A bucket of counters. It must have been configured once: `db.counter(name).configure({})`.
   *
   * @example
   * await db.counter('shop/views').configure({ min: 0 })
   * await db.counter('shop/views').add('tea')
   * console.log(await db.counter('shop/views').get('tea')) // 4
   */
  counter(name: CounterBucketName<Buckets>): Counters {
    return new Counters(name, this.parts)
  }

  /**
   * Deletes a bucket, `shop/products`, or a namespace, `shop`, with all its buckets; for admins. Resolves when everything is
   * gone, which takes long for many objects; false if there was nothing to delete. Until then writes there are refused:
   * BUCKET_DELETING. Throws BUCKET_IN_USE for buckets that schemas of other buckets refer to, and for attached tables.
   *
   * @example
   * console.log(await db.drop('shop/products')) // true
   * console.log(await db.bucket('shop/products').get('tea')) // undefined
   */
  async drop(name: DropName<Buckets>, options: DropOptions = {}): Promise<boolean> {
    const { drop } = await import('./buckets/drop.js')
    const wasThere = await drop(this.parts, name, options)
    // Every later read of this session must see the deletion.
    await this.session.refresh()
    return wasThere
  }

  /** The writes that are waiting to be sent again, if `connect` was given a storage for them. */
  get outbox(): DatabaseOutbox | undefined {
    const { outbox, writer } = this.parts
    return outbox && { size: outbox.size, flush: () => outbox.flush(writer) }
  }

  /**
   * Does everything or nothing, in one step. Throws COMMIT_CONFLICT, with the versions that do hold in `details.conflicts`, if
   * something in `reads` has changed; the next read of those objects is not older than the versions in the conflict.
   *
   * @example
   * const tea = await db.bucket('shop/products').get('tea')
   * if (tea === undefined) throw new Error('There is no tea.')
   * await db.commit(
   *   [
   *     { bucket: 'shop/orders', id: 'order-8', value: { product: 'tea', pieces: 1 }, ifVersion: 'absent' },
   *     { bucket: 'shop/views', id: 'tea', add: 1 },
   *   ],
   *   { reads: [{ bucket: 'shop/products', id: 'tea', version: tea.version }] }, // only if its price is still the same
   * )
   * console.log(await db.counter('shop/views').get('tea')) // 4
   */
  async commit(
    parts: readonly CommitPartIn<Buckets>[],
    { reads = [], ...options }: CommitOptions<Buckets> = {},
  ): Promise<CommitAnswer> {
    const { commitOf } = await import('./writing/commit.js')
    // The declared types of values are narrower, and are not known here.
    return this.parts.writer.write<CommitAnswer>(commitOf(parts as readonly CommitPart[], reads), options)
  }

  /**
   * Runs `work` and commits what it wrote, if everything it read still holds; otherwise reads the outdated objects again and
   * repeats `work`, at most `retriesMax` times. So `work` must have no effects other than on `tx`. Returns what `work` returns.
   * Serialisable: the result is as if each transaction had run alone.
   *
   * If `work` throws, nothing is written. What it read is checked then, too: an error caused by outdated reads is a reason to
   * try again, not to give up.
   *
   * @example
   * await db.transaction(async tx => {
   *   const accounts = tx.bucket('bank/accounts')
   *   const [ann, ben] = await accounts.getMany(['ann', 'ben'])
   *   if (!ann || !ben || ann.balance < 30) throw new Error('Not enough.')
   *   accounts.put('ann', { balance: ann.balance - 30 })
   *   accounts.put('ben', { balance: ben.balance + 30 })
   * })
   * console.log(await db.bucket('bank/accounts').get('ben')) // { balance: 30 }
   */
  async transaction<Result>(
    work: (tx: Transaction<Buckets>) => Promise<Result>,
    { retriesMax = CONFLICT_RETRIES_MAX, lease = false, ...options }: TransactOptions = {},
  ): Promise<Result> {
    const { runTransaction } = await import('./transactions/run-transaction.js')
    return runTransaction(this.parts, { ...this.parts.policy, retriesMax, lease }, options, work)
  }

  /**
   * Begins a transaction that you commit or roll back yourself; `transaction` is simpler where it fits, and tries again by itself.
   *
   * @example
   * const tx = await db.begin()
   * const ann = await tx.bucket('bank/accounts').get('ann')
   * tx.bucket('bank/accounts').put('ann', { balance: (ann?.balance ?? 0) + 1 })
   * await tx.commit() // throws COMMIT_CONFLICT if another client has changed ann's account
   */
  async begin(options: TransactionOptions = {}): Promise<Transaction<Buckets>> {
    const { Transaction } = await import('./transactions/transaction.js')
    return new Transaction(this.parts, options)
  }

  /**
   * Ends all operations under way, with REQUEST_FAILED, and all background work. A process with `refresh: 'push'` or `'poll'` runs
   * until you call it.
   *
   * @example
   * import { connect } from '@freshet/client'
   *
   * const db = await connect('http://localhost:7700', { refresh: 'push' })
   * try {
   *   console.log((await db.bucket('shop/products').get('tea'))?.price) // 4
   * } finally {
   *   db.close()
   * }
   */
  close(): void {
    this.#close()
  }
}
