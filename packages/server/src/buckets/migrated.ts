/**
 * If the schema has changed and the object has not been migrated yet, a patch applies to the migrated object. A patch of the
 * old object would count as written under the new schema, and the object would never be migrated.
 */
import type { StoredValue } from '@freshet/core/store'
import { FreshetError, type Key, pathOfKey } from '@freshet/protocol'
import { takeSteps } from '../schemas/migration-steps.js'
import type { Bucket } from './bucket-directory.js'
import { migratesFrom } from './schema-changes.js'

/** Throws MIGRATION_UNFINISHED. */
export function migrated(key: Key, bucket: Bucket | undefined, current: StoredValue): StoredValue {
  if (bucket?.record.migration === undefined) return current
  if (current.version >= migratesFrom(bucket)) return current
  const { steps, task } = bucket.record.migration
  if (steps === undefined) throw notMigrated(key, task, 'it has not been migrated yet')
  try {
    return { ...current, body: Buffer.from(takeSteps(new TextDecoder().decode(current.body), steps)) }
  } catch (cause) {
    throw notMigrated(key, task, (cause as Error).message)
  }
}

function notMigrated(key: Key, task: string, reason: string): FreshetError {
  const path = pathOfKey(key)
  return new FreshetError(
    'MIGRATION_UNFINISHED',
    `${path} cannot be patched: ${reason}. Replace it with PUT, or wait for the task ${task}.`,
    { details: { path, task } },
  )
}
