/**
 * What the sketch costs its readers: the bytes that one who comes anew is sent, and how often it takes for changed what is not. Reckoned from
 * how many changes each filter has, without building any: of a long window that takes too long for a figure that is asked for every few seconds.
 *
 * A reader asks every filter, so their rates add up: of n filters that err at the rate p, 1 - (1 - p)^n.
 */
import { createBloom, encodeBloom, expectedRate, sizeFor } from '@freshet/bloom'

export interface SketchCost {
  readonly bytes: number
  /** As filters of this size are expected to err. */
  readonly falsePositiveRate: number
}

const WORD = 32

export function costOfFilters(changes: readonly number[], falsePositiveRateMax: number): SketchCost {
  // What stands before the bits, and behind them.
  const overheadBytes = encodeBloom(createBloom({ bits: WORD, hashes: 1, seed: 0n })).length - WORD / 8
  let bytes = 0
  let rightRate = 1
  for (const count of changes) {
    const size = sizeFor(Math.max(1, count), falsePositiveRateMax)
    bytes += overheadBytes + Math.ceil(size.bits / 8)
    rightRate *= 1 - expectedRate(size, count)
  }
  return { bytes, falsePositiveRate: 1 - rightRate }
}
