/**
 * Objects from one copy of their row if that is not behind, by what is known of their versions (`known-versions.ts`), else from a majority; and who
 * has answered.
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

  /** Of an object that the mirror does not have; what it has is pinned. `looking`: until the mirror is as far as it has to be. */
  async object(key: Key, mirror: Mirror, looking: Promise<void> | undefined): Promise<StoredValue | undefined> {
    const [near] = await Promise.all([this.#rows.object(key, 'nearest'), looking])
    // It has changed meanwhile: the row is of no account.
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
      // Each that a majority had to answer was asked for in vain.
      { source: 'nearest', reads: this.#byNearest, behind: this.#byMajority },
    ]
  }
}
