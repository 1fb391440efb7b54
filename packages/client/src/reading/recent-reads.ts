/** The reads of the last seconds, which are likely to be repeated: the latest few hundred. */
import type { Dependencies } from '@freshet/core/coherence'
import type { Path, Position } from '@freshet/protocol'
import type { ReadRequest } from './read-request.js'
import { RecentMap } from './recent-map.js'

interface Recent {
  readonly request: ReadRequest
  readonly readAtMs: number
  /** Whether it was fetched ahead and has not been read since. */
  isAhead: boolean
}

export interface ChangedRead {
  readonly request: ReadRequest
  readonly at: Position
}

export interface ChangedReads {
  /** Latest first. */
  readonly toFetch: readonly ChangedRead[]
  /** Whether other reads have changed that were fetched ahead before and not read since. */
  readonly hasOthers: boolean
}

const COUNT_MAX = 500
const AGE_MS_MAX = 30_000
/** More at once would make reads wait. */
const CHANGED_MAX = 20

export class RecentReads {
  /** Latest last. */
  readonly #reads = new RecentMap<string, Recent>(COUNT_MAX)

  note(request: ReadRequest, readAtMs: number): void {
    this.#reads.set(request.name, { request, readAtMs, isAhead: false })
  }

  /**
   * Recent reads whose data has changed, with the position of the last change. Each is fetched ahead once until it is read again:
   * otherwise, an object that changes more often than it is read would be fetched more often than without fetching ahead.
   */
  changed(
    changedAt: (path: Path) => Position | undefined,
    nowMs: number,
    dependenciesOf: (request: ReadRequest) => Dependencies = request => request.dependsOn,
  ): ChangedReads {
    const toFetch: ChangedRead[] = []
    let hasOthers = false
    for (const recent of [...this.#reads.values()].reverse()) {
      const { request, readAtMs, isAhead } = recent
      if (nowMs - readAtMs > AGE_MS_MAX || toFetch.length >= CHANGED_MAX) break
      const at = Math.max(...dependenciesOf(request).paths.map(path => changedAt(path) ?? 0))
      if (at === 0) continue
      if (isAhead) {
        hasOthers = true
      } else {
        recent.isAhead = true
        toFetch.push({ request, at })
      }
    }
    return { toFetch, hasOthers }
  }
}
