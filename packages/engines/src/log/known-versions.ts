/**
 * Which version of an object is the latest, of those that this server knows of: `last_ts` of the paper (Akbarinia, Pacitti, Valduriez), whose
 * authority here is the log. A row that is read from one copy alone may be old: whoever wrote it has waited for a majority of them, and this one
 * may have missed it. It is current if it is at least as new as what is known.
 *
 * What is known is from a read by a majority (the paper's indirect initialisation), and from every record of the log since.
 */
import type { Key, Position, StoredValue } from '@freshet/core/store'

const KEYS_MAX = 100_000

interface Known {
  /** Nothing before this position is the latest. */
  readonly from: Position
  readonly isThere: boolean
}

export class KnownVersions {
  readonly #known = new Map<Key, Known>()
  readonly #keysMax: number

  constructor(keysMax: number = KEYS_MAX) {
    this.#keysMax = keysMax
  }

  /** `position`: of a state in which this was the latest; of something that is not there nothing older is it any more. */
  learn(key: Key, value: StoredValue | undefined, position: Position): void {
    this.#known.delete(key)
    this.#known.set(key, { from: value?.version ?? position, isThere: value !== undefined })
    if (this.#known.size <= this.#keysMax) return
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest)
      return
    }
  }

  /** Whether what one copy has is the latest, or newer than what is known. False also if nothing is. */
  isCurrent(key: Key, value: StoredValue | undefined): boolean {
    const known = this.#known.get(key)
    if (known === undefined) return false
    return value === undefined ? !known.isThere : value.version >= known.from
  }
}
