/**
 * What was acknowledged for each key, and the checks of reads against it:
 * - a read at QUORUM or ALL is not older than any write acknowledged at QUORUM or ALL before it began;
 * - a read reported as current is not older than those either, nor than any such read that ended before it began;
 * - an update is given nothing older than such a read would find; a scan finds nothing older than a read at QUORUM does, and leaves
 *   out only what may have been deleted;
 * - a read at ONE finds what was written at ALL before it began, unless the layout has changed since: a new replica may lack it,
 *   and a coordinator that has not heard of the new layout may ask a node that has not either;
 * - a stamp has one value, and is issued once;
 * - at the end, after all repairs, all replicas are equal, and not older than anything that was ever acknowledged, at whichever
 *   level, except for writes at less than QUORUM when a node was declared lost.
 */
import { compareStamps, laterStamp, NO_STAMP, type ReadLevel, type Stamp, showStamp } from '@freshet/cells/records'

/** The number of layout changes before the write, and the layout under which it was written. */
interface Everywhere {
  readonly stamp: Stamp
  readonly change: number
  readonly epoch: number
}

interface KeyTruth {
  /** By a majority. */
  strong: Stamp
  /** By a majority, or reported as current. */
  reported: Stamp
  /** At any level. */
  acknowledged: Stamp
  /** The latest tombstone that was dropped. */
  dropped: Stamp
  /** At ALL. */
  everywhere: Everywhere | undefined
  /** The latest acknowledged delete, and how many deletes are under way or have an unknown outcome. */
  deleted: Stamp
  deletesUnsure: number
  readonly values: Map<string, string | undefined>
  readonly stamps: Map<string, Stamp>
  readonly given: Set<string>
}

export class CellsTruth {
  readonly #violate: (what: string) => void
  readonly #keys = new Map<string, KeyTruth>()

  constructor(violate: (what: string) => void) {
    this.#violate = violate
  }

