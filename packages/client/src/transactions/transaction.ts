/**
 * An optimistic transaction. It reads through whatever caches there are, remembers the version of everything it read, and
 * keeps its writes to itself; `commit` sends both in one request, and the server does all of it or nothing. What was read
 * may have been outdated, or not from one state: that shows at the commit, never in what is committed.
 *
 * Nothing is held on the server meanwhile, so one that is forgotten costs nothing and stands in nobody's way.
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
import { ObjectBucket } from '../buckets/object-bucket.js'
import type { Clock } from '../clock/pessimistic-clock.js'
import { ofReading } from '../http/deadline.js'
import { JSON_HEADERS } from '../http/transport.js'
import type { ReadOptions } from '../reading/read-options.js'
import { WRITES_NOTHING } from '../writing/commit.js'
import type { Write } from '../writing/write.js'
import type { LeaseTurn } from './lease-turn.js'
import { toldVersionsOf } from './told-versions.js'
import { TransactionBucket } from './transaction-bucket.js'
import { TransactionCounters } from './transaction-counters.js'
import { TransactionState } from './transaction-state.js'

/** How a transaction reads, and how long it may take. */
export interface TransactionOptions {
  /**
   * How its reads are done. 'session', the default: what the sketch calls changed is not read from an older copy, so few
   * commits fail. 'any': from the nearest cache, whatever it has; the commit tells, and what it
   * calls outdated is read anew.
   */
  readonly read?: ReadMode
  readonly signal?: AbortSignal
  /** From its beginning to the end of its commit, for each attempt; default a minute. */
  readonly timeoutMs?: number
}

export interface TransactionParts extends BucketParts {
  readonly session: Session
  readonly clock: Clock
  readonly closed: AbortSignal
}

const TIMEOUT_MS = 60_000

/** What buckets of a transaction conclude from what was read. */
const FROM_READS: ReadonlySet<string> = new Set(['OBJECT_NOT_FOUND', 'VERSION_CONFLICT'])

/**
 * An optimistic transaction: it reads through whatever caches there are, keeps its writes to itself, and commits all of
 * them if everything it read still holds. Nothing is held on the server meanwhile.
 */
export class Transaction {
  readonly #parts: TransactionParts
  readonly #options: TransactionOptions
  readonly #endsAtMs: number
  readonly #state: TransactionState
  readonly #lease: Pick<CommitRequest, 'lease' | 'leaseId'>
  #isEnded = false
  /** Where it was committed, once it is: the version of everything it wrote. */
  position: Position | undefined

  /** `turn`: what its earlier attempts have come to. */
  constructor(parts: TransactionParts, options: TransactionOptions, turn?: LeaseTurn) {
    this.#parts = parts
    this.#options = options
    this.#state = new TransactionState(turn?.objects)
    this.#lease = turn?.request ?? {}
    this.#endsAtMs = parts.clock() + (options.timeoutMs ?? TIMEOUT_MS)
  }

  /** A bucket of JSON objects, as this transaction sees it. */
  bucket<T extends object = Record<string, unknown>>(name: string): TransactionBucket<T> {
    return new TransactionBucket<T>({
      bucket: new ObjectBucket<T>(name, this.#parts),
      state: this.#state,
      told: toldVersionsOf(this.#parts.session),
      options: reading => this.#operationOptions(reading),
    })
  }

  /** A bucket of counters, to add to. */
  counter(name: string): TransactionCounters {
    return new TransactionCounters(name, this.#state, () => this.#operationOptions())
  }

  /**
   * Writes everything, if all that was read still holds. Throws COMMIT_CONFLICT if not, with what has changed in
   * `details.conflicts`; then nothing was written. One that only read is told whether all of it was true at one time.
   */
  async commit(): Promise<CommitAnswer> {
    const answer = await this.#end({ ...this.#state.request(), ...this.#lease })
    this.position = answer.position
    return answer
  }

  /** Forgets everything. Harmless after a commit. */
  rollback(): void {
    this.#isEnded = true
  }

  /** Ends it without writing. Throws COMMIT_CONFLICT if the reads that led to this error do not hold. */
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
    const told = toldVersionsOf(this.#parts.session)
    try {
      const answer = await this.#parts.writer.write<CommitAnswer>(write, options)
      for (const path of write.paths) told.note(path, write.deleted?.includes(path) ? 0 : answer.position)
      return answer
    } catch (error) {
      for (const { path, version } of conflictsIn(error)) told.note(path, version)
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

  /** Of the transaction, with what one read asks for itself. Throws if it has ended. */
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

/** One object alone was true at some time anyway. But a lease must be given back, for others wait for it. */
function isEmpty({ reads = [], lists = [], writes, leaseId }: CommitRequest): boolean {
  return (leaseId === undefined || reads.length === 0) && writes.length === 0 && lists.length === 0 && reads.length <= 1
}

function bucketPathOf(path: Path): Path {
  return pathOfKey(bucketOfKey(keyOfPath(path)))
}

function ended(): FreshetError {
  return new FreshetError(
    'TRANSACTION_ENDED',
    'This transaction was committed or rolled back. Await everything it does before that, or begin another one.',
  )
}

function expired(): FreshetError {
  return new FreshetError(
    'TRANSACTION_EXPIRED',
    'This transaction took longer than it may, and nothing of it was written. Do less in it, or give it a longer timeoutMs.',
  )
}
