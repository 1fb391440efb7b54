/**
 * The cost of the sketch to its readers: the bytes that a new reader is sent, and how often the sketch reports a change that did
 * not happen. Calculated from the number of changes in each filter, without building any: for a long window that would take too
 * long for a figure that is asked for every few seconds.
 *
 * A reader asks every filter, so their rates add up: for n filters with the error rate p, 1 - (1 - p)^n.
 */
import { createBloom, encodeBloom, expectedRate, sizeFor } from '@freshet/bloom'

export interface SketchCost {
  readonly bytes: number
  /** The expected rate of filters of this size. */
  readonly falsePositiveRate: number
}

const WORD = 32

export function costOfFilters(changes: readonly number[], falsePositiveRateMax: number): SketchCost {
  // The bytes before the bits, and after them.
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