  of(key: string): KeyTruth {
    const truth = this.#keys.get(key) ?? {
      ...{ strong: NO_STAMP, reported: NO_STAMP, acknowledged: NO_STAMP, dropped: NO_STAMP },
      ...{ deleted: NO_STAMP, deletesUnsure: 0, everywhere: undefined },
      ...{ values: new Map(), stamps: new Map(), given: new Set<string>() },
    }
    this.#keys.set(key, truth)
    return truth
  }

  given(key: string, stamp: Stamp): void {
    const { given } = this.of(key)
    const shown = showStamp(stamp)
    if (given.has(shown)) this.#violate(`${shown} of ${key} was issued twice`)
    given.add(shown)
  }

  /** Call this when a write begins, and the function that it returns when the write ends. */
  writing(key: string, value: string | undefined): (isUnknown: boolean) => void {
    const truth = this.of(key)
    if (value !== undefined) return () => {}
    truth.deletesUnsure++
    return isUnknown => {
      if (!isUnknown) truth.deletesUnsure--
    }
  }

  /** `mayBeLost`: the write was under way when a node was lost. */
  written(
    key: string,
    stamp: Stamp,
    value: string | undefined,
    { isStrong, mayBeLost }: { readonly isStrong: boolean; readonly mayBeLost: boolean },
  ): void {
    const truth = this.of(key)
    this.#match(key, stamp, value)
    if (!mayBeLost) truth.acknowledged = laterStamp(truth.acknowledged, stamp)
    if (value === undefined) truth.deleted = laterStamp(truth.deleted, stamp)
    if (!isStrong) return
    truth.strong = laterStamp(truth.strong, stamp)
    truth.reported = laterStamp(truth.reported, stamp)
  }

  /** A node is lost, along with what only that node had. */
  lose(): void {
    for (const truth of this.#keys.values()) truth.acknowledged = truth.strong
  }

  /** Call this when a read begins, and the function that it returns when the read ends. */
  reading(key: string, level: ReadLevel): (stamp: Stamp, value: string | undefined, isCurrent: boolean) => void {
    const { strong, reported } = this.of(key)
    return (stamp, value, isCurrent) => {
      this.#match(key, stamp, value)
      if (level === 'ONE' || (level === 'CURRENT' && !isCurrent)) return
      const floor = isCurrent ? reported : strong
      if (this.#isOlder(key, stamp, floor)) {
        this.#violate(`${showStamp(stamp)} of ${key} was read at ${level} after ${showStamp(floor)}`)
      }
      const truth = this.of(key)
      if (isCurrent) truth.reported = laterStamp(truth.reported, stamp)
    }
  }

  writtenEverywhere(key: string, written: Everywhere): void {
    const truth = this.of(key)
    const { everywhere } = truth
    if (everywhere?.change === written.change && compareStamps(everywhere.stamp, written.stamp) > 0) return
    truth.everywhere = written
  }

  /** For a coordinator that knows the layout of that epoch. */
  readingOne(key: string, epoch: number): (stamp: Stamp, change: number) => void {
    const { everywhere } = this.of(key)
    return (stamp, change) => {
      if (everywhere === undefined || everywhere.change !== change || epoch < everywhere.epoch) return
      if (!this.#isOlder(key, stamp, everywhere.stamp)) return
      this.#violate(
        `${showStamp(stamp)} of ${key} was read at ONE, although ${showStamp(everywhere.stamp)} was on all replicas`,
      )
    }
  }

  updating(key: string): (value: string | undefined) => void {
    const { reported } = this.of(key)
    return value => {
      const stamp = value === undefined ? undefined : this.of(key).stamps.get(value)
      if (stamp === undefined || compareStamps(stamp, reported) >= 0) return
      this.#violate(`${showStamp(stamp)} of ${key} was given to an update after ${showStamp(reported)}`)
    }
  }

  scanning(key: string): (found: { readonly stamp: Stamp; readonly value: string } | undefined) => void {
    const { strong } = this.of(key)
    const check = this.reading(key, 'QUORUM')
    return found => {
      if (found !== undefined) return check(found.stamp, found.value, false)
      const { values, deleted, deletesUnsure } = this.of(key)
      const isDeleted = deletesUnsure > 0 || compareStamps(deleted, strong) > 0
      if (isDeleted || values.get(showStamp(strong)) === undefined) return
      this.#violate(`${key} was not found by a scan after ${showStamp(strong)}`)
    }
  }

  /** After all repairs. */
  ended(key: string, stamps: readonly Stamp[]): void {
    const { acknowledged } = this.of(key)
    const distinct = [...new Set(stamps.map(showStamp))]
    if (distinct.length > 1) this.#violate(`${key} is ${distinct.join(' and ')} at the end`)
    for (const stamp of stamps.slice(0, 1)) {
      if (this.#isOlder(key, stamp, acknowledged)) {
        this.#violate(`${key} is ${showStamp(stamp)} at the end, but ${showStamp(acknowledged)} was acknowledged`)
      }
    }
  }

  /** A node has dropped a tombstone. */
  dropped(key: string, stamp: Stamp): void {
    const truth = this.of(key)
    truth.dropped = laterStamp(truth.dropped, stamp)
  }

  /** A deleted key may leave no trace. */
  #isOlder(key: string, stamp: Stamp, floor: Stamp): boolean {
    if (compareStamps(stamp, floor) >= 0) return false
    return compareStamps(stamp, NO_STAMP) !== 0 || compareStamps(this.of(key).dropped, floor) < 0
  }

  #match(key: string, stamp: Stamp, value: string | undefined): void {
    const { values } = this.of(key)
    const shown = showStamp(stamp)
    if (compareStamps(stamp, NO_STAMP) === 0) return
    if (values.has(shown) && values.get(shown) !== value) this.#violate(`${shown} of ${key} has two values`)
    values.set(shown, value)
    if (value !== undefined) this.of(key).stamps.set(value, stamp)
  }
}
