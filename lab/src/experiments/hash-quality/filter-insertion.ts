/**
 * Table 9 and figure 77 of the thesis: 30 000 increasing ids go into a filter of 300 000 bits with 10 hashes. A false
 * positive while inserting is a new key that seems to be present. The final rate is the rate for 30 000 other ids.
 */
import type { Random } from '../../harness/random.js'
import type { HashFunction } from './hash-functions.js'
import { keySource } from './key-kinds.js'

const BITS = 300_000
const HASHES = 10
const ENTRIES = 30_000

/** (1 - e^(-kn/m))^k. The thesis prints "1,0185", in per cent. */
export const FINAL_RATE_EXPECTED: number = (1 - Math.exp((-HASHES * ENTRIES) / BITS)) ** HASHES

export interface Insertion {
  readonly name: string
  readonly positivesWhileInserting: number
  readonly finalRate: number
}

export function insertIds({ name, writeIndexes }: HashFunction, random: Random): Insertion {
  const nextKey = keySource('increasing ids', random.fork('insertion'))
  const filter = new Uint8Array(BITS)
  const indexes = new Uint32Array(HASHES)
  let positivesWhileInserting = 0
  for (let i = 0; i < ENTRIES; i++) {
    writeIndexes(nextKey(), BITS, indexes)
    if (hasAll(filter, indexes)) positivesWhileInserting++
    for (const index of indexes) filter[index] = 1
  }
  let positives = 0
  for (let i = 0; i < ENTRIES; i++) {
    writeIndexes(nextKey(), BITS, indexes)
    if (hasAll(filter, indexes)) positives++
  }
  return { name, positivesWhileInserting, finalRate: positives / ENTRIES }
}

function hasAll(filter: Uint8Array, indexes: Uint32Array): boolean {
  for (let i = 0; i < indexes.length; i++) if (filter[indexes[i]!] === 0) return false
  return true
}
