/** Where a manager's entities come from and go to: a database, or one transaction of it. The plain client does the work. */
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

/** A stored object, the manager's own to change. */
export interface Loaded {
  readonly id: string
  readonly value: object
  /** 0: it is not stored yet, but what this transaction is to write. */
  readonly version: Version
}

export interface EntityWrite {
  readonly bucket: string
  readonly id: string
  /** What it replaces; 0: nothing. */
  readonly version: Version
  readonly isIdMade: boolean
  /** Undefined: to be deleted. */
  readonly value: object | undefined
  /** What changed of it, if a patch can say it. */
  readonly patch?: object | undefined
}

/** How long a flush may take, and what ends it. */
export type FlushOptions = Pick<WriteOptions, 'signal' | 'timeoutMs'>

export interface EntitySource {
  /** In the order asked for. */
  getMany(bucket: string, ids: readonly string[], options: ReadOptions): Promise<(Loaded | undefined)[]>
  list(bucket: string, options: ListOptions): Promise<Loaded[]>
  /**
   * All of it or nothing, if `reads` and the versions to be replaced still hold. Resolves with the version of everything
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
    // What was locked was read, and what a transaction has read is checked anyway.
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

/** `patch` is of what is stored; but the transaction may have written it before. */
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

/** What was found in the transaction has its version among the reads; what was merged or given an id has it from here on. */
async function checkVersion(tx: Transaction, { bucket, id, version, isIdMade }: EntityWrite): Promise<void> {
  if (isIdMade && version === 0) return
  const stored = await tx.bucket(bucket).get(id)
  const there = stored === undefined ? 0 : versionOf(stored)
  if (there === version) return
  throw new FreshetError(
    'VERSION_CONFLICT',
    version === 0
      ? `There is an object ${bucket}/${id} already. Find it and change it, or choose another id.`
      : `${bucket}/${id} has changed since the entity that was merged was read. Find it, and decide anew.`,
    { details: { path: pathOfKey(`${bucket}/${id}`), version: there } },
  )
}

function loaded(stored: Stored<Record<string, unknown>>): Loaded {
  return { id: idOf(stored), version: versionOf(stored), value: stored }
}
