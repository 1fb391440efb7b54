/**
 * The calculated number of bits that each windowed filter needs per key that it promises to remember, at a steady load and
 * at its fullest moment. Written from the papers, not from our code, so that measuring our code tests it.
 *
 * A promised key lies within the window; a filter also holds keys that have left the window and cannot be dropped yet.
 */
import { expectedRate } from '@freshet/bloom'

/** s equal slices, the youngest just full; s - 1 slices are the window. Each errs at its share of the rate. */
export function rotatingBits(rate: number): number {
  return least(2, 16, slices => (slices / (slices - 1)) * bloomBits(1 - (1 - rate) ** (1 / slices)))
}

export function rotatingSlices(rate: number): number {
  const bits = rotatingBits(rate)
  let slices = 2
  while ((slices / (slices - 1)) * bloomBits(1 - (1 - rate) ** (1 / slices)) > bits) slices++
  return slices
}

export interface ForgetfulShape {
  readonly hashes: number
  /** Bits of one filter, per key that arrives within one refresh period. */
  readonly bitsPerKey: number
}

/** N + 2 filters; before a refresh, the future holds the keys of one period and each other filter those of two. */
export function forgetfulShape(rate: number, pastFilters: number): ForgetfulShape {
  const shapes = Array.from({ length: 24 }, (_, i) => ({
    hashes: i + 1,
    bitsPerKey: bisect(bits => forgetfulRate(bits, i + 1, pastFilters) <= rate, 1, 1000),
  }))
  return shapes.reduce((a, b) => (b.bitsPerKey < a.bitsPerKey ? b : a))
}

export function forgetfulBits(rate: number, pastFilters: number): number {
  return ((pastFilters + 2) / (pastFilters + 1)) * forgetfulShape(rate, pastFilters).bitsPerKey
}

/** Equation 3 of Subramanyam et al. */
function forgetfulRate(bits: number, hashes: number, pastFilters: number): number {
  const future = expectedRate({ bits, hashes }, 1)
  const other = expectedRate({ bits, hashes }, 2)
  return 1 - (1 - future) * (1 - other ** 2) ** pastFilters * (1 - other)
}

/** Shtul et al.: k + l slices, the window is l generations, a key is one bit in each of k slices. */
export function agePartitionedBits(rate: number): number {
  const rowLeast = Math.ceil(-Math.log2(rate))
  return least(rowLeast, rowLeast + 6, row =>
    Math.min(...[2, 3, 4, 5, 6, 7].map(ratio => agePartitionedBitsOf(rate, row, ratio * row))),
  )
}

function agePartitionedBitsOf(rate: number, row: number, generations: number): number {
  const bitsPerKey = bisect(bits => rowRate(bits, row, generations) <= rate, 0.5, 100)
  return ((row + generations) / generations) * row * bitsPerKey
}

/** The chance of `row` matches in a row: the paper's recursion, with the fill of each slice by its age. */
function rowRate(bitsPerKey: number, row: number, generations: number): number {
  const fills = Array.from({ length: row + generations }, (_, age) => {
    const share = Math.min(1, (age + 1) / row)
    return 1 - Math.exp(-share / bitsPerKey)
  })
  const chance = (at: number, matched: number): number => {
    const known = memo[at]?.[matched]
    if (known !== undefined) return known
    const fill = fills[at] ?? 0
    const answer =
      matched === row
        ? 1
        : at === fills.length
          ? 0
          : fill * chance(at + 1, matched + 1) + (1 - fill) * chance(at + 1, 0)
    const line = memo[at] ?? []
    memo[at] = line
    line[matched] = answer
    return answer
  }
  const memo: number[][] = []
  return chance(0, 0)
}

/** Fan et al., four entries per bucket, 95% full, with age bits: 2^a - 2 generations are the window; one more is kept. */
export function agedCuckooBits(rate: number): number {
  const load = 0.95
  const fingerprintBits = Math.log2(1 + (2 * 4 * load) / rate)
  return least(2, 6, ageBits => ((fingerprintBits + ageBits) * (1 + 1 / (2 ** ageBits - 2))) / load)
}

/** For a Bloom filter with the best number of hashes. */
function bloomBits(rate: number): number {
  return -Math.log(rate) / Math.LN2 ** 2
}

function least(from: number, to: number, bits: (choice: number) => number): number {
  return Math.min(...Array.from({ length: to - from + 1 }, (_, i) => bits(from + i)))
}

/** The least sufficient value. */
function bisect(isEnough: (value: number) => boolean, from: number, to: number): number {
  let [low, high] = [from, to]
  for (let step = 0; step < 30; step++) {
    const middle = (low + high) / 2
    if (isEnough(middle)) high = middle
    else low = middle
  }
  return high
}
