/** What answers carry so that a service finds them again when it is told a tag: only where a cache is configured so. */
import { tagOfPath } from '@freshet/core/coherence/invalidation'
import { type Key, pathOfKey } from '@freshet/protocol'

/**
 * Flat, name after name. Copies under `?at=` carry them too: they are dropped with the others, though they need not be,
 * since an object's headers are made once for all who ask. A path holds neither spaces nor commas, so it is one tag in every header.
 */
export function tagsOf(tagHeaders: readonly string[], key: Key): readonly string[] {
  return tagHeaders.flatMap(header => [header, tagOfPath(pathOfKey(key))])
}
