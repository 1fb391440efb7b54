/** What `connect` gives: buckets, commits, the session. */
import type { CommitAnswer } from '@freshet/protocol'
import type { BucketParts } from './buckets/bucket.js'
import { KvBucket } from './buckets/kv-bucket.js'
import { ObjectBucket } from './buckets/object-bucket.js'
import type { DatabaseSession } from './session/database-session.js'
import { type CommitPart, type CommitRead, commitOf } from './writing/commit.js'
import type { WriteOptions } from './writing/writer.js'

export interface CommitOptions extends Omit<WriteOptions, 'ifVersion'> {
  readonly reads?: readonly CommitRead[]
}

export class Database {
  readonly #parts: BucketParts
  readonly #close: () => void
  /** How far this reader has got. */
  readonly session: DatabaseSession

  constructor(parts: BucketParts, session: DatabaseSession, close: () => void) {
    this.#parts = parts
    this.#close = close
    this.session = session
  }

  /** A bucket of JSON objects, named as `shop/products`. It need not exist: the first write creates it. */
  bucket<T extends object = Record<string, unknown>>(name: string): ObjectBucket<T> {
    return new ObjectBucket<T>(name, this.#parts)
  }

  /** A bucket of bytes. It must have been configured once: `db.kv(name).configure({})`. */
  kv(name: string): KvBucket {
    return new KvBucket(name, this.#parts)
  }

  /**
   * Everything or nothing, in one step. Throws COMMIT_CONFLICT, with the versions that do hold in `details.conflicts`, if
   * something in `reads` has changed; the next read of those is not older than what the conflict told.
   */
  async commit(parts: readonly CommitPart[], { reads = [], ...options }: CommitOptions = {}): Promise<CommitAnswer> {
    return this.#parts.writer.write<CommitAnswer>(commitOf(parts, reads), options)
  }

  /** Ends all that is under way, with REQUEST_FAILED, and everything in the background. */
  close(): void {
    this.#close()
  }
}
