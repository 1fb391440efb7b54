import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareUtf8 } from './utf8-order.js'

test('strings sort by code points, and so by their UTF-8 bytes', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '~', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}'),
    maxLength: 6,
  })
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(comparePoints([...a], [...b]))
    }),
    { numRuns: 5000 },
  )
})

function comparePoints(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return Math.sign(a.length - b.length)
  const difference = a[0]!.codePointAt(0)! - b[0]!.codePointAt(0)!
  return difference === 0 ? comparePoints(a.slice(1), b.slice(1)) : Math.sign(difference)
}
