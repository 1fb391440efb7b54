/** What a commit may have besides its writes: additions to counters, and the operation that it is, so that it is done once. */
import type { Key, OperationId } from '@freshet/protocol'

/** Adds to the stored value; an absent one counts as 0. */
export interface Addition {
  readonly key: Key
  /** In units; may be negative. */
  readonly by: number
  readonly decimals: number
  /** In units, inclusive. */
  readonly min?: number
  readonly max?: number
}

export const DECIMALS_MAX = 9

export interface CounterRefusal {
  readonly key: Key
  /** Its value, in units; undefined if it is not a number with at most `decimals` decimals. */
  readonly units: number | undefined
  readonly reason: 'below-min' | 'above-max' | 'inexact' | 'no-counter'
}

export interface Operation {
  readonly id: OperationId
  /** The fingerprint of the request: the same id with another request is a mistake, not a retry. */
  readonly fingerprint: string
  /** What the caller needs, besides the result of the commit, to give its first answer again. */
  readonly note?: string
}

/** The result of an operation: enough to give its first answer again. */
export interface DoneOperation {
  readonly fingerprint: string
  readonly position: number
  /** The new values of the counters, in units, in the order of the additions. A single one is stored bare: there are many. */
  readonly units: number | readonly number[]
  /** The caller's own note, as given. */
  readonly note: string
}

/** Why an operation is not applied: see docs/errors.md, OPERATION_... */
export type OperationRefusal = 'settled' | 'expired' | 'early' | 'mismatched' | 'overflowing' | 'seen'
