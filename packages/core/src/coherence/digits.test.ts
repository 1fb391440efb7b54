import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DigitReader, formatFixed, formatNumber } from './digits.js'

const INVALID = expect.objectContaining({ code: 'ANSWER_INVALID' })

it('consecutive numbers survive the wire', () => {
  const any = fc.maxSafeNat().map(value => ({ value, width: 0 }))
  const fixed = fc
    .integer({ min: 1, max: 8 })
    .chain(width => fc.maxSafeNat().map(value => ({ value: value % 64 ** width, width })))
  fc.assert(
    fc.property(fc.array(fc.oneof(any, fixed)), numbers => {
      const text = numbers.map(({ value, width }) => (width ? formatFixed(value, width) : formatNumber(value))).join('')
      expect(encodeURIComponent(text)).toBe(text)
      const reader = new DigitReader(text)
      for (const { value, width } of numbers) expect(width ? reader.fixed(width) : reader.number()).toBe(value)
      expect(reader.rest).toBe('')
    }),
  )
})

it('has the form that clients in other languages read', () => {
  expect([0, 31, 32, 1000, 1024].map(formatNumber)).toEqual(['A', 'f', 'gB', 'of', 'ggB'])
  expect(formatFixed(0x12345, 4)).toBe('ASNF')
})

it.each([
  ['nothing', ''],
  ['a number without its last digit', 'gg'],
  ['a character that is not a digit', 'é'],
  ['a number too large for a position', '_'.repeat(20)],
])('%s is refused', (_, text) => {
  expect(() => new DigitReader(text).number()).toThrow(INVALID)
})
