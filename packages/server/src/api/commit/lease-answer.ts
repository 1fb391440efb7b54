/**
 * What a client receives with its lease: the current state of everything that it had read. So it need not read that again, and
 * others wait for one round trip rather than two.
 */
import type { GrantedLease, ReadVersion, Store, StoredValue } from '@freshet/core/store'
import { type CommitLease, type Key, type LeasedObject, pathOfKey } from '@freshet/protocol'
import { JSON_TYPE } from '../../http/answer.js'

/** For all objects together. The client reads the others itself. */
const OBJECT_BYTES_MAX = 64 * 1024
/** Also matches a text, whose spaces must stay. */
const SPACE_BETWEEN = /("(?:[^"\\]|\\.)*")|\s+/g

/** `seen`: the object as the caller may see it; undefined if they may not know of it. */
export async function leaseOf(
  { id, ms, waitedMs, keys: leased }: GrantedLease,
  reads: readonly ReadVersion[],
  store: Store,
  seen: (key: Key, found: StoredValue | undefined) => StoredValue | 'absent' | undefined,
): Promise<CommitLease> {
  const keys = [...new Set([...leased, ...reads.map(({ key }) => key)])]
  const { value: found } = await store.getMany(keys)
  let room = OBJECT_BYTES_MAX
  const objects = keys.flatMap((key, i) => {
    const shown = seen(key, found[i])
    if (shown === undefined) return []
    room -= shown === 'absent' ? 0 : shown.body.length
    return room < 0 ? [] : objectOf(key, shown)
  })
  return { id, ms, waitedMs, leased: leased.map(pathOfKey), objects }
}

function objectOf(key: Key, stored: StoredValue | 'absent'): LeasedObject[] {
  const path = pathOfKey(key)
  if (stored === 'absent') return [{ path, version: 0 }]
  if (stored.contentType !== JSON_TYPE) return []
  const text = Buffer.from(stored.body).toString()
  const value: unknown = JSON.parse(text)
  // Left out if re-encoding would change it: a number with twenty digits would be rounded.
  return JSON.stringify(value) === text.replace(SPACE_BETWEEN, '$1') ? [{ path, version: stored.version, value }] : []
}
