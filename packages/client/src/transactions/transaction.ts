/**
 * An optimistic transaction. It reads through whatever caches there are, remembers the version of everything it read, and
 * keeps its writes to itself; `commit` sends both in one request, and the server does all of it or nothing. What was read
 * may have been outdated, or not from one state: that shows at the commit, never in what is committed.
 *
 * It holds nothing on the server meanwhile, so an abandoned transaction costs nothing and blocks no other client.
 */
import type { ReadMode, Session } from '@freshet/core/coherence'
import {
  bucketOfKey,
  type CommitAnswer,
  type CommitRequest,
  FreshetError,
  keyOfPath,
  type Path,
  type Position,
  pathOfKey,
  type Version,
} from '@freshet/protocol'
import type { BucketParts } from '../buckets/bucket.js'
import type {
  AnyBuckets,
  BucketTypes,
  CounterBucketName,
  DeclaredObjects,
  ObjectBucketName,
  ObjectIn,
} from '../buckets/bucket-types.js'
import { ObjectBucket } from '../buckets/object-bucket.js'
import type { Clock } from '../clock/pessimistic-clock.js'
import { ofReading } from '../http/deadline.js'
import { JSON_HEADERS } from '../http/transport.js'
import type { ReadOptions } from '../reading/read-options.js'
import { WRITES_NOTHING } from '../writing/commit.js'
import type { Write } from '../writing/write.js'
import { knownVersionsOf } from './known-versions.js'
import type { LeaseTurn } from './lease-turn.js'
import { TransactionBucket } from './transaction-bucket.js'
import { TransactionCounters } from './transaction-counters.js'
import { TransactionState } from './transaction-state.js'

/** How a transaction reads, and how long it may take. */
export interface TransactionOptions {
  /**
   * How it reads. 'session', the default: objects that the sketch reports as changed are not read from an older copy, so commits
   * rarely fail. 'any': from the nearest cache, whatever its copy; the commit reports outdated objects, and those are read again.
   */
  readonly read?: ReadMode
  /** Ends the transaction when it is aborted, with all its attempts. */
  readonly signal?: AbortSignal
  /** How many milliseconds may pass from its beginning to the end of its commit, for each attempt; default 60,000. */
  readonly timeoutMs?: number
}

export interface TransactionParts extends BucketParts {
  readonly session: Session
  readonly clock: Clock
  readonly closed: AbortSignal
}

const TIMEOUT_MS = 60_000

/** Errors that a transaction's buckets derive from what was read. */
const FROM_READS: ReadonlySet<string> = new Set(['OBJECT_NOT_FOUND', 'VERSION_CONFLICT'])

/**
 * An optimistic transaction: it reads through whatever caches there are, keeps its writes to itself, and commits all of
 * them if everything it read still holds. It holds nothing on the server meanwhile. `db.transaction(async tx => ...)` commits by
 * itself, and tries again if another client was faster.
 */
export class Transaction<Buckets extends BucketTypes<Buckets> = AnyBuckets> {
  /** For the compiler alone, which then compares transactions by what they declare. */
  declare protected readonly declared?: { readonly [Name in keyof Buckets]: unknown }
  readonly #parts: TransactionParts
  readonly #options: TransactionOptions
  readonly #endsAtMs: number
  readonly #state: TransactionState
  readonly #lease: Pick<CommitRequest, 'lease' | 'leaseId'>
  #isEnded = false
  /** The position of the commit, once committed: the version of everything it wrote. */
  position: Position | undefined

  /** `turn`: the lease state of its earlier attempts. */
  constructor(parts: TransactionParts, options: TransactionOptions, turn?: LeaseTurn) {
    this.#parts = parts
    this.#options = options
    this.#state = new TransactionState(turn?.objects)
    this.#lease = turn?.request ?? {}
    this.#endsAtMs = parts.clock() + (options.timeoutMs ?? TIMEOUT_MS)
  }

