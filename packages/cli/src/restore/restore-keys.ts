/**
 * Restores single keys from a backup into a store that is otherwise in use: the way back for damaged records. Each gets a new
 * version, so that no cache and no session keeps what was there before.
 */
import type { Key, Store, Write } from '@freshet/core/store'
import { bucketOfKey, FreshetError } from '@freshet/protocol'
import { type Chosen, lastWrites } from './restore-store.js'

/** Returns how many were restored. If the backup lacks any of them, throws FILE_INVALID and writes nothing. */
export async function restoreKeys(store: Store, chosen: Chosen, keys: readonly Key[]): Promise<number> {
  const found = await lastWrites(chosen, new Set(keys))
  const missing = keys.filter(key => !found.has(key))
  if (missing.length > 0) {
    throw new FreshetError(
      'FILE_INVALID',
      `The backup of ${chosen.mark.time} does not have ${missing.slice(0, 5).join(', ')}. Choose another state with --at, or ` +
        'overwrite or delete the key.',
    )
  }
  const writes = [...found.values()]
  for (const bucket of new Set(writes.map(({ key }) => bucketOfKey(key)))) {
    await putOver(
      store,
      bucket,
      writes.filter(({ key }) => bucketOfKey(key) === bucket),
    )
  }
  return found.size
}

/** The old value cannot be read, so its index entries are unknown: the bucket's indexes are rebuilt. */
async function putOver(store: Store, bucket: Key, writes: readonly Write[]): Promise<void> {
  const settings = writes.filter(({ key }) => key === bucket)
  const objects = writes.filter(({ key }) => key !== bucket)
  if (settings.length > 0) await store.commit({ writes: settings })
  if (objects.length === 0) return
  const indexes = await store.indexes(bucket)
  const before = indexes.length > 0 ? await store.get(bucket) : undefined
  if (before === undefined) {
    await store.commit({ writes: objects })
    return
  }
  const { contentType, body } = before
  await store.commit({ writes: [{ key: bucket, contentType, body, indexes: [] }] })
  await store.commit({ writes: objects })
  const declarations = indexes.map(({ name, fields }) => ({ name, fields }))
  await store.commit({ writes: [{ key: bucket, contentType, body, indexes: declarations }] })
}
