/**
 * How large an aged cuckoo filter must be (Fan et al. 2014, section 5, with bits of age added to each entry). Two buckets
 * of b entries are compared, and each entry matches by chance once in 2^f, so f = log2(2 b load / rate).
 */
import { BITS_MAX, checkRate, invalid } from '../plain/sizing.js'

export const SLOTS_PER_BUCKET = 4
/** The share of places that are taken at the expected load. With four to a bucket a place is found up to about 0.97. */
const LOAD_EXPECTED = 0.95
const ENTRY_BITS_MAX = 32

export interface AgedCuckooShape {
  readonly fingerprintBits: number
  readonly ageBits: number
  readonly buckets: number
}

/** More bits of age mean longer entries, but fewer that are kept beyond the window. */
export function agedCuckooShape(entriesMax: number, rate: number): AgedCuckooShape {
  if (!Number.isFinite(entriesMax) || entriesMax < 1) {
    throw invalid(`entriesMax must be a number of entries, 1 or more, not ${entriesMax}.`)
  }
  checkRate(rate)
  const fingerprintBits = Math.ceil(Math.log2(1 + (2 * SLOTS_PER_BUCKET * LOAD_EXPECTED) / rate))
  const shapes = [2, 3, 4, 5].map(ageBits => shapeOf(entriesMax, fingerprintBits, ageBits))
  const best = shapes.reduce((a, b) => (tableBits(b) < tableBits(a) ? b : a))
  if (fingerprintBits + best.ageBits > ENTRY_BITS_MAX || tableBits(best) > BITS_MAX) {
    throw invalid(
      `${entriesMax} entries at a rate of ${rate} need ${fingerprintBits + best.ageBits} bits each and ` +
        `${tableBits(best)} in all; there are at most ${ENTRY_BITS_MAX} and ${BITS_MAX}. Pass fewer entries or a higher rate.`,
    )
  }
  return best
}

/** Besides the window's keys there are those of the generation being filled. Small tables need a little more room. */
function shapeOf(entriesMax: number, fingerprintBits: number, ageBits: number): AgedCuckooShape {
  const generations = 2 ** ageBits - 2
  const entries = entriesMax + Math.ceil(entriesMax / generations)
  return { fingerprintBits, ageBits, buckets: Math.ceil(entries / LOAD_EXPECTED / SLOTS_PER_BUCKET) + 4 }
}

function tableBits({ fingerprintBits, ageBits, buckets }: AgedCuckooShape): number {
  return buckets * SLOTS_PER_BUCKET * (fingerprintBits + ageBits)
}
