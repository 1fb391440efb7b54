import { expect, it } from 'vitest'
import { formatNumber, formatPercent, formatTable } from './table.js'

it('aligns numbers to the right and names to the left', () => {
  const table = formatTable({
    title: 'Speeds',
    columns: ['name', 'ns'],
    rows: [
      ['a', 1],
      ['longer', 12345],
      ['none', undefined],
    ],
  })
  expect(table.split('\n')).toEqual([
    'Speeds',
    '──────────────',
    'name        ns',
    '──────────────',
    'a            1',
    'longer  12 345',
    'none         ·',
    '──────────────',
  ])
})

it.each([
  [0, '0'],
  [1234567, '1 234 567'],
  [1234.5, '1 235'],
  [0.123456, '0.1235'],
  [0.0000123, '1.23e-5'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
])('writes %d as %s', (value, text) => {
  expect(formatNumber(value)).toBe(text)
})

it('writes a share in per cent', () => {
  expect(formatPercent(0.010185)).toBe('1.02%')
})
