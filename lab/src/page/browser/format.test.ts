import { expect, test } from 'vitest'
import { formatBytes, formatMeasured, formatSpeed } from './format.js'

test('sizes have a suitable unit', () => {
  expect([60, 1024, 123_110, 1_232_000].map(formatBytes)).toEqual(['60 bytes', '1.00 KiB', '120.2 KiB', '1.17 MiB'])
})

test('speeds are rounded to their precision', () => {
  expect([987_654, 3_412_969].map(formatSpeed)).toEqual(['990,000', '3.4 million'])
})

test('a measured rate is shown to the first uncertain digit', () => {
  expect(formatMeasured(0.010_14, 0.000_63)).toBe('1.01% ± 0.06%')
  expect(formatMeasured(0.106, 0.0049)).toBe('10.6% ± 0.5%')
  expect(formatMeasured(0, 0)).toBe('0.00% ± 0.00%')
})
