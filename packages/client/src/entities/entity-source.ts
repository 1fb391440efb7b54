/** The source and target of a manager's entities: a database, or one of its transactions. The plain client does the work. */
import { FreshetError, type Position, pathOfKey, type Version } from '@freshet/protocol'
import type { ListOptions } from '../buckets/bucket.js'
import type { ObjectBucket } from '../buckets/object-bucket.js'
import { idOf, type Stored, versionOf } from '../buckets/stored.js'
import type { Database } from '../database.js'
import { mergePatchOf } from '../json/merge-patch.js'
import type { ReadOptions } from '../reading/read-options.js'
import type { Transaction } from '../transactions/transaction.js'
import type { TransactionBucket } from '../transactions/transaction-bucket.js'
import type { CommitPart, CommitRead } from '../writing/commit.js'
import type { WriteOptions } from '../writing/write.js'

/** A stored object; the manager may change it. */
export interface Loaded {
  readonly id: string
  readonly value: object
  /** 0: it is not stored yet; this transaction will write it. */
  readonly version: Version
}

export interface EntityWrite {
  readonly bucket: string
  readonly id: string
  /** The version it replaces; 0: nothing. */
  readonly version: Version
  readonly isIdMade: boolean
  /** Undefined: delete it. */
  readonly value: object | undefined
  /** The change, if a patch can express it. */
  readonly patch?: object | undefined
}

/** Options of `flush`: how long it may take, and what cancels it. */
export type FlushOptions = Pick<WriteOptions, 'signal' | 'timeoutMs'>

export interface EntitySource {
  /** In the order of `ids`. */
  getMany(bucket: string, ids: readonly string[], options: ReadOptions): Promise<(Loaded | undefined)[]>
  list(bucket: string, options: ListOptions): Promise<Loaded[]>
  /**
   * Writes everything or nothing, if `reads` and the versions to be replaced still hold. Resolves with the version of everything
   * written; undefined: that is decided at the end of the transaction.
   */
  write(
    writes: readonly EntityWrite[],
    reads: readonly CommitRead[],
    options: FlushOptions,
  ): Promise<Position | undefined>
}

export function databaseSource(db: Database): EntitySource {
  return {
    getMany: async (bucket, ids, options) => {
      const found = await db.bucket(bucket).getMany(ids, options)
      return found.map(stored => stored && loaded(stored))
    },
    list: (bucket, options) => listed(db.bucket(bucket), options),
    write: async (writes, reads, options) => {
      if (writes.length === 0 && reads.length === 0) return db.session.position
      return (await db.commit(writes.map(commitPart), { reads, ...options })).position
    },
  }
}

export function transactionSource(tx: Transaction): EntitySource {
  const written = new Set<string>()
  return {
    getMany: async (bucket, ids) => {
      const found = await tx.bucket(bucket).getMany(ids)
      return found.map(stored => stored && loaded(stored))
    },
    list: (bucket, options) => listed(tx.bucket(bucket), options),
    // Locked entities were read, and the transaction checks everything it has read anyway.
    write: async writes => {
      for (const write of writes) if (!written.has(`${write.bucket}/${write.id}`)) await checkVersion(tx, write)
      for (const write of writes) {
        written.add(`${write.bucket}/${write.id}`)
        await writeIn(tx.bucket<object>(write.bucket), write)
      }
      return undefined
    },
  }
}

/** `patch` applies to the stored object, but the transaction may have written the object before. */
async function writeIn(bucket: TransactionBucket<object>, { id, value, patch }: EntityWrite): Promise<void> {
  const seen = patch && (await bucket.get(id))
  const change = seen && value && mergePatchOf({ ...seen }, { ...value })
  if (value === undefined) bucket.delete(id)
  else if (change === undefined) bucket.put(id, value)
  else await bucket.patch(id, change)
}

async function listed(
  bucket: Pick<ObjectBucket<Record<string, unknown>>, 'list'>,
  options: ListOptions,
): Promise<Loaded[]> {
  const found: Loaded[] = []
  const { limit = Number.POSITIVE_INFINITY } = options
  if (limit <= 0) return found
  for await (const stored of bucket.list(options)) {
    found.push(loaded(stored))
    if (found.length >= limit) break
  }
  return found
}

function commitPart({ bucket, id, version, value, patch }: EntityWrite): CommitPart {
  const ifVersion = version === 0 ? 'absent' : version
  if (patch !== undefined) return { bucket, id, ifVersion, patch }
  return value === undefined ? { bucket, id, ifVersion, delete: true } : { bucket, id, ifVersion, value }
}

/** Entities found in the transaction have their version among its reads; entities merged or given an id get it there now. */
async function checkVersion(tx: Transaction, { bucket, id, version, isIdMade }: EntityWrite): Promise<void> {
  if (isIdMade && version === 0) return
  const stored = await tx.bucket(bucket).get(id)
  const there = stored === undefined ? 0 : versionOf(stored)
  if (there === version) return
  throw new FreshetError(
    'VERSION_CONFLICT',
    version === 0
      ? `The object ${bucket}/${id} already exists. Find it and change it, or choose another id.`
      : `${bucket}/${id} has changed since the merged entity was read. Find it, and apply your change again.`,
    { details: { path: pathOfKey(`${bucket}/${id}`), version: there } },
  )
}

function loaded(stored: Stored<Record<string, unknown>>): Loaded {
  return { id: idOf(stored), version: versionOf(stored), value: stored }
}
