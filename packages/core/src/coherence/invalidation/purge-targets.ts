/**
 * The paths to purge from a cache after a commit: those of the objects it wrote, and of their buckets. A bucket's path
 * stands for all its lists, whatever their query. Copies under `?at=` are never wrong, so they are not purged.
 */
import { bucketOfKey, type Key, type Path, pathOfKey } from '@freshet/protocol'

/** Purges everything in the cache. */
export const EVERYTHING = '*'

export type PurgeTarget = Path | typeof EVERYTHING

/** The longest tag that the caches we know accept. */
const TAG_LENGTH_MAX = 1024

export function targetsOf(keys: readonly Key[]): Set<PurgeTarget> {
  const targets = new Set<PurgeTarget>()
  for (const key of keys) {
    // Servers keep their own objects under names that no request can have: no cache has them.
    if (!key.startsWith('_')) targets.add(pathOfKey(key)).add(pathOfKey(bucketOfKey(key)))
  }
  return targets
}

/** `/db/shop/products`, not `/db/shop/products/42`. */
export function isBucketPath(path: Path): boolean {
  return path.split('/').length === 4
}

/**
 * The tag that answers under a path carry, and that they are purged by. An object whose path is too long for a tag has
 * the tag of its bucket: it is purged too often, never too seldom.
 */
export function tagOfPath(path: Path): string {
  return path.length <= TAG_LENGTH_MAX ? path : path.split('/', 4).join('/')
}
