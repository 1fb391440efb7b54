/**
 * The latest version of each object that this server knows of: `last_ts` of the paper (Akbarinia, Pacitti, Valduriez), whose
 * authority here is the log. A row that is read from one copy alone may be old: its writer waited for a majority of the copies,
 * and this one may have missed the write. The row is current if it is at least as new as the known version.
 *
 * A version is known from a read by a majority (the paper's indirect initialisation), and from every record of the log since.
 */
import type { Key, Position, StoredValue } from '@freshet/core/store'

const KEYS_MAX = 100_000

interface Known {
  /** No version before this position is the latest. */
  readonly from: Position
  readonly isThere: boolean
}

export class KnownVersions {
  readonly #known = new Map<Key, Known>()
  readonly #keysMax: number

  constructor(keysMax: number = KEYS_MAX) {
    this.#keysMax = keysMax
  }

  /**
   * `position`: of a state in which `value` was the latest. If the object is absent, nothing older than `position` is current.
   */
  learn(key: Key, value: StoredValue | undefined, position: Position): void {
    this.#known.delete(key)
    this.#known.set(key, { from: value?.version ?? position, isThere: value !== undefined })
    if (this.#known.size <= this.#keysMax) return
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest)
      return
    }
  }

  /** Whether the value of one copy is the latest, or newer than the known version. False also if no version is known. */
  isCurrent(key: Key, value: StoredValue | undefined): boolean {
    const known = this.#known.get(key)
    if (known === undefined) return false
    return value === undefined ? !known.isThere : value.version >= known.from
  }
}
