/** Where a read was answered, as far as that can be known. For demonstrations and debugging; nothing depends on it. */
import type { ReadMode } from '@freshet/core/coherence'
import type { Path, Position, Version } from '@freshet/protocol'

/** What answered a read. 'unknown': the browser does not say, or a cache handed it on that may have fetched it just then. */
export type ServedFrom = 'memory' | 'browser cache' | 'shared cache' | 'server' | 'unknown'

/** Where a read was answered, as far as that can be known. For looking at; nothing depends on it. */
export interface Served {
  readonly from: ServedFrom
  /** How long it had lain in caches; undefined if they do not say. */
  readonly ageS: number | undefined
  /** The position it was asked for at; undefined for the plain URL. */
  readonly at: Position | undefined
  readonly version: Version | undefined
}

/** What `onRead` is told of each read. */
export interface ReadEvent extends Served {
  /** Of the object, or of the bucket whose list it was, with its query. */
  readonly path: Path
  readonly mode: ReadMode
  readonly ms: number
}

/**
 * An age of a second or more was counted by a shared cache, or by one before it. Caches also put an age of 0 on what they
 * only pass on. Whether the browser's own cache answered only Resource Timing knows, and of other origins only if they allow
 * it (Timing-Allow-Origin).
 */
export function servedFrom(url: string, ageS: number | undefined, hasBrowserCache: boolean): ServedFrom {
  if (hasBrowserCache) {
    const entry = performance.getEntriesByName?.(url, 'resource').at(-1) as PerformanceResourceTiming | undefined
    if (!entry || entry.responseStart === 0) return fromAge(ageS)
    if (entry.transferSize === 0) return 'browser cache'
  }
  return ageS === undefined ? 'server' : fromAge(ageS)
}

/** What the age alone tells. */
export function fromAge(ageS: number | undefined): ServedFrom {
  return ageS === undefined || ageS === 0 ? 'unknown' : 'shared cache'
}