  /**
   * A bucket of JSON objects, as this transaction sees it, with the types that `connect<Buckets>` declares.
   *
   * @example
   * await db.transaction(async tx => {
   *   const tea = await tx.bucket('shop/products').get('tea')
   *   if (tea) tx.bucket('shop/products').put('tea', { ...tea, price: tea.price + 1 })
   * })
   * console.log((await db.bucket('shop/products').get('tea'))?.price) // 5
   */
  bucket<Name extends DeclaredObjects<Buckets>>(name: Name): TransactionBucket<ObjectIn<Buckets, Name>>
  /**
   * A bucket of JSON objects of the type T, as this transaction sees it. The type is not checked at run time.
   *
   * @example
   * await db.transaction(async tx => {
   *   const tea = await tx.bucket<{ price: number }>('shop/products').get('tea')
   *   console.log(tea?.price) // 4
   * })
   */
  bucket<T extends object = Record<string, unknown>>(name: ObjectBucketName<Buckets>): TransactionBucket<T>
  bucket<T extends object>(name: string): TransactionBucket<T> {
    return new TransactionBucket<T>({
      bucket: new ObjectBucket<T>(name, this.#parts),
      state: this.#state,
      learned: knownVersionsOf(this.#parts.session),
      options: reading => this.#operationOptions(reading),
    })
  }

  /**
   * A bucket of counters, to add to with the other writes of the transaction.
   *
   * @example
   * await db.transaction(async tx => {
   *   await tx.bucket('shop/orders').create({ product: 'tea', pieces: 1 })
   *   tx.counter('shop/views').add('tea')
   * })
   * console.log(await db.counter('shop/views').get('tea')) // 4
   */
  counter(name: CounterBucketName<Buckets>): TransactionCounters {
    return new TransactionCounters(name, this.#state, () => this.#operationOptions())
  }

  /**
   * Writes everything, if all that was read still holds. Otherwise it writes nothing and throws COMMIT_CONFLICT, with what has
   * changed in `details.conflicts`. For a read-only transaction, it checks that everything read was true at one moment.
   * Only for transactions of `db.begin()`: `db.transaction` commits by itself.
   *
   * @example
   * const tx = await db.begin()
   * tx.bucket('shop/products').put('jug', { name: 'Jug', price: 12 })
   * const { position } = await tx.commit()
   * console.log((await db.bucket('shop/products').get('jug'))?.version === position) // true
   */
  async commit(): Promise<CommitAnswer> {
    const answer = await this.#end({ ...this.#state.request(), ...this.#lease })
    this.position = answer.position
    return answer
  }

  /**
   * Forgets everything. Harmless after a commit.
   *
   * @example
   * const tx = await db.begin()
   * tx.bucket('shop/products').delete('tea')
   * tx.rollback()
   * console.log((await db.bucket('shop/products').get('tea'))?.name) // Tea
   */
  rollback(): void {
    this.#isEnded = true
  }

  /** Ends it without writing. Throws COMMIT_CONFLICT if the reads that led to this error do not hold. @internal */
  async certify(error: unknown): Promise<void> {
    if (this.#isEnded || (error instanceof FreshetError && !FROM_READS.has(error.code))) return
    const { leaseId } = this.#lease
    await this.#end({ ...this.#state.request(), writes: [], ...(leaseId === undefined ? {} : { leaseId }) })
  }

  async #end(request: CommitRequest): Promise<CommitAnswer> {
    const options = this.#operationOptions()
    this.#isEnded = true
    if (isEmpty(request)) return { position: this.#parts.session.position }
    const write = this.#toWrite(request)
    const learned = knownVersionsOf(this.#parts.session)
    try {
      const answer = await this.#parts.writer.write<CommitAnswer>(write, options)
      for (const path of write.paths) learned.note(path, write.deleted?.includes(path) ? 0 : answer.position)
      return answer
    } catch (error) {
      for (const { path, version } of conflictsIn(error)) learned.note(path, version)
      throw request.writes.length === 0 ? ofReading(error) : error
    }
  }

  #toWrite(request: CommitRequest): Write {
    const written = request.writes.map(({ path }) => path)
    return {
      request: {
        method: 'POST',
        target: '/commit',
        headers: JSON_HEADERS,
        body: JSON.stringify(request),
      },
      paths: [...new Set([...written, ...written.map(bucketPathOf)])],
      deleted: request.writes.filter(write => 'delete' in write).map(({ path }) => path),
      ...(written.length === 0 ? WRITES_NOTHING : {}),
    }
  }

  /** The transaction's options, combined with those of one read. Throws if the transaction has ended. */
  #operationOptions(reading: ReadOptions = {}): ReadOptions & { readonly timeoutMs: number } {
    if (this.#isEnded) throw ended()
    const { read = 'session', signal } = this.#options
    const leftMs = this.#endsAtMs - this.#parts.clock()
    if (leftMs <= 0) throw expired()
    const signals = [signal, reading.signal].filter(each => each !== undefined)
    return {
      read: reading.read ?? read,
      timeoutMs: Math.min(leftMs, reading.timeoutMs ?? leftMs),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    }
  }
}

function conflictsIn(error: unknown): readonly { readonly path: Path; readonly version: Version }[] {
  const conflicts = error instanceof FreshetError ? error.details.conflicts : undefined
  return Array.isArray(conflicts) ? conflicts : []
}

/** A single object was certainly true at some moment. But a lease must be given back, because other clients wait for it. */
function isEmpty({ reads = [], lists = [], writes, leaseId }: CommitRequest): boolean {
  return (leaseId === undefined || reads.length === 0) && writes.length === 0 && lists.length === 0 && reads.length <= 1
}

function bucketPathOf(path: Path): Path {
  return pathOfKey(bucketOfKey(keyOfPath(path)))
}

function ended(): FreshetError {
  return new FreshetError(
    'TRANSACTION_ENDED',
    'This transaction was committed or rolled back. Await all its operations before that, or begin another one.',
  )
}

function expired(): FreshetError {
  return new FreshetError(
    'TRANSACTION_EXPIRED',
    'This transaction exceeded its timeoutMs, and nothing was written. Do less in it, or allow more time with timeoutMs.',
  )
}
