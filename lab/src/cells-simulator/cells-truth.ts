/**
 * What was acknowledged of each key, and whether what is read keeps to it:
 * - a read at QUORUM or ALL is not older than any write acknowledged at QUORUM or ALL before it began;
 * - a read that is said to be current is not older than those either, nor than any such read that ended before it began;
 * - a stamp has one value, and is given once;
 * - in the end, when everything is well and repaired, all replicas have the same, and it is not older than anything that was ever
 *   acknowledged, at whichever level.
 */
import { compareStamps, laterStamp, NO_STAMP, type ReadLevel, type Stamp, showStamp } from '@freshet/core/cells'

interface KeyTruth {
  /** By a majority. */
  strong: Stamp
  /** By a majority, or told as current. */
  told: Stamp
  /** At any level. */
  acknowledged: Stamp
  /** The latest tombstone that was dropped. */
  dropped: Stamp
  readonly values: Map<string, string | undefined>
  readonly given: Set<string>
}

export class CellsTruth {
  readonly violations: string[] = []
  readonly #keys = new Map<string, KeyTruth>()

  of(key: string): KeyTruth {
    const truth = this.#keys.get(key) ?? {
      ...{ strong: NO_STAMP, told: NO_STAMP, acknowledged: NO_STAMP, dropped: NO_STAMP },
      ...{ values: new Map(), given: new Set<string>() },
    }
    this.#keys.set(key, truth)
    return truth
  }

  given(key: string, stamp: Stamp): void {
    const { given } = this.of(key)
    const shown = showStamp(stamp)
    if (given.has(shown)) this.violations.push(`${shown} of ${key} was given twice`)
    given.add(shown)
  }

  written(key: string, stamp: Stamp, value: string | undefined, isStrong: boolean): void {
    const truth = this.of(key)
    this.#match(key, stamp, value)
    truth.acknowledged = laterStamp(truth.acknowledged, stamp)
    if (!isStrong) return
    truth.strong = laterStamp(truth.strong, stamp)
    truth.told = laterStamp(truth.told, stamp)
  }

  /** Call it when a read begins, and what it returns when it ends. */
  reading(key: string, level: ReadLevel): (stamp: Stamp, value: string | undefined, isCurrent: boolean) => void {
    const { strong, told } = this.of(key)
    return (stamp, value, isCurrent) => {
      this.#match(key, stamp, value)
      if (level === 'ONE' || (level === 'CURRENT' && !isCurrent)) return
      const floor = isCurrent ? told : strong
      if (this.#isOlder(key, stamp, floor)) {
        this.violations.push(`${showStamp(stamp)} of ${key} was read at ${level}, ${showStamp(floor)} was before`)
      }
      const truth = this.of(key)
      if (isCurrent) truth.told = laterStamp(truth.told, stamp)
    }
  }

  /** After all is repaired. */
  ended(key: string, stamps: readonly Stamp[]): void {
    const { acknowledged } = this.of(key)
    const distinct = [...new Set(stamps.map(showStamp))]
    if (distinct.length > 1) this.violations.push(`${key} is ${distinct.join(' and ')} in the end`)
    for (const stamp of stamps.slice(0, 1)) {
      if (this.#isOlder(key, stamp, acknowledged)) {
        this.violations.push(`${key} is ${showStamp(stamp)} in the end, ${showStamp(acknowledged)} was acknowledged`)
      }
    }
  }

  /** A node has dropped a tombstone. */
  dropped(key: string, stamp: Stamp): void {
    const truth = this.of(key)
    truth.dropped = laterStamp(truth.dropped, stamp)
  }

  /** A key that was deleted may be gone without a trace. */
  #isOlder(key: string, stamp: Stamp, floor: Stamp): boolean {
    if (compareStamps(stamp, floor) >= 0) return false
    return compareStamps(stamp, NO_STAMP) !== 0 || compareStamps(this.of(key).dropped, floor) < 0
  }

  #match(key: string, stamp: Stamp, value: string | undefined): void {
    const { values } = this.of(key)
    const shown = showStamp(stamp)
    if (compareStamps(stamp, NO_STAMP) === 0) return
    if (values.has(shown) && values.get(shown) !== value) this.violations.push(`${shown} of ${key} has two values`)
    values.set(shown, value)
  }
}
