/** What a commit may say beside its writes: what is to be added to counters, and which operation it is, so that it is done once. */
import type { Key, OperationId } from '@freshet/protocol'

/** Adds to what is there; what is not there is 0. */
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
  /** What it is, in units; undefined if it is no number with so many decimals. */
  readonly units: number | undefined
  readonly reason: 'below-min' | 'above-max' | 'inexact' | 'no-counter'
}

export interface Operation {
  readonly id: OperationId
  /** Of what was asked for: the same id with another request is a mistake, not a retry. */
  readonly fingerprint: string
  /** What the caller needs, besides the result of the commit, to give its first answer again. */
  readonly note?: string
}

/** What an operation came to: enough to give its first answer again. */
export interface DoneOperation {
  readonly fingerprint: string
  readonly position: number
  /** What counters reached, in units, in the order of the additions. One is by itself: there are very many of these. */
  readonly units: number | readonly number[]
  /** The caller's own, as given. */
  readonly note: string
}

/** Why an operation is not applied: see docs/errors.md, OPERATION_... */
export type OperationRefusal = 'settled' | 'expired' | 'early' | 'mismatched' | 'overflowing' | 'seen'
