/** The source of an answer, as far as it is known. For demonstrations and debugging; nothing depends on it. */
import type { ReadMode } from '@freshet/core/coherence'
import type { Path, Position, Version } from '@freshet/protocol'

/** What answered a read. 'unknown': the browser does not report it, or a cache passed it on and may have fetched it just then. */
export type ServedFrom = 'memory' | 'browser cache' | 'shared cache' | 'server' | 'unknown'

/** The source of an answer, as far as it is known. For demonstrations and debugging; nothing depends on it. */
export interface Served {
  /** What answered. */
  readonly from: ServedFrom
  /** How long it had been in caches; undefined if they do not report it. */
  readonly ageS: number | undefined
  /** The position in the request; undefined for the plain URL. */
  readonly at: Position | undefined
  /** The version of the answer; undefined if nothing is stored there. */
  readonly version: Version | undefined
}

/** The argument of `onRead`. */
export interface ReadEvent extends Served {
  /** The path of the object, or of the bucket for a list, with its query. */
  readonly path: Path
  /** How fresh the answer had to be. */
  readonly mode: ReadMode
  /** How long the read took, in milliseconds. */
  readonly ms: number
}

/**
 * An age of a second or more was counted by a shared cache, or by one behind it. Caches also put an age of 0 on answers that they
 * only pass on. Only Resource Timing shows whether the browser's own cache answered, and for other origins only if they allow
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

/** The source as far as the age shows it. */
export function fromAge(ageS: number | undefined): ServedFrom {
  return ageS === undefined || ageS === 0 ? 'unknown' : 'shared cache'
}
