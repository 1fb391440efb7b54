/** The rows of a commit about indexes, derived from the indexes that this server knows; commit-script.ts draws the rows. */

import type { IndexRecord, Redeclared } from '@freshet/core/commit'
import { type Commit, declaredAt, indexesIn, type Key, type ReadList } from '@freshet/core/store'
import { bucketOfKey, idOfKey, partsOfTag } from '@freshet/protocol'
import { encodeIndexes } from '@freshet/store/indexes'
import type { Reply } from './client.js'
import { type KnownIndexes, type ObjectRecord, readDeclared, recordOf } from './declared-indexes.js'
import type { Layout } from './layout.js'
import type { Part } from './message-pack.js'
import { type RedisReader, valueIn } from './read-state.js'

/** An object as Redis returned it. */
interface FoundObject {
  readonly version: number
  readonly content: Parameters<typeof recordOf>[1]
}

interface BucketIndexes {
  readonly stamp: string
  /** The indexes after the commit. */
  readonly indexes: readonly IndexRecord[]
  readonly text: string
  readonly changed: (Redeclared & { readonly first: number }) | undefined
}

/** The indexes of one commit, and what Redis returned when the commit was sent before. */
export class CommitIndexes {
  readonly #commit: Commit
  readonly #known: KnownIndexes
  readonly #found = new Map<Key, FoundObject>()
  #buckets = new Map<Key, BucketIndexes>()

  /** Undefined if the commit has no rows about indexes, as in a store without indexes. */
  static of(commit: Commit, known: KnownIndexes): CommitIndexes | undefined {
    const { writes, lists = [] } = commit
    const isAbout =
      !known.isEmpty ||
      lists.some(hasTags) ||
      writes.some(write => 'indexes' in write && write.indexes !== undefined && write.indexes.length > 0)
    return isAbout ? new CommitIndexes(commit, known) : undefined
  }

  constructor(commit: Commit, known: KnownIndexes) {
    this.#commit = commit
    this.#known = known
  }

  /** Whether the commit declares indexes that must be built. */
  get hasDeclared(): boolean {
    return [...this.#buckets.values()].some(({ changed }) => changed !== undefined && changed.first > 0)
  }

  /** The rows that come before the writes, and those that come after them. */
  rows(): { readonly before: readonly Part[]; readonly after: readonly Part[] } {
    this.#buckets = this.#bucketsOf()
    const before: Part[] = []
    for (const [bucket, { stamp, indexes, text, changed }] of this.#buckets) {
      before.push(
        'i',
        bucket,
        stamp,
        indexes.map(({ number, fields }) => [number, ...fields]),
      )
      if (changed === undefined) continue
      const { first, last, dropped } = changed
      before.push('n', bucket, text, encodeIndexes(indexes), first, first === 0 ? 0 : last, dropped)
    }
    for (const [key, { version, content }] of this.#found) {
      const { indexes = [] } = this.#buckets.get(bucketOfKey(key)) ?? {}
      before.push('b', key, version, recordOf(indexes, content))
    }
    return { before, after: this.#objectRows() }
  }

  /** The row of a list with tags. */
  rowOf({ bucket, version, tags = [] }: ReadList): readonly Part[] {
    const { indexes } = this.#known.of(bucket)
    const isLost = tags.some(tag => {
      const about = partsOfTag(tag)
      if (about?.bucket !== bucket) return true
      const since = declaredAt(indexes, about.fields)
      return since === undefined || since > version
    })
    return ['t', bucket, version, isLost ? 1 : 0, tags]
  }

  /** Every key in Redis that these rows make the script use. */
  keys(layout: Layout): readonly string[] {
    const keys = [layout.unbuilt, layout.tags]
    for (const [bucket, { indexes, changed }] of this.#buckets) {
      keys.push(layout.indexed + bucket)
      for (const { number } of indexes) keys.push(layout.entries + number)
      for (const number of changed?.dropped ?? []) keys.push(layout.entries + number)
    }
    return keys
  }

  /** To be called when the commit was made. */
  committed(position: number): void {
    for (const [bucket, { indexes, changed }] of this.#buckets) {
      if (changed === undefined) continue
      this.#known.learn(bucket, readDeclared(`${position}`, String(encodeIndexes(indexes))))
      if (changed.first > 0) this.#known.learnLast(changed.last)
    }
  }

  /** Takes an answer after which the commit must be sent again. Throws STORE_DAMAGED. */
  learn(reply: Reply, reader: Pick<RedisReader, 'place'>): void {
    const [kind, ...parts] = reply as readonly Reply[]
    if (String(kind) === 's') {
      learnStale(this.#known, parts)
      return
    }
    for (let i = 0; i < parts.length; i += 2) {
      const key = String(parts[i])
      const value = valueIn(parts[i + 1]!, key, reader)
      this.#found.set(key, { version: value.version, content: value })
    }
  }

  #bucketsOf(): Map<Key, BucketIndexes> {
    const { writes, adds = [], lists = [] } = this.#commit
    const buckets = new Map<Key, BucketIndexes>()
    let last: number | undefined
    for (const write of writes) {
      const declarations = indexesIn(write)
      if (declarations === undefined) continue
      const { stamp, indexes, text } = this.#known.of(write.key)
      const changed = this.#known.redeclare(write.key, declarations, last)
      last = changed?.last ?? last
      buckets.set(write.key, { stamp, indexes: changed?.indexes ?? indexes, text, changed })
    }
    const add = (bucket: Key) => {
      if (!buckets.has(bucket)) buckets.set(bucket, { ...this.#known.of(bucket), changed: undefined })
    }
    for (const list of lists) if (hasTags(list)) add(list.bucket)
    for (const { key } of [...writes, ...adds]) {
      const bucket = bucketOfKey(key)
      // Buckets without indexes need no row.
      if (this.#known.of(bucket).stamp !== '0') add(bucket)
    }
    return buckets
  }

  #objectRows(): Part[] {
    const { writes, adds = [] } = this.#commit
    const parts: Part[] = []
    const push = (key: Key, record: (indexes: readonly IndexRecord[]) => ObjectRecord, isSum: number) => {
      const { indexes = [] } = this.#buckets.get(bucketOfKey(key)) ?? {}
      if (indexes.length > 0 && idOfKey(key) !== undefined) parts.push('x', key, record(indexes), isSum)
    }
    for (const write of writes) push(write.key, indexes => ('delete' in write ? [] : recordOf(indexes, write)), 0)
    // A sum is a number, not an object: it has no fields.
    for (const { key } of adds) push(key, indexes => recordOf(indexes, undefined), 1)
    return parts
  }
}

/** Whether Redis has done nothing, and needs more about indexes. */
export function asksForIndexes(reply: Reply): boolean {
  return Array.isArray(reply) && ['s', 'b'].includes(String(reply[0]))
}

/** Learns the current indexes, in place of those that the commit assumed. */
function learnStale(known: KnownIndexes, [last, ...parts]: readonly Reply[]): void {
  known.learnLast(Number(String(last)))
  for (let i = 0; i < parts.length; i += 3) {
    known.learn(String(parts[i]), readDeclared(String(parts[i + 1]), String(parts[i + 2])))
  }
}

export function hasTags({ tags = [] }: ReadList): boolean {
  return tags.length > 0
}
