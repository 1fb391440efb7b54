/**
 * Reads objects from one copy of their row, if the known versions (`known-versions.ts`) show that it is current, else from a
 * majority. Counts which of the two answered.
 */
import type { Key, ReadCount, StoredValue } from '@freshet/core/store'
import type { Rows } from './log-storage.js'
import type { Mirror } from './mirror.js'

export class NearestRows {
  readonly #rows: Rows
  #byMajority = 0
  #byNearest = 0

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** Reads an object that the mirror lacks; the mirror is pinned. `looking`: resolves when the mirror is as far as it must be. */
  async object(key: Key, mirror: Mirror, looking: Promise<void> | undefined): Promise<StoredValue | undefined> {
    const [near] = await Promise.all([this.#rows.object(key, 'nearest'), looking])
    // A record has changed the object meanwhile: the row does not matter.
    if (mirror.objects.has(key)) return undefined
    if (mirror.versions.isCurrent(key, near)) {
      this.#byNearest++
      return near
    }
    const { position } = mirror.state
    const row = await this.#rows.object(key)
    this.#byMajority++
    if (!mirror.objects.has(key)) mirror.versions.learn(key, row, position)
    return row
  }

  counts(): readonly ReadCount[] {
    return [
      { source: 'majority', reads: this.#byMajority },
      // Each read that a majority answered had asked one copy in vain.
      { source: 'nearest', reads: this.#byNearest, behind: this.#byMajority },
    ]
  }
}
