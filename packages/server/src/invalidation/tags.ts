/**
 * The headers that carry an answer's tags, so that a service finds the copy when it purges a tag. Only if a cache is configured
 * for tags.
 */
import { tagOfPath } from '@freshet/core/coherence/invalidation'
import { type Key, pathOfKey } from '@freshet/protocol'

/**
 * A flat list, name after name. Copies under `?at=` carry tags too: they are dropped with the others, although they need not
 * be, because an object's headers are made once for all requests. A path contains neither spaces nor commas, so it is one tag
 * in every header.
 */
export function tagsOf(tagHeaders: readonly string[], key: Key): readonly string[] {
  return tagHeaders.flatMap(header => [header, tagOfPath(pathOfKey(key))])
}
