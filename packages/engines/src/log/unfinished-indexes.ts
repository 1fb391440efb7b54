/** Finds the indexes of a store over a log that are not built yet, and counts the objects of their buckets. */
import { unbuiltOf } from '@freshet/core/commit'
import type { Key } from '@freshet/core/store'
import { decodeIndexes } from '@freshet/store/indexes'
import type { OneStateParts } from './one-state.js'

export class UnfinishedIndexes {
  readonly #counted = new Map<Key, number>()

  /** The buckets that have such indexes. */
  async find({ pin, rows, look }: Omit<OneStateParts, 'mirror'>): Promise<readonly Key[]> {
    const records = await rows.allIndexes()
    await look()
    for (const { effects } of pin.recordsSince()) {
      for (const [bucket, record] of effects.indexes) records.set(bucket, record)
    }
    const buckets = [...records].filter(([, record]) => unbuiltOf(decodeIndexes(record)).length > 0).map(([key]) => key)
    this.#counted.clear()
    for (const bucket of buckets) this.#counted.set(bucket, await rows.count(bucket))
    return buckets
  }

  /**
   * The count when `find` ran. It shows progress, so it need not be exact, and no commit waits for it. Undefined: not counted.
   */
  countIn(bucket: Key): number | undefined {
    return this.#counted.get(bucket)
  }
}
