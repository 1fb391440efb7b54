/** The indexes of a bucket, as stores keep them. */
import type { IndexState } from '../store/index.js'

export interface IndexRecord extends IndexState {
  /** Never given twice in one store, so that no entry left over from a dropped index is taken for one of its successor. */
  readonly number: number
  /** While it is built: the id that the build has reached. */
  readonly cursor?: string
}

/** What all indexes of a store share. */
export interface IndexNumbers {
  /** The last one given. */
  readonly last: number
  /** Those whose entries are still to be removed. */
  readonly dropped: readonly number[]
}
