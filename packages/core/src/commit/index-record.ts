/** The indexes of a bucket, as stores keep them. */
import type { IndexState } from '../store/index.js'

export interface IndexRecord extends IndexState {
  /** Never reused within a store, so that no leftover entry of a dropped index is taken for an entry of its successor. */
  readonly number: number
  /** While the index is being built: the id that the build has reached. */
  readonly cursor?: string
}

/** What all indexes of a store share. */
export interface IndexNumbers {
  /** The last number assigned. */
  readonly last: number
  /** The indexes whose entries must still be removed. */
  readonly dropped: readonly number[]
}
