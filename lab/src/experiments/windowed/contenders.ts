/** The windowed filters, each built for the same promise: a number of keys in a window, and a false-positive rate. */
import {
  createAgedCuckoo,
  createAgePartitionedBloom,
  createForgetfulBloom,
  createRotatingBloom,
  type WindowedFilter,
} from '@freshet/bloom'
import {
  agedCuckooBits,
  agePartitionedBits,
  forgetfulBits,
  forgetfulShape,
  rotatingBits,
  rotatingSlices,
} from './calculated-bits.js'

export interface ContenderOptions {
  readonly windowMs: number
  readonly entriesMax: number
  readonly falsePositiveRateMax: number
  readonly seed: bigint
}

export interface WindowedContender {
  readonly name: ContenderName
  /** The calculated bits per key that the filter promises to remember. */
  bitsAt(rate: number): number
  create(options: ContenderOptions): WindowedFilter
}

export const CONTENDER_NAMES = ['rotating', 'forgetful-3', 'forgetful-10', 'age-partitioned', 'aged-cuckoo'] as const
export type ContenderName = (typeof CONTENDER_NAMES)[number]

export function contender(name: ContenderName): WindowedContender {
  return contenders.find(candidate => candidate.name === name)!
}

export const contenders: readonly WindowedContender[] = [
  {
    name: 'rotating',
    bitsAt: rotatingBits,
    create: options => createRotatingBloom({ ...options, slices: rotatingSlices(options.falsePositiveRateMax) }),
  },
  forgetful('forgetful-3', 1),
  forgetful('forgetful-10', 8),
  { name: 'age-partitioned', bitsAt: agePartitionedBits, create: createAgePartitionedBloom },
  { name: 'aged-cuckoo', bitsAt: agedCuckooBits, create: createAgedCuckoo },
]

/** The forgetful filter takes m, k, N and t: this chooses the best ones for the promise. */
function forgetful(name: ContenderName, pastFilters: number): WindowedContender {
  return {
    name,
    bitsAt: rate => forgetfulBits(rate, pastFilters),
    create({ windowMs, entriesMax, falsePositiveRateMax, seed }) {
      const { hashes, bitsPerKey } = forgetfulShape(falsePositiveRateMax, pastFilters)
      const bits = Math.ceil((bitsPerKey * entriesMax) / (pastFilters + 1))
      return createForgetfulBloom({ bits, hashes, pastFilters, refreshMs: windowMs / (pastFilters + 1), seed })
    },
  }
}
