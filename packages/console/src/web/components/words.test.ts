import { expect, test } from 'vitest'
import { bytes, percent } from './words.js'

test('bytes and shares are shown with few digits', () => {
  expect([0, 999, 1000, 12_345, 1_234_567, 45_000_000].map(bytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '12 kB',
    '1.2 MB',
    '45 MB',
  ])
  expect([0, 0.000_123, 0.0344, 0.567, 1].map(percent)).toEqual(['0 %', '0.012 %', '3.4 %', '57 %', '100 %'])
})
