/**
 * Checks the schemas of all buckets when a server starts, and logs those that it cannot use: writes to such a bucket will be
 * refused. A newer version may be stricter than the one that accepted the schema, and operators should know that before the
 * first write.
 */
import { FreshetError } from '@freshet/protocol'
import type { Log } from '../monitoring/log.js'
import type { BucketDirectory } from './bucket-directory.js'
import type { SchemaGuard } from './schema-guard.js'

export async function reportSchemas(buckets: BucketDirectory, guard: SchemaGuard, log: Log): Promise<void> {
  for (const key of buckets.keys()) {
    const bucket = buckets.get(key)
    if (bucket === undefined) continue
    try {
      await guard.compileAll(bucket)
    } catch (error) {
      if (!(error instanceof FreshetError)) throw error
      log.write('error', 'a stored schema cannot be used: writes to its bucket are refused', {
        bucket: key,
        code: error.code,
        reason: error.message,
        advice: 'Set a schema without it, or with another pattern: docs/guides/schemas.md.',
      })
    }
  }
}
