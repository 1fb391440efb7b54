/**
 * What a client is told of its lease: everything that it had read as it is now, so that it need not read it again, and others
 * wait for one round trip rather than two.
 */
import type { GrantedLease, ReadVersion, Store, StoredValue } from '@freshet/core/store'
import { type CommitLease, type Key, type LeasedObject, pathOfKey } from '@freshet/protocol'
import { JSON_TYPE } from '../http/answer.js'

/** Of all of them together. What does not fit is read by whoever needs it. */
const OBJECT_BYTES_MAX = 64 * 1024
/** Or a text, which is to stay. */
const SPACE_BETWEEN = /("(?:[^"\\]|\\.)*")|\s+/g

export async function leaseOf(
  { id, ms, waitedMs, keys: leased }: GrantedLease,
  reads: readonly ReadVersion[],
  store: Store,
): Promise<CommitLease> {
  const keys = [...new Set([...leased, ...reads.map(({ key }) => key)])]
  const { value: found } = await store.getMany(keys)
  let room = OBJECT_BYTES_MAX
  const objects = keys.flatMap((key, i) => {
    room -= found[i]?.body.length ?? 0
    return room < 0 ? [] : objectOf(key, found[i])
  })
  return { id, ms, waitedMs, leased: leased.map(pathOfKey), objects }
}

function objectOf(key: Key, stored: StoredValue | undefined): LeasedObject[] {
  const path = pathOfKey(key)
  if (stored === undefined) return [{ path, version: 0 }]
  if (stored.contentType !== JSON_TYPE) return []
  const text = Buffer.from(stored.body).toString()
  const value: unknown = JSON.parse(text)
  // Not if it would come out otherwise than it was sent: a number with twenty digits would be rounded.
  return JSON.stringify(value) === text.replace(SPACE_BETWEEN, '$1') ? [{ path, version: stored.version, value }] : []
}
