import { expect, it } from 'vitest'
import { agedCuckooBits, agePartitionedBits, forgetfulBits, rotatingBits } from './calculated-bits.js'

it.each([
  ['rotating', rotatingBits, 15.9, 26.6],
  ['forgetful with 3 filters', (rate: number) => forgetfulBits(rate, 1), 29, 57.5],
  ['forgetful with 10 filters', (rate: number) => forgetfulBits(rate, 8), 21.7, 42.6],
  ['age-partitioned', agePartitionedBits, 19.6, 31.7],
  ['aged cuckoo', agedCuckooBits, 15.3, 22.8],
] as const)('%s: bits per remembered key at 1%% and 0.01%%', (_, bits, atOnePercent, atHundredth) => {
  expect(bits(0.01)).toBeCloseTo(atOnePercent, 1)
  expect(bits(0.0001)).toBeCloseTo(atHundredth, 1)
})
